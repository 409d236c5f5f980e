"""What a converter handler sees of a node."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.errors import ShapeError, UnsupportedError, UserError
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.spec import GraphSpec, NodeSpec
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import INLINE_ELEMENTS, Attributes
from webkiln.ir.types import Array, Type
from webkiln.ops.builder import GraphBuilder, Scalar, Tensor


@dataclass(frozen=True, slots=True)
class SizeRelation:
    """That the size `a` is less than `b` ("<") or that they are equal ("=")."""

    a: int
    relation: str
    b: int


@dataclass(frozen=True, slots=True)
class GraphValue:
    """A tensor of the model: one of the graph, or a value that is known before the program runs,
    whose
    elements are then numbers of the type's dtype, or, in an array of objects, sizes that are set at
    run time among them. `conditions`: of one bool, the comparisons of sizes that are all true where
    it is; None where it is anything else.
    """

    type: Type
    tensor: Tensor | None = None
    value: Array | None = None
    conditions: tuple[SizeRelation, ...] | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the value is known and depends on nothing that is set at run time."""
        return self.value is not None and self.value.dtype != object


NodeResult = Tensor | GraphValue | Sequence[Tensor | GraphValue]
NodeHandler = Callable[["NodeCall"], NodeResult]


Subgraph = Callable[[GraphBuilder, GraphSpec, Sequence[Tensor | GraphValue]], list[GraphValue]]
"""Converts a graph inside the node into a graph under construction, for given inputs."""

InferValues = Callable[[GraphSpec, Mapping[str, GraphValue]], Mapping[str, GraphValue]]
"""The tensors of a graph inside the node that are shape arithmetic, given the values of some of its
inputs; nothing is converted.
"""


class OpenValueError(UserError):
    """A value is needed before the program runs that depends on data; `tensor` is its name in the
    spec.
    """

    def __init__(self, message: str, tensor: str) -> None:
        self.tensor = tensor
        super().__init__(message)


class NodeCall:
    """A node with its operands. `version` is the opset of the node's domain; an absent operand is
    None.
    """

    def __init__(
        self,
        spec: NodeSpec,
        version: int,
        builder: GraphBuilder,
        operands: Sequence[GraphValue | None],
        subgraph: Subgraph,
        infer_values: InferValues,
    ) -> None:
        self.spec, self.version, self.builder, self.operands = spec, version, builder, operands
        self.subgraph, self.infer_values = subgraph, infer_values

    def applied(self, builder: GraphBuilder, operands: Sequence[GraphValue | None]) -> "NodeCall":
        """The same node with other operands, in another graph."""
        return NodeCall(
            self.spec, self.version, builder, operands, self.subgraph, self.infer_values
        )

    def __len__(self) -> int:
        return len(self.operands)

    @property
    def outputs(self) -> int:
        """How many outputs the node has, those that nobody reads too."""
        return len(self.spec.outputs)

    def wants(self, position: int) -> bool:
        """Whether an output has a name, so that somebody may read it."""
        return position < len(self.spec.outputs) and bool(self.spec.outputs[position])

    def has(self, position: int) -> bool:
        return position < len(self.operands) and self.operands[position] is not None

    def operand(self, position: int) -> GraphValue:
        found = self.operands[position] if position < len(self.operands) else None
        if found is None:
            raise self.error(f"operand {position} is missing")
        return found

    def type(self, position: int) -> Type:
        return self.operand(position).type

    def tensor(self, position: int) -> Tensor:
        """An operand as a tensor of the graph, a known value too."""
        return as_tensor(self.builder, self.operand(position))

    def tensors(self) -> list[Tensor]:
        return [self.tensor(position) for position in range(len(self.operands))]

    def optional(self, position: int) -> Tensor | None:
        return self.tensor(position) if self.has(position) else None

    def value(self, position: int) -> Array:
        """An operand that has to be known before the program runs."""
        value = self.operand(position).value
        if value is None:
            raise self.open(position)
        return value

    def numbers(self, position: int) -> Array:
        """A known operand that depends on nothing that is set at run time."""
        value = self.value(position)
        if value.dtype == object:
            raise self.open(position)
        return value

    def sizes(self, position: int) -> tuple[int, ...]:
        """A known list of integers, sizes that are set at run time among them."""
        return tuple(
            size if is_symbolic(size) else int(size)
            for size in np.atleast_1d(self.value(position)).tolist()
        )

    def scalar(self, position: int, default: float) -> float:
        """A known number; the default where the operand is absent."""
        return self.numbers(position).reshape(()).item() if self.has(position) else default

    def attr(self, name: str, default: Any = None) -> Any:
        return self.spec.attrs.get(name, default)

    def flag(self, name: str, *, default: bool = False) -> bool:
        return bool(self.spec.attrs.get(name, default))

    def attr_array(self, name: str) -> Array | None:
        """A small array among the attributes."""
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

    def op(self, op: str, inputs: Sequence[Tensor], attrs: Attributes | None = None) -> Tensor:
        return self.builder.op(op, inputs, attrs)

    def constant(self, value: Array | Scalar | Sequence[Any], dtype: str | None = None) -> Tensor:
        return self.builder.constant(value, dtype)

    def like(self, value: Scalar, other: Tensor) -> Tensor:
        """A number of another tensor's dtype."""
        return self.builder.constant(value, other.dtype)

    def axis(self, value: int, rank: int) -> int:
        """An axis counted from the front."""
        if not -rank <= value < max(rank, 1):
            raise self.error(f"axis {value} is none of the {rank} that its operand has")
        return value % max(rank, 1)

    def open(self, position: int) -> OpenValueError:
        return OpenValueError(
            f"{self.spec.name} ({self.spec.op}): operand {position} is only known when the model"
            " runs, but decides what is computed; make it an initialiser of the model",
            self.spec.inputs[position],
        )

    def error(self, message: str) -> ShapeError:
        return ShapeError(f"{self.spec.name} ({self.spec.op}): {message}")

    def unsupported(self, what: str, hint: str) -> UnsupportedError:
        return UnsupportedError(
            self.spec.name, [(f"{self.spec.name} ({self.spec.op})", what, hint)]
        )


def as_tensor(builder: GraphBuilder, operand: GraphValue) -> Tensor:
    """An operand in a graph: a known value becomes a literal, or numbers that the program computes
    from its sizes.
    """
    if operand.tensor is not None:
        return builder.capture(operand.tensor)
    assert operand.value is not None
    if operand.is_constant:
        return builder.constant(operand.value, operand.type.dtype)
    sizes = tuple(
        size if is_symbolic(size) else int(size) for size in operand.value.ravel().tolist()
    )
    flat = builder.op("Sizes", [], {"sizes": sizes, "dtype": operand.type.dtype})
    return (
        flat
        if operand.type.rank == 1
        else builder.op("Reshape", [flat], {"shape": operand.type.shape})
    )


def known(value: Any, dtype: str) -> GraphValue:
    """An operand of a known value; `value` holds numbers, or numbers and sizes."""
    array = np.asarray(value)
    if array.dtype == object and not any(map(is_symbolic, array.ravel().tolist())):
        array = array.astype(dtype)
    return GraphValue(
        Type(dtype, array.shape), value=array if array.dtype == object else array.astype(dtype)
    )


Table = Mapping[str, NodeHandler]
