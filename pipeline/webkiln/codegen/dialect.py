"""Dialects: what the printer in `emit.py` needs of a language."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from webkiln.nest.expr import FLOAT, Expr, const
from webkiln.nest.nest import Accumulator, Nest, Operand, load_guard
from webkiln.nest.schedule import LoopSchedule
from webkiln.plan.kernel import Kernel

Vectors = Callable[[Expr], list[str]]
"""The vectors of an expression, one for each of several neighbouring copies."""


@dataclass(frozen=True, slots=True)
class JoinedStore:
    """A store of `count` neighbouring vectors: `write(pointer, at, offset, value, vectors)`."""

    count: int
    write: Callable[[str, str, int, Expr, Vectors], str]


class Simd(Protocol):
    """Vectors of lanes; `vector` is their type. A vector in memory starts `offset` elements after
    the address `at`. `partial`: only `left` elements remain on the vector axis.
    """

    @property
    def width(self) -> int: ...
    @property
    def components(self) -> bool:
        """Whether a scalar is best read from a vector that contains it."""

    def has(self, expr: Expr) -> bool:
        """Whether an operation has a vector form. The others are computed lane by lane."""

    def vector(self, type_: str) -> str: ...
    def splat(self, text: str, type_: str) -> str: ...
    def operation(self, expr: Expr, args: list[str]) -> str: ...
    def load(self, operand: Operand, pointer: str, at: str, offset: int, partial: bool) -> str: ...
    def store(
        self, operand: Operand, pointer: str, at: str, offset: int, value: str, partial: bool
    ) -> str: ...
    def store_lane(
        self, operand: Operand, pointer: str, at: str, value: str, lane: int, partial: bool
    ) -> str: ...
    def joined_store(self, operand: Operand) -> "JoinedStore | None":
        """How several vectors are written at once, if they can be."""

    def lane(self, name: str, lane: int, type_: str) -> str: ...
    def start(self, item: Accumulator, name: str, value: str) -> list[str]: ...
    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]: ...
    def combine(self, item: Accumulator, name: str, value: str) -> list[str]: ...
    def finish(self, item: Accumulator, name: str) -> list[str]: ...


class Pointers(Protocol):
    """Guarded loads by pointer. `select_pointer` selects, once, the operand or `other`, an array of
    the fallback value.
    """

    def pointer_type(self, operand: Operand) -> str: ...
    def select_pointer(
        self, operand: Operand, pointer: str, condition: str, base: str, other: str
    ) -> str: ...


class Threads(Protocol):
    """A language without loops over the parallel axes. `number`, an i32 from 0, identifies the
    invocation of a launch.
    """

    @property
    def number(self) -> str: ...
    @property
    def groups(self) -> "Groups": ...
    def exit_if(self, condition: str) -> list[str]:
        """Exit invocations that have nothing to compute."""


Combine = Callable[[Accumulator, str, str], list[str]]
"""Folds the second of two values into the first."""


class Groups(Protocol):
    """Invocations that share a point. `number` identifies their group, `local` the invocation
    within it. `staged`: the type of factors in workgroup memory, of products, and of sums within
    one block. Sums of blocks are accumulated in float32.
    """

    @property
    def number(self) -> str: ...
    @property
    def local(self) -> str: ...
    @property
    def barrier(self) -> str: ...
    @property
    def staged(self) -> str: ...
    @property
    def parts(self) -> str:
        """The beginning of the names of arrays in workgroup memory that contain accumulators."""

    @property
    def matrix(self) -> int:
        """The rows and columns of the subgroup matrices that are multiplied; 0: none are."""

    def zeros(self, name: str, type_: str) -> str:
        """Declare a variable: a zero vector."""

    def cast(self, vector: str, type_: str) -> str: ...
    def vector(self, parts: list[str]) -> str: ...
    def strided(self, name: str, start: str, extent: str, chunk: int, step: int) -> str: ...
    def gather(self, item: Accumulator, name: str, combine: Combine) -> list[str]:
        """Combine the accumulators called `name` of all invocations of a group, and return the
        result to each of them.
        """


def plus(text: str, offset: int) -> str:
    """The sum of an address and a constant."""
    if text == "0":
        return str(offset)
    return f"{text} + {offset}" if offset else text


ZEROS = "wk_zeros"
"""The zeros through which guarded loads may walk."""


def reads_shared_zeros(kernel: Kernel, expr: Expr) -> bool:
    """Whether a guarded load reads `ZEROS` where its guard is false."""
    guard = load_guard(expr)
    return (
        isinstance(kernel.schedule, LoopSchedule)
        and kernel.schedule.zeros
        and guard is not None
        and guard[1] is const(0, FLOAT)
        and kernel.nest.inputs[expr.value[0]].dtype == "float32"
    )


def fallback_name(operand: Operand, literal: str) -> str:
    """The name of the array that a guarded load reads where its guard is false."""
    return f"outside_{operand.dtype}_" + re.sub(r"\W", "_", literal)


def fallback_arrays(kernel: Kernel, dialect: "Dialect") -> dict[str, tuple[Operand, str]]:
    """Name -> (operand, stored element) of all arrays that guarded loads of a kernel may read
    instead.
    """
    result = {}
    for expr in kernel.nest.loads:
        guard = load_guard(expr)
        if guard is not None and not reads_shared_zeros(kernel, expr):
            operand, other = kernel.nest.inputs[expr.value[0]], guard[1]
            bits = (
                int(np.float16(other.value).view(np.uint16)) if operand.dtype == "float16" else None
            )
            stored = dialect.literal(other.value, other.type) if bits is None else str(bits)
            result[fallback_name(operand, dialect.literal(other.value, other.type))] = (
                operand,
                stored,
            )
    return result


class Sequential(Protocol):
    """What procedures need of a language: mutable variables, values, elements."""

    def variable(self, type_: str, name: str) -> str: ...
    def literal(self, value: float, type_: str) -> str: ...
    def scalar(self, expr: Expr, args: list[str]) -> str: ...
    def load(self, operand: Operand, pointer: str, at: str) -> str: ...
    def guarded(
        self, operand: Operand, pointer: str, at: str, condition: str, other: str
    ) -> str: ...
    def store(self, operand: Operand, pointer: str, at: str, value: str) -> str: ...


class Dialect(Sequential, Protocol):
    """A language. `composed`: operations printed as compositions of others. `heap`: whether
    operands are offsets in arrays of all elements.
    """

    @property
    def composed(self) -> frozenset[str]: ...
    @property
    def heap(self) -> bool: ...
    @property
    def simd(self) -> Simd | None: ...
    @property
    def pointers(self) -> Pointers | None: ...
    @property
    def threads(self) -> Threads | None: ...

    def lanes(self, nest: Nest, schedule: LoopSchedule) -> Simd | None:
        """The vectors of the loops of a nest with a vector axis."""

    def declare(self, type_: str, name: str, text: str) -> str: ...
    def loop(self, name: str, extent: str) -> str: ...
    def counter(self, name: str, first: str | None = None) -> str: ...
    def chunks(self, name: str, extent: str, chunk: int | str, rest: bool) -> str: ...
    def clamped(self, name: str, end: str, chunk: int, extent: str) -> str: ...
    def minimum(self, a: str, b: str) -> str: ...
    def start(self, item: Accumulator, name: str) -> list[str]: ...
    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]: ...
    def combine(self, item: Accumulator, name: str, value: str, position: str) -> list[str]: ...
