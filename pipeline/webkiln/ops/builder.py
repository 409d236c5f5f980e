"""Graphs from the outside in: what frontends and tests write graphs with.

A `Tensor` is a handle on a Variable of a graph under construction. Its arithmetic aligns named axes
(`x + b` with x: N,C and b: C) and resolves them into explicit Reshape and Transpose nodes;
anonymous axes follow numpy's broadcasting.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.errors import InternalError, SizeError
from webkiln.ir import symbols
from webkiln.ir.axis import Axis, Order
from webkiln.ir.graph import (
    Attributes,
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
from webkiln.ir.size_checks import Equality, guards
from webkiln.ir.types import Array, Type
from webkiln.ops.budget import count_nodes
from webkiln.ops.operator import Rules

Scalar = bool | int | float
Block = Callable[["GraphBuilder", list["Tensor"]], Sequence["Tensor"]]
"""Writes a graph inside an operator, from its operands to its results."""
StepFunction = Callable[
    ["GraphBuilder", list["Tensor"], list["Tensor"]], tuple[Sequence["Tensor"], Sequence["Tensor"]]
]
KEEPS_ORDER = frozenset(
    {
        "MaxPool",
        "AvgPool",
        "BatchNorm",
        "Softmax",
        "LogSoftmax",
        "Pad",
        "Slice",
        "Cast",
        "Identity",
        "Clip",
    }
)


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
    def shape(self) -> tuple[int, ...]:
        return self.variable.shape

    @property
    def order(self) -> Order | None:
        return self.variable.order

    def __add__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.builder.binary("Add", self, other)

    def __radd__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Add", other, self)

    def __sub__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.builder.binary("Sub", self, other)

    def __rsub__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Sub", other, self)

    def __mul__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.builder.binary("Mul", self, other)

    def __rmul__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Mul", other, self)

    def __truediv__(self, other: "Tensor | Scalar") -> "Tensor":
        return self.builder.binary("Div", self, other)

    def __rtruediv__(self, other: Scalar) -> "Tensor":
        return self.builder.binary("Div", other, self)

    def __neg__(self) -> "Tensor":
        return self.builder.op("Neg", [self])


class GraphBuilder:
    """Collects nodes, slots, constants and states; `graph` closes it.

    Nodes made inside `layer` are named after it: the first `layer`, the next `layer.2`. Names carry
    no counter of anything else, so equal models give equal graphs.
    """

    def __init__(self, name: str, rules: Rules, outer: "GraphBuilder | None" = None) -> None:
        self.name = name
        self._rules = rules
        self._outer = outer
        self._captured: dict[str, Tensor] = {}
        self.layer: str = outer.layer if outer is not None else ""
        self._nodes: list[Node] = []
        self._variables: dict[str, Variable] = {}
        self._inputs: list[str] = []
        self._slots: dict[str, Array | None] = {}
        self._slot_names: dict[str, str] = {}
        self._constants: dict[str, Constant] = {}
        self._states: dict[str, tuple[str, str, str]] = {}
        self._counts: dict[str, int] = {}
        self._guards: list[Guard] = []
        self._late = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(self._inputs)

    def input(
        self,
        name: str,
        dtype: str,
        shape: Sequence[int],
        order: Order | None = None,
        distribution: Distribution | None = None,
    ) -> Tensor:
        """An input of the graph; with a `distribution`, one that takes random numbers."""
        tensor = self._declare(self._fresh(name), Type(dtype, tuple(shape)), order, distribution)
        self._inputs.append(tensor.name)
        return tensor

    def slot(self, name: str, value: Array | Type, order: Order | None = None) -> Tensor:
        """The place of a trained weight, given as an array or by its type alone; the same name is
        the same slot.
        """
        if self._outer is not None:
            return self.inside(self._outer.slot(name, value, order))
        type_ = value if isinstance(value, Type) else Type(str(value.dtype), value.shape)
        if name in self._slot_names:
            known = self._variables[self._slot_names[name]]
            if known.type != type_:
                raise InternalError(f"slot {name} is {known.type} and {type_}")
            return Tensor(self, known)
        asked, name = name, self._fresh(name)
        self._slot_names[asked] = name
        self._slots[name] = (
            None if isinstance(value, Type) else np.ascontiguousarray(value).reshape(value.shape)
        )
        return self._declare(name, type_, order)

    def by_variable(self, slots: Mapping[str, Any]) -> dict[str, Any]:
        """What belongs to slots, by their Variables, which are called otherwise where a name was
        taken.
        """
        return {self._slot_names[name]: item for name, item in slots.items()}

    def is_slot(self, tensor: Tensor) -> bool:
        """Whether a tensor is a trained weight as it is."""
        return (
            tensor.name in self._slots if tensor.builder is self else tensor.builder.is_slot(tensor)
        )

    def constant(
        self,
        value: Array | Scalar | Sequence[Any],
        dtype: str | None = None,
        order: Order | None = None,
    ) -> Tensor:
        """A literal that is part of the structure."""
        array = np.asarray(
            value, dtype=dtype or (None if isinstance(value, np.ndarray) else _default_dtype(value))
        )
        if self._outer is not None and array.size != 1:
            return self.inside(self._outer.constant(array, order=order))
        name = self._fresh(f"{self.layer or self.name}.const")
        self._constants[name] = make_constant(array)
        return self._declare(name, Type(str(array.dtype), array.shape), order)

    def op(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attrs: Attributes | None = None,
        order: Order | None = None,
        *,
        layer: str | None = None,
    ) -> Tensor:
        """The only output of a new node; ShapeError names the layer when the inputs do not fit."""
        outputs = self.ops(op, inputs, attrs, order, layer=layer)
        if len(outputs) != 1:
            raise InternalError(f"{op} has {len(outputs)} outputs, not one")
        return outputs[0]

    def ops(
        self,
        op: str,
        inputs: Sequence[Tensor],
        attrs: Attributes | None = None,
        order: Order | None = None,
        *,
        layer: str | None = None,
    ) -> tuple[Tensor, ...]:
        """All outputs of a new node. Without `order` the first input's is kept where the operator
        keeps the meaning of its axes.
        """
        layer = self.layer if layer is None else layer
        count_nodes(layer, op)
        inputs = [self.inside(tensor) for tensor in inputs]
        read = tuple(tensor.name for tensor in inputs)
        types = self._inferred(
            Node(op, read, (layer or op.lower(),), attrs or {}, layer),
            [tensor.type for tensor in inputs],
        )
        names = tuple(self._fresh(layer or op.lower()) for _ in types)
        self._nodes.append(Node(op, read, names, dict(attrs or {}), layer))
        return tuple(
            self._declare(
                name, type_, order or _kept_order(self._rules, op, inputs, type_, attrs or {})
            )
            for name, type_ in zip(names, types, strict=True)
        )

    def _inferred(self, node: Node, types: Sequence[Type]) -> tuple[Type, ...]:
        """The types of its outputs; sizes that it needs equal are guards."""
        try:
            with guards() as found:
                return self._rules.infer(node, types)
        except SizeError as error:
            error.args = (f"{error}{self.origins(error.sizes)}",)
            raise
        finally:
            self.require(
                Guard(node.layer or node.name, item.a, item.b)
                for item in found
                if isinstance(item, Equality)
            )

    def require(self, guards: Iterable[Guard]) -> None:
        """Check sizes when the outermost graph runs."""
        if self._outer is not None:
            self._outer.require(guards)
        else:
            self._guards += guards

    def origins(self, sizes: Iterable[int]) -> str:
        """Which axes of inputs the names in some sizes are."""
        if self._outer is not None:
            return self._outer.origins(sizes)
        axes = {
            size: (axis, name)
            for name in reversed(self._inputs)
            for axis, size in enumerate(self._variables[name].shape)
        }
        places = (
            (name, axes.get(symbols.from_name(name))) for name in sorted(symbols.names(sizes))
        )
        text = ", ".join(
            f"{name} is axis {place[0]} of {place[1]}"
            for name, place in places
            if place is not None
        )
        return f" ({text})" if text else ""

    def binary(self, op: str, a: "Tensor | Scalar", b: "Tensor | Scalar") -> Tensor:
        """An elementwise operator of two operands, aligned by axis name where every axis of both
        has one.
        """
        if not isinstance(a, Tensor):
            if not isinstance(b, Tensor):
                raise InternalError(f"{op} of two scalars is not part of a graph")
            a = self.constant(a, b.dtype)
        elif not isinstance(b, Tensor):
            b = self.constant(b, a.dtype)
        if _named(a) and _named(b) and a.order != b.order:
            assert a.order is not None
            assert b.order is not None
            long, short = (a.order, b.order) if len(a.order) >= len(b.order) else (b.order, a.order)
            target = Order(long.axes + tuple(axis for axis in short.axes if axis not in long))
            a, b = self._align(a, target), self._align(b, target)
        return self.op(op, [a, b])

    def inside(self, tensor: Tensor) -> Tensor:
        """The tensor as one of this graph: one of a graph around it becomes an input of this one,
        captured.
        """
        if tensor.builder is self:
            return tensor
        if self._outer is None:
            raise InternalError(
                f"{self.layer or self.name}: {tensor.name} belongs to another graph"
            )
        tensor = self._outer.inside(tensor)
        if tensor.name not in self._captured:
            self._captured[tensor.name] = self.input(
                tensor.name, tensor.dtype, tensor.shape, tensor.order
            )
        return self._captured[tensor.name]

    def scan(
        self,
        states: Sequence[Tensor],
        sequences: Sequence[Tensor],
        step: "StepFunction",
        *,
        axis: int,
        reverse: bool = False,
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Apply `step` to each slice of `sequences` along `axis`: the last states, and its other
        results stacked along that axis.

        `step(builder, states, slices)` gives the next states and the results; it writes into
        `builder` and may use tensors of this graph.
        """
        body = GraphBuilder(f"{self.layer or self.name}.step", self._rules, outer=self)
        current = [
            body.input(f"state{n}", state.dtype, state.shape) for n, state in enumerate(states)
        ]
        slices = [
            body.input(f"slice{n}", item.dtype, (*item.shape[:axis], *item.shape[axis + 1 :]))
            for n, item in enumerate(sequences)
        ]
        following, results = step(body, current, slices)
        named = [(f"state{n}", tensor) for n, tensor in enumerate(following)] + [
            (f"result{n}", tensor) for n, tensor in enumerate(results)
        ]
        graph = body.graph({name: body.inside(tensor) for name, tensor in named})
        captured = [Tensor(self, self._variables[name]) for name in body._captured]
        attrs = {
            "body": graph,
            "axes": (axis,) * len(sequences),
            "out_axes": (axis,) * len(results),
            "reverse": reverse,
        }
        outputs = self.ops("Scan", [*states, *sequences, *captured], attrs)
        return list(outputs[: len(states)]), list(outputs[len(states) :])

    def data_dependent(self) -> str:
        """A new name for a size that the run finds out."""
        if self._outer is not None:
            return self._outer.data_dependent()
        self._late += 1
        return f"u{self._late - 1}"

    def _inner(
        self, name: str, inputs: Sequence[Type], write: "Block"
    ) -> tuple[Graph, list[Tensor]]:
        """A graph inside an operator, written by `write`, and what it captures of this one."""
        body = GraphBuilder(f"{self.layer or self.name}.{name}", self._rules, outer=self)
        given = [body.input(f"in{n}", type_.dtype, type_.shape) for n, type_ in enumerate(inputs)]
        results = {f"out{n}": body.inside(tensor) for n, tensor in enumerate(write(body, given))}
        return body.graph(results), [Tensor(self, self._variables[name]) for name in body._captured]

    def branch(self, condition: Tensor, then: "Block", otherwise: "Block") -> tuple[Tensor, ...]:
        """The results of one of two functions, which write into the builder that they are given, by
        a bool scalar.
        """
        yes, first = self._inner("then", [], then)
        no, second = self._inner("else", [], otherwise)
        return self.ops("If", [condition, *first, *second], {"then": yes, "otherwise": no})

    def loop(
        self,
        condition: Tensor,
        states: Sequence[Tensor],
        step: "Block",
        *,
        bound: int | None = None,
        number: str = "int64",
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Repeat `step` while a bool scalar holds, at most `bound` times: the last states, and its
        other results stacked along a new first axis.

        `step(builder, (number, condition, *states))` gives the next condition, the next states and
        the results.
        """
        types = [Type(number, ()), condition.type, *(state.type for state in states)]
        body, captured = self._inner("step", types, step)
        stacked = len(body.outputs) - 1 - len(states)
        attrs = {
            "body": body,
            "states": len(states),
            "bound": bound,
            "count": self.data_dependent() if stacked else "",
        }
        outputs = self.ops("Loop", [condition, *states, *captured], attrs)
        return list(outputs[: len(states)]), list(outputs[len(states) :])

    def state(self, name: str, initial: Tensor) -> Tensor:
        """The value that `name` has when a run starts; its first is `initial`, a slot or what is
        computed from slots and constants. `set_state` gives the next one.
        """
        tensor = self._declare(self._fresh(f"{name}.state"), initial.type, initial.order)
        self._states[name] = (initial.name, tensor.name, tensor.name)
        return tensor

    def set_state(self, name: str, value: Tensor) -> None:
        initial, start, _ = self._states[name]
        self._states[name] = (initial, start, value.name)

    def graph(self, outputs: Mapping[str, Tensor]) -> Graph:
        """The graph; sizes that it needs equal are solve_guards. SizeError where they never are."""
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

    def _align(self, tensor: Tensor, target: Order) -> Tensor:
        assert tensor.order is not None
        present = [axis for axis in target.axes if axis in tensor.order]
        perm = tuple(tensor.order.index(axis) for axis in present)
        if perm != tuple(range(len(perm))):
            tensor = self.op("Transpose", [tensor], {"perm": perm}, Order(tuple(present)))
        if present == list(target.axes)[len(target) - len(present) :]:
            return tensor
        sizes = dict(zip(present, tensor.shape, strict=True))
        return self.op(
            "Reshape",
            [tensor],
            {"shape": tuple(sizes.get(axis, 1) for axis in target.axes)},
            target,
        )

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


def _named(tensor: Tensor) -> bool:
    return tensor.order is not None and not any(_is_anonymous(axis) for axis in tensor.order.axes)


def _is_anonymous(axis: Axis) -> bool:
    return axis.name.startswith("_")


def _kept_order(
    rules: Rules, op: str, inputs: Sequence[Tensor], type_: Type, attrs: Attributes
) -> Order | None:
    if not inputs:
        return None
    first = inputs[0]
    if op == "Transpose" and first.order is not None:
        return Order(tuple(first.order.axes[axis] for axis in attrs["perm"]))
    if op == "Conv" and tuple(attrs["x_dims"]) == tuple(attrs["out_dims"]):
        return first.order
    if op in KEEPS_ORDER:
        return first.order if first.type.rank == type_.rank else None
    if rules.elementwise(op):
        return next(
            (t.order for t in inputs if t.order is not None and t.shape == type_.shape), None
        )
    return None
