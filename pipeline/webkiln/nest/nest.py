"""Loop nests: the computation of an operator, independent of tensor names, concrete sizes, memory
layouts and backends.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from webkiln.canonical import key
from webkiln.errors import InternalError
from webkiln.ir.serial import decode, encode
from webkiln.nest.expr import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NUMPY,
    REAL,
    UINT,
    ULONG,
    Expr,
    const,
    make,
    rebuild,
    walk,
)

COMBINERS = ("sum", "prod", "max", "min", "argmax", "argmin")
COMPUTE = {
    "float32": FLOAT,
    "float16": FLOAT,
    "int32": INT,
    "int8": INT,
    "int16": INT,
    "uint8": UINT,
    "uint16": UINT,
    "uint32": UINT,
    "bool": BOOL,
    "float64": DOUBLE,
    "int64": LONG,
    "uint64": ULONG,
}
"""Storage dtype of an operand -> the type of its elements in expressions."""


@dataclass(frozen=True, slots=True)
class Loop:
    axis: str
    extent: Expr


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor operand of a nest: storage dtype and number of logical dimensions."""

    dtype: str
    rank: int

    @property
    def type(self) -> str:
        return COMPUTE[self.dtype]


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A reduction of `body` over the reduction axes. argmax and argmin return the first extremum;
    NaN counts as the extremum.
    """

    combiner: str
    body: Expr

    @property
    def identity(self) -> Expr:
        """The value of an empty reduction."""
        if self.combiner in ("sum", "prod"):
            return const(0 if self.combiner == "sum" else 1, self.body.type)
        lowest = self.combiner in ("max", "argmax")
        if self.body.type in REAL:
            return const(-inf if lowest else inf, self.body.type)
        limits = np.iinfo(NUMPY[self.body.type])
        return const(int(limits.min if lowest else limits.max), self.body.type)


@dataclass(frozen=True, slots=True)
class Output:
    """The stores to one output: `value` at `index`, then the values of `also` at their indices.

    `value` is the epilogue: an expression over accumulators, loads and parallel axes. Later stores
    may overwrite earlier ones.
    """

    operand: Operand
    value: Expr
    index: tuple[Expr, ...]
    also: tuple[tuple[Expr, tuple[Expr, ...]], ...] = ()

    @property
    def stores(self) -> tuple[tuple[Expr, tuple[Expr, ...]], ...]:
        return ((self.value, self.index), *self.also)


@dataclass(frozen=True)
class Nest:
    """Parallel loops over `axes`. Their body consists of the reduction loops `reduce`, which update
    the accumulators, and the stores of the outputs.
    """

    inputs: tuple[Operand, ...]
    outputs: tuple[Output, ...]
    axes: tuple[Loop, ...]
    reduce: tuple[Loop, ...] = ()
    accumulators: tuple[Accumulator, ...] = ()

    @cached_property
    def roots(self) -> tuple[Expr, ...]:
        bodies = tuple(item.body for item in self.accumulators)
        stores = [store for out in self.outputs for store in out.stores]
        return (
            *bodies,
            *(value for value, _ in stores),
            *(item for _, index in stores for item in index),
        )

    @cached_property
    def nodes(self) -> tuple[Expr, ...]:
        """The distinct expressions, operands before users."""
        return tuple(walk(self.roots))

    @cached_property
    def loads(self) -> tuple[Expr, ...]:
        return tuple(expr for expr in self.nodes if expr.op == "load")

    @property
    def is_contraction(self) -> bool:
        """Whether the only accumulator is a sum of products."""
        return (
            len(self.accumulators) == 1
            and self.accumulators[0].combiner == "sum"
            and self.accumulators[0].body.op == "mul"
        )

    @cached_property
    def key(self) -> str:
        return key(to_json(self))

    def map(self, change: Callable[[Expr], Expr | None]) -> "Nest":
        """Rewrite every expression bottom-up."""
        return replace(
            self,
            axes=tuple(Loop(loop.axis, rebuild(loop.extent, change)) for loop in self.axes),
            reduce=tuple(Loop(loop.axis, rebuild(loop.extent, change)) for loop in self.reduce),
            accumulators=tuple(
                Accumulator(a.combiner, rebuild(a.body, change)) for a in self.accumulators
            ),
            outputs=tuple(
                make_output(
                    out.operand,
                    [
                        (rebuild(value, change), tuple(rebuild(i, change) for i in index))
                        for value, index in out.stores
                    ],
                )
                for out in self.outputs
            ),
        )


def make_output(operand: Operand, stores: Sequence[tuple[Expr, tuple[Expr, ...]]]) -> Output:
    """An output with one or more stores."""
    (value, index), *also = stores
    return Output(operand, value, index, tuple(also))


def check(nest: Nest) -> None:
    """Raise InternalError if a nest is malformed."""
    names = [loop.axis for loop in (*nest.axes, *nest.reduce)]
    if len(set(names)) != len(names):
        raise InternalError(f"nest: duplicate axis in {names}")
    for accumulator in nest.accumulators:
        if accumulator.combiner not in COMBINERS:
            raise InternalError(
                f"nest: combiner {accumulator.combiner!r} is not one of {', '.join(COMBINERS)}"
            )
    parallel = {loop.axis for loop in nest.axes}
    for out in nest.outputs:
        for value, index in out.stores:
            if value.type != out.operand.type or len(index) != out.operand.rank:
                raise InternalError(
                    f"nest: a store to {out.operand} has type {value.type} and {len(index)} indices"
                )
            for expr in walk([value, *index]):
                if expr.op == "axis" and expr.value not in parallel:
                    raise InternalError(f"nest: the epilogue reads the reduction axis {expr.value}")
    for expr in nest.loads:
        position, guarded = expr.value
        rank = len(expr.args) - (2 if guarded else 0)
        if nest.inputs[position].rank != rank or nest.inputs[position].type != expr.type:
            raise InternalError(
                f"nest: a load of input {position}, {nest.inputs[position]}, has type {expr.type}"
                f" and {rank} indices"
            )


def load_index(expr: Expr) -> tuple[Expr, ...]:
    return expr.args[:-2] if expr.value[1] else expr.args


def load_guard(expr: Expr) -> tuple[Expr, Expr] | None:
    return (expr.args[-2], expr.args[-1]) if expr.value[1] else None


def conjuncts(guard: Expr) -> list[Expr]:
    """The operands of a conjunction, flattened."""
    return (
        [each for item in guard.args for each in conjuncts(item)] if guard.op == "and" else [guard]
    )


def exprs_to_json(roots: Iterable[Expr]) -> tuple[list[Any], dict[Expr, int]]:
    """Serialise expressions as one table, operands before users, with the position of each."""
    order = walk(roots)
    position = {expr: index for index, expr in enumerate(order)}
    return [[e.op, e.type, [position[a] for a in e.args], encode(e.value)] for e in order], position


def exprs_from_json(data: Iterable[Any]) -> list[Expr]:
    exprs: list[Expr] = []
    for op, type_, args, value in data:
        exprs.append(make(op, type_, tuple(exprs[a] for a in args), decode(value)))
    return exprs


def to_json(nest: Nest) -> dict[str, Any]:
    extents = tuple(loop.extent for loop in (*nest.axes, *nest.reduce))
    table, position = exprs_to_json((*extents, *nest.roots))
    return {
        "exprs": table,
        "inputs": [[o.dtype, o.rank] for o in nest.inputs],
        "axes": [[loop.axis, position[loop.extent]] for loop in nest.axes],
        "reduce": [[loop.axis, position[loop.extent]] for loop in nest.reduce],
        "accumulators": [[a.combiner, position[a.body]] for a in nest.accumulators],
        "outputs": [
            [
                o.operand.dtype,
                *([position[value], [position[i] for i in index]] for value, index in o.stores),
            ]
            for o in nest.outputs
        ],
    }


def from_json(data: dict[str, Any]) -> Nest:
    exprs = exprs_from_json(data["exprs"])

    def loops(items: Iterable[tuple[str, int]]) -> tuple[Loop, ...]:
        return tuple(Loop(axis, exprs[extent]) for axis, extent in items)

    return Nest(
        inputs=tuple(Operand(dtype, rank) for dtype, rank in data["inputs"]),
        axes=loops(data["axes"]),
        reduce=loops(data["reduce"]),
        accumulators=tuple(
            Accumulator(combiner, exprs[body]) for combiner, body in data["accumulators"]
        ),
        outputs=tuple(
            make_output(
                Operand(dtype, len(stores[0][1])),
                [(exprs[value], tuple(exprs[i] for i in index)) for value, index in stores],
            )
            for dtype, *stores in data["outputs"]
        ),
    )
