"""The graph IR: frozen values; an edit returns a new Graph."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.errors import InternalError
from webkiln.ir.axis import Order
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Array, Type, itemsize

Attributes = Mapping[str, Any]
INLINE_ELEMENTS = 1024
"""The most elements of a constant that are written where it is declared; the bytes of a larger one
lie apart, by their digest.
"""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the numbers of an input are to be drawn: the name of a function of keras.random, and its
    parameters in the order of their names.
    """

    name: str
    parameters: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.parameters)})"


@dataclass(frozen=True, slots=True)
class Variable:
    """A named tensor of a graph. An input that takes random numbers has their distribution."""

    name: str
    type: Type
    order: Order | None = None
    distribution: Distribution | None = None

    @property
    def dtype(self) -> str:
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape


@dataclass(frozen=True, slots=True)
class Node:
    """One application of an operator. `layer` is the name of the user's layer that it came from."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attrs: Attributes = field(default_factory=dict)
    layer: str = ""

    @property
    def name(self) -> str:
        return self.outputs[0]


@dataclass(frozen=True, slots=True)
class State:
    """A value kept between runs: `initial` is a slot, a constant or of the fixed part; `input` and
    `output` are Variables of its type.
    """

    name: str
    initial: str
    input: str
    output: str


@dataclass(frozen=True, slots=True)
class Guard:
    """An equality of two sizes that a layer needs and that is not proven; it is checked when
    placeholders are set.
    """

    layer: str
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Divisibility:
    """The remainders modulo `modulus` that guards of `layers` allow a placeholder of the user.
    Where
    there is one, the graph is rewritten over a new placeholder, `quotient`: the user's is `modulus
    * quotient + offset`.
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
class Constant:
    """A constant of the graph: row-major values inline, or, where there are many, the digest of
    their
    little-endian bytes. Without these `data`, as after parsing the text form, it cannot be
    evaluated.
    """

    values: tuple[int | float | bool, ...] = ()
    digest: str = ""
    data: bytes = field(default=b"", compare=False, repr=False)

    @property
    def is_scalar(self) -> bool:
        return len(self.values) == 1

    def elements(self, type_: Type) -> int:
        """How many there are; as many as its type says where the bytes are not here."""
        if not self.digest:
            return len(self.values)
        return len(self.data) // itemsize(type_.dtype) if self.data else type_.size

    def value(self, type_: Type) -> Array:
        if not self.digest:
            return np.array(self.values, dtype=type_.dtype).reshape(type_.shape)
        if not self.data and type_.size:
            raise InternalError(f"the bytes of the constant {self.digest} are not here")
        return (
            np.frombuffer(self.data, np.dtype(type_.dtype).newbyteorder("<"))
            .astype(type_.dtype)
            .reshape(type_.shape)
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in topological order, and a table of Variables by name.

    A Variable is exactly one of: a graph input, the input of a state, a slot (a trained weight
    whose bytes lie elsewhere), a constant, or an output of a node. `outputs` maps the user's name
    of an output to a Variable. `weights` holds the values of slots of a graph that was converted in
    memory; it takes no part in equality and is never serialised.
    """

    name: str
    nodes: tuple[Node, ...]
    variables: Mapping[str, Variable]
    inputs: tuple[str, ...]
    outputs: Mapping[str, str]
    slots: frozenset[str] = frozenset()
    constants: Mapping[str, Constant] = field(default_factory=dict)
    states: tuple[State, ...] = ()
    guards: tuple[Guard, ...] = ()
    divisibility: tuple[Divisibility, ...] = ()
    weights: Mapping[str, Array] = field(default_factory=dict, compare=False, repr=False)

    def type(self, name: str) -> Type:
        return self.variables[name].type

    def producers(self) -> dict[str, Node]:
        return {output: node for node in self.nodes for output in node.outputs}

    def uses(self) -> dict[str, int]:
        """How often each Variable is read: by nodes, as an output, as the next value of a state."""
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
        """The value of a constant, or None."""
        if name not in self.constants:
            return None
        return self.constants[name].value(self.type(name))

    def fixed_part(self) -> tuple[Node, ...]:
        """The nodes that depend on slots and constants alone, and on no size that is set at run
        time: `pack` evaluates them.
        """
        known = set(self.slots) | set(self.constants)
        part = []
        for node in self.nodes:
            if is_fixed(node, known, self.variables):
                part.append(node)
                known.update(node.outputs)
        return tuple(part)

    def map_inside(self, change: Callable[["Graph"], "Graph"]) -> "Graph":
        """The graph with every graph inside its nodes changed."""
        if not any(
            isinstance(value, Graph) for node in self.nodes for value in node.attrs.values()
        ):
            return self
        changed = [
            {
                key: change(value) if isinstance(value, Graph) else value
                for key, value in node.attrs.items()
            }
            for node in self.nodes
        ]
        return self.edit(
            nodes=tuple(
                replace(node, attrs=attrs) for node, attrs in zip(self.nodes, changed, strict=True)
            )
        )

    def edit(self, **changes: Any) -> "Graph":
        return replace(self, **changes)


def is_fixed(node: Node, known: Container[str], variables: Mapping[str, Variable]) -> bool:
    """Whether a node of known operands gives what is known before a run."""
    sizes = [size for name in node.outputs for size in variables[name].shape]
    sizes += [item for value in node.attrs.values() if isinstance(value, tuple) for item in value]
    return not any(map(is_symbolic, sizes)) and all(name in known for name in node.inputs)


def make_constant(value: Array) -> Constant:
    if value.size <= INLINE_ELEMENTS:
        return Constant(tuple(value.ravel().tolist()))
    data = np.ascontiguousarray(value, value.dtype.newbyteorder("<")).tobytes()
    return Constant(digest=canonical.digest(data), data=data)
