"""The builder of graphs, for frontends and tests.

A `Tensor` is a handle to a Variable of a graph under construction. Its arithmetic aligns named axes
(`x + b` with x: N,C and b: C) by explicit Reshape and Transpose nodes; anonymous axes follow
numpy's broadcasting.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.axis import Order
from webkiln.ir.dim import Dim, Shape, Size
from webkiln.ir.graph import (
    Constant,
    Distribution,
    Graph,
    Guard,
    Node,
    State,
    Variable,
    make_constant,
)
from webkiln.ir.guards import solve_guards
from webkiln.ir.size_checks import Equality, SizeError, guards
from webkiln.ir.types import Array, Type
from webkiln.ir.value_numbers import ValueNumbers
from webkiln.ops.axis_order import align, infer_order
from webkiln.ops.budget import count_nodes
from webkiln.ops.control_flow import ControlFlow
from webkiln.ops.operator import Rules

Scalar = bool | int | float


@dataclass(frozen=True, slots=True)
class Tensor:
    """A Variable of a graph under construction."""

    builder: "GraphBuilder"
    variable: Variable

    @property
    def name(self) -> str:
        return self.variable.name

    @property
    def type(self) -> Type:
        return self.variable.type

    @property
    def dtype(self) -> str:
        return self.variable.dtype

    @property
    def shape(self) -> Shape:
        return self.variable.shape

    @property
    def order(self) -> Order | None:
        return self.variable.order

    def __add__(self, other: "Tensor | Scalar | Dim") -> "Tensor":
        return self.builder.binary("Add", self, other)

    def __radd__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Add", other, self)

    def __sub__(self, other: "Tensor | Scalar | Dim") -> "Tensor":
        return self.builder.binary("Sub", self, other)

    def __rsub__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Sub", other, self)

    def __mul__(self, other: "Tensor | Scalar | Dim") -> "Tensor":
        return self.builder.binary("Mul", self, other)

    def __rmul__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Mul", other, self)

    def __truediv__(self, other: "Tensor | Scalar | Dim") -> "Tensor":
        return self.builder.binary("Div", self, other)

    def __rtruediv__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Div", other, self)

    def __neg__(self) -> "Tensor":
        return self.builder.op("Neg", [self])


class GraphBuilder(ControlFlow):
    """Builds a graph of nodes, slots, constants and states; `graph` returns it.

    Nodes are named after the current `layer`: `layer`, `layer.2` and so on. Names depend on nothing
    else, so equal models give equal graphs. `outer` is the builder of the enclosing graph, if the
    graph is nested.
    """

    def __init__(self, name: str, rules: Rules, outer: "GraphBuilder | None" = None) -> None:
        self.name = name
        self._rules = rules
        self._outer = outer
        self._captured: dict[str, Tensor] = {}
        self.layer: str = outer.layer if outer is not None else ""
        self._nodes: list[Node] = []
        self._values = ValueNumbers()
        self._variables: dict[str, Variable] = {}
        self._inputs: list[str] = []
        self._slots: dict[str, Array | None] = {}
        self._slot_names: dict[str, str] = {}
        self._constants: dict[str, Constant] = {}
        self._states: dict[str, tuple[str, str, str]] = {}
        self._counts: dict[str, int] = {}
        self._guards: list[Guard] = []
        self._data_dependent_sizes = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self._inputs)

    @property
    def is_nested(self) -> bool:
        """Whether the graph is that of a branch, a loop or a scan."""
        return self._outer is not None

    @property
    def captured(self) -> tuple[str, ...]:
        """The names of the tensors of the enclosing graph that this graph captures."""
        return tuple(self._captured)

    def input(
        self,
        name: str,
        dtype: str,
        shape: Sequence[Size],
        order: Order | None = None,
        distribution: Distribution | None = None,
        sizes: Sequence[Size] = (),
    ) -> Tensor:
        """Add an input. An input of random numbers has a `distribution`; the elements of an input
        of sizes are `sizes`.
        """
        tensor = self._declare(self._fresh(name), Type(dtype, tuple(shape)), order, distribution)
        self._variables[tensor.name] = replace(tensor.variable, sizes=tuple(sizes))
        self._inputs.append(tensor.name)
        return self.tensor(tensor.name)

    def slot(self, name: str, value: Array | Type, order: Order | None = None) -> Tensor:
        """Add a trained weight, by its value or only its type. Equal names return the same slot."""
        if self._outer is not None:
            return self.capture(self._outer.slot(name, value, order))
        type_ = value if isinstance(value, Type) else Type(str(value.dtype), value.shape)
        if name in self._slot_names:
            existing = self._variables[self._slot_names[name]]
            if existing.type != type_:
                raise InternalError(
                    f"slot {name} has conflicting types {existing.type} and {type_}"
                )
            return Tensor(self, existing)
        requested, name = name, self._fresh(name)
        self._slot_names[requested] = name
        self._slots[name] = (
            None if isinstance(value, Type) else np.ascontiguousarray(value).reshape(value.shape)
        )
        return self._declare(name, type_, order)

    def nested(self, name: str) -> "GraphBuilder":
        """A builder of a graph that is nested in this one."""
        return GraphBuilder(f"{self.layer or self.name}.{name}", self._rules, outer=self)

    def data_dependent(self) -> str:
        """A new name for a data-dependent size."""
        if self._outer is not None:
            return self._outer.data_dependent()
        self._data_dependent_sizes += 1
        return f"u{self._data_dependent_sizes - 1}"

    def tensor(self, name: str) -> Tensor:
        """The tensor of an existing Variable."""
        return Tensor(self, self._variables[name])

    def producer(self, tensor: Tensor) -> Node | None:
        """The node of this graph that computes a tensor."""
        return next((node for node in self._nodes if tensor.name in node.outputs), None)

    def known(self, tensor: Tensor) -> Array | None:
        """The value of a constant of this graph."""
        constant = self._constants.get(tensor.name)
        return None if constant is None else constant.value(tensor.type)

    def by_variable(self, slots: Mapping[str, Any]) -> dict[str, Any]:
        """Map the requested names of slots to the names of their Variables, which differ if a name
        was already in use.
        """
        return {self._slot_names[name]: item for name, item in slots.items()}

    def is_slot(self, tensor: Tensor) -> bool:
        """Whether a tensor is a slot."""
        return (
            tensor.name in self._slots if tensor.builder is self else tensor.builder.is_slot(tensor)
        )

    def constant(
        self,
        value: Array | Scalar | Sequence[Any],
        dtype: str | None = None,
        order: Order | None = None,
    ) -> Tensor:
        """Add a constant."""
        array = np.asarray(
            value, dtype=dtype or (None if isinstance(value, np.ndarray) else _default_dtype(value))
        )
        if self._outer is not None and array.size != 1:
            return self.capture(self._outer.constant(array, order=order))
        name = self._fresh(f"{self.layer or self.name}.const")
        self._constants[name] = make_constant(array)
        self._values.add_constant(name, self._constants[name], array.dtype, array.shape)
        return self._declare(name, Type(str(array.dtype), array.shape), order)

    def op(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        order: Order | None = None,
        *,
        layer: str | None = None,
    ) -> Tensor:
        """Append a node with one output. Raises ShapeError with the name of the layer if the inputs
        are invalid, and InternalError if attributes are unknown or missing.
        """
        outputs = self.ops(op, inputs, attrs, order, layer=layer)
        if len(outputs) != 1:
            raise InternalError(f"{op} has {len(outputs)} outputs, expected one")
        return outputs[0]

    def ops(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attrs: Mapping[str, Any] | None = None,
        order: Order | None = None,
        *,
        layer: str | None = None,
    ) -> tuple[Tensor, ...]:
        """Append a node with any number of outputs. The default `order` is that of the first input,
        if the operator preserves the meaning of axes.
        """
        layer = self.layer if layer is None else layer
        count_nodes(layer, op)
        inputs = [self.capture(tensor) for tensor in inputs]
        input_names = tuple(tensor.name for tensor in inputs)
        attributes = self._rules.attributes_of(op, attrs or {}, layer)
        types = self._infer(
            Node(op, input_names, (layer or op.lower(),), attributes, layer),
            [tensor.type for tensor in inputs],
        )
        names = tuple(self._fresh(layer or op.lower()) for _ in types)
        self._nodes.append(Node(op, input_names, names, attributes, layer))
        self._values.add(self._nodes[-1])
        return tuple(
            self._declare(
                name, type_, order or infer_order(self._rules, op, inputs, type_, attributes)
            )
            for name, type_ in zip(names, types, strict=True)
        )

    def _infer(self, node: Node, types: Sequence[Type]) -> tuple[Type, ...]:
        """Infer the types of the outputs, and collect the equalities that the node requires."""
        try:
            with guards() as unproven:
                return self._rules.infer(node, types)
        except SizeError as error:
            error.args = (f"{error}{self.origins(error.sizes)}",)
            raise
        finally:
            self.require(
                Guard(node.layer or node.name, item.a, item.b)
                for item in unproven
                if isinstance(item, Equality)
            )

    def nonzero(self, x: Tensor) -> Tensor:
        """The indices of the elements that are not 0: int64 [rank, count].

        Operands that are computed in the same way share them, and thus have equal counts.
        """
        x = self.capture(x)
        for node in self._nodes:
            if node.op == "NonZero" and self._values.are_equal(node.inputs[0], x.name):
                return self.tensor(node.outputs[0])
        return self.op("NonZero", [x], {"count": self.data_dependent()})

    def require(self, guards: Iterable[Guard]) -> None:
        """Add guards to the outermost graph."""
        if self._outer is not None:
            self._outer.require(guards)
        else:
            self._guards += guards

    def origins(self, sizes: Iterable[Size]) -> str:
        """Describe the symbols in `sizes` by the axes of inputs, for error messages."""
        if self._outer is not None:
            return self._outer.origins(sizes)
        axes = {
            size: (axis, name)
            for name in reversed(self._inputs)
            for axis, size in enumerate(self._variables[name].shape)
        }
        origins = (
            (name, axes.get(symbols.from_name(name))) for name in sorted(symbols.names(sizes))
        )
        text = ", ".join(
            f"{name} is axis {origin[0]} of {origin[1]}"
            for name, origin in origins
            if origin is not None
        )
        return f" ({text})" if text else ""

    def scalar(self, value: Scalar | Dim, dtype: str) -> Tensor:
        """A number or a symbolic size as a tensor without axes."""
        if not isinstance(value, Dim):
            return self.constant(value, dtype)
        vector = self.op("Sizes", [], {"sizes": (value,), "dtype": dtype})
        return self.op("Reshape", [vector], {"shape": ()})

    def binary(self, op: str, a: "Tensor | Scalar | Dim", b: "Tensor | Scalar | Dim") -> Tensor:
        """Append a binary elementwise operator. Operands with named axes are aligned by name."""
        if not isinstance(a, Tensor):
            if not isinstance(b, Tensor):
                raise InternalError(f"{op}: expected at least one tensor, got two scalars")
            a = self.scalar(a, b.dtype)
        elif not isinstance(b, Tensor):
            b = self.scalar(b, a.dtype)
        return self.op(op, align(a, b))

    def capture(self, tensor: Tensor) -> Tensor:
        """Make a tensor available in this graph. A tensor of an enclosing graph becomes an input of
        the nested graph.
        """
        if tensor.builder is self:
            return tensor
        if self._outer is None:
            raise InternalError(
                f"{self.layer or self.name}: {tensor.name} belongs to another graph"
            )
        tensor = self._outer.capture(tensor)
        if tensor.name not in self._captured:
            self._captured[tensor.name] = self.input(
                tensor.name, tensor.dtype, tensor.shape, tensor.order
            )
        return self._captured[tensor.name]

    def state(self, name: str, initial: Tensor) -> Tensor:
        """Add a state, and return its value at the start of a run. `initial` is a slot, or computed
        from slots and constants. `set_state` sets the value for the next run.
        """
        tensor = self._declare(self._fresh(f"{name}.state"), initial.type, initial.order)
        self._states[name] = (initial.name, tensor.name, tensor.name)
        return tensor

    def set_state(self, name: str, value: Tensor) -> None:
        initial, start, _ = self._states[name]
        self._states[name] = (initial, start, value.name)

    def graph(self, outputs: Mapping[str, Tensor]) -> Graph:
        """Return the graph, with its guards solved. Raises SizeError if a guard can never hold."""
        graph = Graph(
            name=self.name,
            nodes=tuple(self._nodes),
            variables=dict(self._variables),
            inputs=tuple(self._inputs),
            outputs={name: tensor.name for name, tensor in outputs.items()},
            slots=frozenset(self._slots),
            constants=dict(self._constants),
            states=tuple(State(name, *parts) for name, parts in self._states.items()),
            weights={name: value for name, value in self._slots.items() if value is not None},
        )
        return solve_guards(graph, self._guards) if self._guards else graph

    def _declare(
        self, name: str, type_: Type, order: Order | None, distribution: Distribution | None = None
    ) -> Tensor:
        if order is not None and len(order) != type_.rank:
            raise InternalError(f"{name}: order {order} has {len(order)} axes, its type is {type_}")
        self._variables[name] = Variable(name, type_, order or None, distribution)
        return Tensor(self, self._variables[name])

    def _fresh(self, stem: str) -> str:
        count = self._counts.get(stem, 0) + 1
        while (name := stem if count == 1 else f"{stem}.{count}") in self._variables:
            count += 1
        self._counts[stem] = count
        return name


def _default_dtype(value: Any) -> str:
    kind = np.asarray(value).dtype.kind
    return {"b": "bool", "i": "int32", "u": "int32"}.get(kind, "float32")
