"""The graph IR. All classes are immutable; edits return a new Graph."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np

from webkiln import canonical
from webkiln.errors import InternalError
from webkiln.ir.attributes import Attributes
from webkiln.ir.axis import Order
from webkiln.ir.dim import Shape, Size, is_symbolic, known_shape
from webkiln.ir.types import Array, Type, itemsize

A = TypeVar("A", bound=Attributes)
NO_ATTRIBUTES = Attributes()
INLINE_ELEMENTS = 1024
"""The maximum number of elements of an inline constant. Larger constants are stored as bytes that
are referenced by their digest.
"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The distribution of a random input: the name of a function of keras.random, and its
    parameters sorted by name.
    """

    name: str
    parameters: tuple[tuple[str, float], ...]

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, float]) -> Self:
        return cls(name, tuple(sorted(parameters.items())))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.parameters)})"


@dataclass(frozen=True, slots=True)
class Variable:
    """A named tensor of a graph. `distribution` is set for inputs of random numbers, and `sizes`
    for inputs whose elements are sizes, in row-major order: they set placeholders.
    """

    name: str
    type: Type
    order: Order | None = None
    distribution: Distribution | None = None
    sizes: Shape = ()

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        return self.type.shape


@dataclass(frozen=True, slots=True)
class Node:
    """One application of an operator. `layer` names the layer of the source model that it was
    converted from.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Attributes = NO_ATTRIBUTES
    layer: str = ""

    @property
    def name(self) -> str:
        return self.outputs[0]

    def subgraphs(self) -> tuple["Graph", ...]:
        """The graphs in the attributes."""
        return tuple(value for value in self.attrs.as_dict().values() if isinstance(value, Graph))

    def attrs_as(self, kind: type[A]) -> A:
        """The attributes, which are those of an operator that declares `kind`."""
        if not isinstance(self.attrs, kind):
            raise InternalError(
                f"{self.op} {self.layer or self.name}: the attributes are {self.attrs}, expected"
                f" {kind.__name__}"
            )
        return self.attrs


@dataclass(frozen=True, slots=True)
class State:
    """A value that persists between runs.

    `input` is the Variable that holds it during a run, and `output` the Variable that holds the
    value for the next run. `initial` is a slot, a constant or computed in the constant subgraph.
    All three have the same type.
    """

    name: str
    initial: str
    input: str
    output: str


@dataclass(frozen=True, slots=True)
class Guard:
    """An equality of two sizes that `layer` requires and that is not proven. It is checked when the
    placeholders are set.
    """

    layer: str
    a: Size
    b: Size


@dataclass(frozen=True, slots=True)
class Divisibility:
    """The remainders modulo `modulus` that the guards of `layers` allow for the placeholder `name`.

    If there is only one remainder, the graph is rewritten in terms of a new symbol, `quotient`:
    `name == modulus * quotient + offset`. Otherwise `quotient` is empty.
    """

    name: str
    modulus: int
    remainders: tuple[int, ...]
    quotient: str
    layers: tuple[str, ...]

    @property
    def offset(self) -> int:
        return self.remainders[0] - self.modulus if self.remainders[0] else 0

    def __str__(self) -> str:
        first, *others = self.remainders
        text = (
            f"{first} more than a multiple of {self.modulus}"
            if first
            else f"a multiple of {self.modulus}"
        )
        return "".join([text, *(f", or {rest} more" for rest in others)])


@dataclass(frozen=True, slots=True)
class SizeConstraints:
    """What the placeholders of a graph must satisfy."""

    guards: tuple[Guard, ...] = ()
    divisibility: tuple[Divisibility, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.guards or self.divisibility)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the graph: inline row-major `values`, or the `digest` of little-endian `data`.

    Parsing the text form leaves `data` empty; such a constant cannot be evaluated.
    """

    values: tuple[int | float | bool, ...] = ()
    digest: str = ""
    data: bytes = field(default=b"", compare=False, repr=False)

    @property
    def is_scalar(self) -> bool:
        return len(self.values) == 1

    def elements(self, type_: Type) -> Size:
        """The number of elements. If the bytes are missing, it is the size of `type_`."""
        if not self.digest:
            return len(self.values)
        return len(self.data) // itemsize(type_.dtype) if self.data else type_.size

    def value(self, type_: Type) -> Array:
        shape = known_shape(type_.shape, "a constant")
        if not self.digest:
            return np.array(self.values, dtype=type_.dtype).reshape(shape)
        if not self.data and 0 not in shape:
            raise InternalError(f"the data of constant {self.digest} is missing")
        return (
            np.frombuffer(self.data, np.dtype(type_.dtype).newbyteorder("<"))
            .astype(type_.dtype)
            .reshape(shape)
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in topological order, and a table of Variables by name.

    A Variable is exactly one of: a graph input, the input of a state, a slot (a trained weight,
    stored outside of the graph), a constant, or an output of a node. `outputs` maps the public name
    of each output to a Variable. `weights` holds the values of slots if the graph was converted in
    memory; it is ignored by comparisons and never serialised.
    """

    name: str
    nodes: tuple[Node, ...]
    variables: Mapping[str, Variable]
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    slots: frozenset[str] = frozenset()
    constants: Mapping[str, Constant] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    constraints: SizeConstraints = SizeConstraints()
    weights: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def type(self, name: str) -> Type:
        return self.variables[name].type

    def producers(self) -> dict[str, Node]:
        return {output: node for node in self.nodes for output in node.outputs}

    def uses(self) -> dict[str, int]:
        """The number of reads of each Variable: by nodes, as an output, as the next value of a
        state.
        """
        count = dict.fromkeys(self.variables, 0)
        for name in self.reads():
            count[name] += 1
        return count

    def reads(self) -> Iterable[str]:
        for node in self.nodes:
            yield from node.inputs
        yield from self.outputs.values()
        for state in self.states:
            yield state.output

    def constant(self, name: str) -> Array | None:
        """The value of the constant `name`, or None if `name` is not a constant."""
        if name not in self.constants:
            return None
        return self.constants[name].value(self.type(name))

    def constant_subgraph(self) -> tuple[Node, ...]:
        """The nodes that depend only on slots and constants, and on no symbolic size. Stage `pack`
        evaluates them.
        """
        constant_names = set(self.slots) | set(self.constants)
        nodes = []
        for node in self.nodes:
            if is_constant(node, constant_names, self.variables):
                nodes.append(node)
                constant_names.update(node.outputs)
        return tuple(nodes)

    def map_subgraphs(self, change: Callable[["Graph"], "Graph"]) -> "Graph":
        """Apply `change` to every graph in the attributes of nodes."""
        if not any(node.subgraphs() for node in self.nodes):
            return self

        def attribute(value: Any) -> Any:
            return change(value) if isinstance(value, Graph) else value

        return self.edit(
            nodes=tuple(
                replace(node, attrs=node.attrs.map(attribute)) if node.subgraphs() else node
                for node in self.nodes
            )
        )

    def edit(self, **changes: Any) -> "Graph":
        return replace(self, **changes)


def is_constant(
    node: Node, constant_names: Container[str], variables: Mapping[str, Variable]
) -> bool:
    """Whether all inputs of a node are constant, and its shapes and attributes not symbolic."""
    if not all(name in constant_names for name in node.inputs):
        return False
    sizes = [size for name in node.outputs for size in variables[name].shape]
    values = node.attrs.as_dict().values()
    sizes += [item for value in values if isinstance(value, tuple) for item in value]
    return not any(map(is_symbolic, sizes))


def make_constant(value: Array) -> Constant:
    if value.size <= INLINE_ELEMENTS:
        return Constant(tuple(value.ravel().tolist()))
    data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
    return Constant(digest=canonical.digest(data), data=data)
