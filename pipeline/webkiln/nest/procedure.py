"""Procedures: an imperative IR (mutable variables, loops, branches) for computations that loop
nests cannot express, such as sorting.

Procedures are printed as C and JavaScript, and run on the CPU in one thread. They use the
expressions of nests, with these differences: a load has one index, the offset in elements; outputs
can be loaded, their positions follow those of the inputs; and expressions are evaluated where they
appear, without hoisting.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from webkiln.canonical import key
from webkiln.ir.dim import Size, is_symbolic
from webkiln.nest.expr import INT, Expr, apply, arg, cast, const, load, local, rebuild
from webkiln.nest.nest import COMPUTE, Operand, exprs_from_json, exprs_to_json


@dataclass(frozen=True, slots=True)
class Set:
    """Assigns a variable."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class StoreElement:
    output: int
    index: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class When:
    condition: Expr
    then: "tuple[Statement, ...]"
    otherwise: "tuple[Statement, ...]" = ()


@dataclass(frozen=True, slots=True)
class While:
    condition: Expr
    body: "tuple[Statement, ...]"


Statement = Set | StoreElement | When | While


@dataclass(frozen=True)
class Procedure:
    """`locals` holds the type of every variable; `result` is the returned i32, if any."""

    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    arguments: tuple[str, ...]
    locals: tuple[tuple[str, str], ...]
    body: tuple[Statement, ...]
    result: Expr | None = None

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.inputs, *self.outputs)

    @cached_property
    def name(self) -> str:
        return f"h_{key(to_json(self))[:16]}"

    def map(
        self, change: Callable[[Expr], Expr | None], store: Callable[[StoreElement], StoreElement]
    ) -> "Procedure":
        """Rewrite every expression bottom-up, then every store."""

        def block(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
            return tuple(map(statement, body))

        def statement(item: Statement) -> Statement:
            if isinstance(item, Set):
                return Set(item.name, rebuild(item.value, change))
            if isinstance(item, StoreElement):
                return store(
                    StoreElement(
                        item.output, rebuild(item.index, change), rebuild(item.value, change)
                    )
                )
            if isinstance(item, While):
                return While(rebuild(item.condition, change), block(item.body))
            return When(rebuild(item.condition, change), block(item.then), block(item.otherwise))

        return replace(
            self,
            body=block(self.body),
            result=None if self.result is None else rebuild(self.result, change),
        )


def roots(body: Sequence[Statement]) -> Iterator[Expr]:
    """The expressions of all statements, in order."""
    for item in body:
        if isinstance(item, Set):
            yield item.value
        elif isinstance(item, StoreElement):
            yield from (item.index, item.value)
        elif isinstance(item, While):
            yield item.condition
            yield from roots(item.body)
        else:
            yield item.condition
            yield from roots(item.then)
            yield from roots(item.otherwise)


class ProcedureWriter:
    """Builds one procedure, statement by statement. Sizes become arguments."""

    def __init__(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """`inputs` and `outputs` are the dtypes of the operands."""
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.args: dict[str, Size] = {}
        self._locals: dict[str, str] = {}
        self._blocks: list[list[Statement]] = [[]]

    def number(self, value: Size) -> Expr:
        return (
            self.argument(value) if is_symbolic(value) or value not in (0, 1) else const(value, INT)
        )

    def argument(self, value: Size) -> Expr:
        name = f"p{len(self.args)}"
        self.args[name] = value
        return arg(name)

    def variable(self, value: Expr) -> Expr:
        """Declare a variable with an initial value."""
        name = f"t{len(self._locals)}"
        self._locals[name] = value.type
        self._blocks[-1].append(Set(name, value))
        return local(name, value.type)

    def set(self, variable: Expr, value: Expr) -> None:
        self._blocks[-1].append(Set(variable.value, value))

    def load(self, operand: int, index: Expr, guard: Expr | None = None) -> Expr:
        """Load an element of an operand, or 0 if `guard` is false. Positions of outputs follow
        those of inputs.
        """
        return load(operand, COMPUTE[(*self.inputs, *self.outputs)[operand]], (index,), guard)

    def store(self, output: int, index: Expr, value: Expr) -> None:
        self._blocks[-1].append(
            StoreElement(output, index, cast(value, COMPUTE[self.outputs[output]]))
        )

    @contextmanager
    def _block(self) -> Iterator[list[Statement]]:
        block: list[Statement] = []
        self._blocks.append(block)
        yield block
        self._blocks.pop()

    @contextmanager
    def repeat(self, count: Expr, first: Expr | None = None) -> Iterator[Expr]:
        """Append a loop from `first` (default: 0) to `count`, exclusive. Yields its variable."""
        index = self.variable(const(0, INT) if first is None else first)
        with self.while_(apply("lt", index, count)):
            yield index
            self.set(index, index + 1)

    @contextmanager
    def while_(self, condition: Expr) -> Iterator[None]:
        with self._block() as body:
            yield
        self._blocks[-1].append(While(condition, tuple(body)))

    @contextmanager
    def when(self, condition: Expr) -> Iterator[None]:
        with self._block() as body:
            yield
        self._blocks[-1].append(When(condition, tuple(body)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Append the else block of the preceding `when`."""
        with self._block() as body:
            yield
        last = self._blocks[-1].pop()
        assert isinstance(last, When)
        self._blocks[-1].append(When(last.condition, last.then, tuple(body)))

    def done(self, result: Expr | None = None) -> Procedure:
        operands = [Operand(dtype, 1) for dtype in (*self.inputs, *self.outputs)]
        count = len(self.inputs)
        return Procedure(
            tuple(operands[:count]),
            tuple(operands[count:]),
            tuple(self.args),
            tuple(self._locals.items()),
            tuple(self._blocks[0]),
            result,
        )


def to_json(procedure: Procedure) -> dict[str, Any]:
    results = [] if procedure.result is None else [procedure.result]
    table, position = exprs_to_json([*roots(procedure.body), *results])

    def block(body: Sequence[Statement]) -> list[Any]:
        return [statement(item) for item in body]

    def statement(item: Statement) -> list[Any]:
        if isinstance(item, Set):
            return ["set", item.name, position[item.value]]
        if isinstance(item, StoreElement):
            return ["store", item.output, position[item.index], position[item.value]]
        if isinstance(item, While):
            return ["while", position[item.condition], block(item.body)]
        return ["when", position[item.condition], block(item.then), block(item.otherwise)]

    return {
        "exprs": table,
        "inputs": [operand.dtype for operand in procedure.inputs],
        "outputs": [operand.dtype for operand in procedure.outputs],
        "arguments": list(procedure.arguments),
        "locals": [list(item) for item in procedure.locals],
        "body": block(procedure.body),
        "result": [position[item] for item in results],
    }


def from_json(data: dict[str, Any]) -> Procedure:
    exprs = exprs_from_json(data["exprs"])

    def block(body: Sequence[Any]) -> tuple[Statement, ...]:
        return tuple(statement(*item) for item in body)

    def statement(kind: str, *fields: Any) -> Statement:
        if kind == "set":
            return Set(fields[0], exprs[fields[1]])
        if kind == "store":
            return StoreElement(fields[0], exprs[fields[1]], exprs[fields[2]])
        if kind == "while":
            return While(exprs[fields[0]], block(fields[1]))
        return When(exprs[fields[0]], block(fields[1]), block(fields[2]))

    return Procedure(
        inputs=tuple(Operand(dtype, 1) for dtype in data["inputs"]),
        outputs=tuple(Operand(dtype, 1) for dtype in data["outputs"]),
        arguments=tuple(data["arguments"]),
        locals=tuple((name, type_) for name, type_ in data["locals"]),
        body=block(data["body"]),
        result=exprs[data["result"][0]] if data["result"] else None,
    )
