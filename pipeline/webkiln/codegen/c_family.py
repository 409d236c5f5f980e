"""The base dialect of languages with braces (C, JavaScript, WGSL, GLSL): loops, mutable variables,
and updates of accumulators.
"""

from abc import ABC, abstractmethod

from webkiln.codegen.dialect import JoinedStore, Simd
from webkiln.nest.expr import BOOL, INT, REAL, Expr
from webkiln.nest.nest import Accumulator, Nest, Operand
from webkiln.nest.schedule import LoopSchedule


class Braces(ABC):
    """Loops, variables and accumulators in the syntax that these languages share."""

    heap = False
    simd: Simd | None = None

    def lanes(self, nest: Nest, schedule: LoopSchedule) -> Simd | None:
        return self.simd

    @abstractmethod
    def keyword(self, type_: str) -> str:
        """The keyword or type that starts the declaration of a mutable variable."""

    @abstractmethod
    def literal(self, value: float, type_: str) -> str: ...

    @abstractmethod
    def operation(self, op: str, type_: str) -> str:
        """The template of an operation on operands of a type."""

    def variable(self, type_: str, name: str, value: float = 0) -> str:
        return f"{self.keyword(type_)} {name} = {self.literal(value, type_)};"

    def loop(self, name: str, extent: str) -> str:
        return f"for ({self.keyword(INT)} {name} = 0; {name} < {extent}; {name}++) {{"

    def counter(self, name: str, first: str | None = None) -> str:
        return (
            self.variable(INT, name) if first is None else f"{self.keyword(INT)} {name} = {first};"
        )

    def chunks(self, name: str, extent: str, chunk: int | str, rest: bool) -> str:
        """A loop that continues from the counter's current value, in steps of `chunk`, while a full
        chunk fits. With `rest`, it also covers a last partial chunk.
        """
        last = f" + {chunk - 1}" if isinstance(chunk, int) and chunk > 1 and not rest else ""
        return f"for (; {name}{last} < {extent}; {name} += {chunk}) {{"

    def clamped(self, name: str, end: str, chunk: int, extent: str) -> str:
        """A loop over chunks that also covers a last partial chunk, with its copies clamped to the
        end. It does not run if the axis is shorter than a chunk, and leaves a single last element
        to the loop after it.
        """
        return f"for (; {chunk - 1} < {extent} && {name} + 1 < {end}; {name} += {chunk}) {{"

    def minimum(self, a: str, b: str) -> str:
        return self.operation("min", INT).format(a, b)

    def start(self, item: Accumulator, name: str) -> list[str]:
        first = [self.variable(item.body.type, name, item.identity.value)]
        return (
            [*first, self.variable(INT, f"{name}_at"), self.variable(BOOL, f"{name}_any")]
            if item.combiner.startswith("arg")
            else first
        )

    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]:
        return [f"{name} += {a} * {b};"]

    def combine(self, item: Accumulator, name: str, value: str, position: str) -> list[str]:
        type_ = item.body.type
        if item.combiner in ("sum", "prod"):
            return [f"{name} {'+' if item.combiner == 'sum' else '*'}= {value};"]
        if item.combiner in ("max", "min"):
            return [f"{name} = {self.operation(item.combiner, type_).format(name, value)};"]
        better = f"{value} {'>' if item.combiner == 'argmax' else '<'} {name}"
        if type_ in REAL:
            unordered, accumulated = (
                self.operation("isnan", type_).format(text) for text in (value, name)
            )
            better = f"({better} || {unordered}) && !({accumulated})"
        update = f"{name} = {value}; {name}_at = {position}; {name}_any = {self.literal(1, BOOL)};"
        return [f"if (!{name}_any || ({better})) {{ {update} }}"]


class FourLanes:
    """The most frequent spellings of vectors of four lanes."""

    width = 4
    components = False

    def has(self, expr: Expr) -> bool:
        return True

    def finish(self, item: Accumulator, name: str) -> list[str]:
        return []

    def joined_store(self, operand: Operand) -> JoinedStore | None:
        return None

    def multiply_add(self, name: str, a: str, b: str, type_: str) -> list[str]:
        return [f"{name} += {a} * {b};"]
