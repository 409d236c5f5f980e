"""NodeCall: the view of a node that converter handlers receive."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, UserError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.core.call import OperatorCall
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.dim import Shape, Size, all_known, is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.rational import Rational
from webkiln.ir.types import Array, Type
from webkiln.ops.builder import GraphBuilder, Scalar, Tensor


@dataclass(frozen=True, slots=True)
class SizeRelation:
    """States that size `a` is less than size `b` ("<"), or equal to it ("=")."""

    a: int
    relation: str
    b: int


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A value in a model: a tensor of the graph, or a value known at conversion time.

    The elements of a known `value` are numbers of the type's dtype. In an object array, they are
    integers and symbolic sizes; true is 1; floats may be Rationals. `conditions` of a single bool
    are size relations that all hold if the bool is true; None for any other value.
    """

    type: Type
    tensor: Tensor | None = None
    value: Array | None = None
    conditions: tuple[SizeRelation, ...] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known and contains no symbolic sizes."""
        return self.value is not None and self.value.dtype != object


NodeResult = Tensor | GraphValue | Sequence[Tensor | GraphValue]
NodeHandler = Callable[["NodeCall"], NodeResult]


SubgraphConverter = Callable[
    [GraphBuilder, GraphSpec, Sequence[Tensor | GraphValue]], list[GraphValue]
]
"""Converts a graph attribute of the node into a graph under construction, for the given inputs."""

InferValues = Callable[[GraphSpec, Mapping[str, GraphValue]], Mapping[str, GraphValue]]
"""Infers values of the tensors in a graph attribute from values of some of its inputs (constant
propagation over symbolic sizes). Nothing is converted.
"""


class DataDependentError(UserError):
    """A value needed during conversion depends on data. `tensor` is its name in the spec."""

    def __init__(self, message: str, tensor: str) -> None:
        self.tensor = tensor
        super().__init__(message)


class NodeCall(OperatorCall):
    """A node with its operands. `version` is the opset of the node's domain. An absent operand is
    None.
    """

    def __init__(
        self,
        spec: NodeSpec,
        version: int,
        builder: GraphBuilder,
        operands: Sequence[GraphValue | None],
        convert_subgraph: SubgraphConverter,
        infer_values: InferValues,
    ) -> None:
        self.spec, self.version, self.operands = spec, version, operands
        self._builder = builder
        self.convert_subgraph, self.infer_values = convert_subgraph, infer_values

    @property
    def path(self) -> str:
        return self.spec.name

    @property
    def operator(self) -> str:
        return self.spec.op

    @property
    def builder(self) -> GraphBuilder:
        return self._builder

    def with_operands(
        self, builder: GraphBuilder, operands: Sequence[GraphValue | None]
    ) -> "NodeCall":
        """The same node with other operands, in another graph."""
        return NodeCall(
            self.spec, self.version, builder, operands, self.convert_subgraph, self.infer_values
        )

    def __len__(self) -> int:
        return len(self.operands)

    @property
    def outputs(self) -> int:
        """The number of outputs, unused ones included."""
        return len(self.spec.outputs)

    def is_output_used(self, position: int) -> bool:
        """Whether an output has a name, so that other nodes can read it."""
        return position < len(self.spec.outputs) and bool(self.spec.outputs[position])

    def has(self, position: int) -> bool:
        return position < len(self.operands) and self.operands[position] is not None

    def operand(self, position: int) -> GraphValue:
        operand = self.operands[position] if position < len(self.operands) else None
        if operand is None:
            raise self.error(f"operand {position} is missing")
        return operand

    def type(self, position: int) -> Type:
        return self.operand(position).type

    def tensor(self, position: int) -> Tensor:
        """An operand as a tensor of the graph, even if its value is known."""
        return as_tensor(self.builder, self.operand(position))

    def tensors(self) -> list[Tensor]:
        return [self.tensor(position) for position in range(len(self.operands))]

    def optional(self, position: int) -> Tensor | None:
        return self.tensor(position) if self.has(position) else None

    def value(self, position: int) -> Array:
        """The value of an operand. Raise DataDependentError if it is not known yet."""
        value = self.operand(position).value
        if value is None:
            raise self.data_dependent_error(position)
        return value

    def numbers(self, position: int) -> Array:
        """The value of an operand. Raise DataDependentError if it contains symbolic sizes."""
        value = self.value(position)
        if value.dtype == object:
            raise self.data_dependent_error(position)
        return value

    def integers(self, position: int) -> tuple[int, ...]:
        """A known list of integers. Raise DataDependentError if it contains symbolic sizes."""
        numbers = all_known(self.sizes(position))
        if numbers is None:
            raise self.data_dependent_error(position)
        return numbers

    def sizes(self, position: int) -> Shape:
        """A known list of integers and symbolic sizes."""
        value = np.atleast_1d(self.value(position)).tolist()
        if any(isinstance(size, Rational) for size in value):
            raise self.data_dependent_error(position)
        return tuple(size if is_symbolic(size) else int(size) for size in value)

    def scalar(self, position: int, default: float) -> float:
        """A constant number; the default if the operand is absent."""
        return self.numbers(position).reshape(()).item() if self.has(position) else default

    def number_or_tensor(self, position: int) -> Tensor | Scalar:
        """A constant number, or a tensor of one element."""
        if self.operand(position).is_constant:
            return self.scalar(position, 0)
        return self.tensor(position)

    def attr(self, name: str, default: Any = None) -> Any:
        return self.spec.attrs.get(name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return bool(self.spec.attrs.get(name, default))

    def attr_array(self, name: str) -> Array | None:
        """A small array attribute. Raise ShapeError if it is too large to be inlined."""
        value = self.spec.attrs.get(name)
        if isinstance(value, Weight):
            raise self.error(
                f"its attribute {name} has more than {INLINE_ELEMENTS} elements; make it an"
                " initialiser"
            )
        return (
            np.array(value.values, value.dtype).reshape(value.shape)
            if isinstance(value, Literal)
            else None
        )

    def op(
        self, op: str, inputs: Sequence[Tensor], attrs: Mapping[str, Any] | None = None
    ) -> Tensor:
        return self.builder.op(op, inputs, attrs)

    def constant(self, value: Array | Scalar | Sequence[Any], dtype: str | None = None) -> Tensor:
        return self.builder.constant(value, dtype)

    def like(self, value: Scalar, other: Tensor) -> Tensor:
        """A constant of another tensor's dtype."""
        return self.builder.constant(value, other.dtype)

    def data_dependent_error(self, position: int) -> DataDependentError:
        return DataDependentError(
            f"{self.where}: operand {position} depends on data, but must be known when the model is"
            " converted",
            self.spec.inputs[position],
        )


def as_tensor(builder: GraphBuilder, operand: GraphValue) -> Tensor:
    """An operand as a tensor of the graph. A known value becomes a constant; symbolic sizes are
    computed when the program runs.
    """
    if operand.tensor is not None:
        return builder.capture(operand.tensor)
    if operand.value is None:
        raise ShapeError("a sequence is used where a tensor is expected")
    if operand.is_constant:
        return builder.constant(operand.value, operand.type.dtype)
    items = operand.value.ravel().tolist()
    dtype = "int64" if operand.type.dtype == "bool" else operand.type.dtype
    flat = _vector(builder, map(_numerator, items), dtype)
    denominators = [item.denominator if isinstance(item, Rational) else 1 for item in items]
    if any(size != 1 for size in denominators):
        flat = flat / _vector(builder, denominators, dtype)
    if operand.type.dtype == "bool":
        flat = builder.op("NotEqual", [flat, builder.constant(0, dtype)])
    return (
        flat
        if operand.type.rank == 1
        else builder.op("Reshape", [flat], {"shape": operand.type.shape})
    )


def _vector(builder: GraphBuilder, sizes: Iterable[Size], dtype: str) -> Tensor:
    items = tuple(size if is_symbolic(size) else int(size) for size in sizes)
    return builder.op("Sizes", [], {"sizes": items, "dtype": dtype})


def _numerator(item: Any) -> Size:
    return item.numerator if isinstance(item, Rational) else item


def known(value: Any, dtype: str) -> GraphValue:
    """A value known at conversion time; `value` contains numbers, or numbers and symbolic sizes."""
    array = np.asarray(value)
    if array.dtype == object:
        items = array.ravel().tolist()
        if any(map(_is_symbolic, items)):
            return GraphValue(Type(dtype, array.shape), value=array)
        numbers = [item.value if isinstance(item, Rational) else item for item in items]
        array = np.array(numbers, dtype).reshape(array.shape)
    return GraphValue(Type(dtype, array.shape), value=array.astype(dtype))


def _is_symbolic(item: Any) -> bool:
    return item.is_symbolic if isinstance(item, Rational) else is_symbolic(item)


Table = Mapping[str, NodeHandler]
