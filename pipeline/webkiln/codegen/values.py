"""Values: scalar and vector code for an expression at the current loop level.

Every subexpression is computed at the loop level of its deepest variable, once per level.
Expressions are total, so computing them early cannot fail.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Protocol

from webkiln.codegen.context import SCALAR, Context, accumulator
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.scopes import Scopes
from webkiln.nest.expr import Expr, walk
from webkiln.nest.nest import Loop
from webkiln.plan.kernel import Kernel

AFTER_REDUCTION = "result"
"""The level of values that are defined after the reduction."""
LEAVES = frozenset({"const", "arg", "axis", "acc", "accindex"})
SHIFTS = frozenset({"shl", "shr"})


class Memory(Protocol):
    """How operands are read and written."""

    def load(self, values: "Values", expr: Expr, here: Context, t: int, v: int) -> str:
        """The text that reads one element."""

    def vector_load(self, values: "Values", expr: Expr, here: Context, t: int, v: int) -> str:
        """The text that reads a vector, or the name of a vector that has been read."""

    def stores(
        self,
        values: "Values",
        position: int,
        store: tuple[Expr, tuple[Expr, ...]],
        here: Context,
        copy: tuple[int, int],
    ) -> Iterator[tuple[str, int, int]]:
        """The statements that write a copy of a value and index to output `position`, each with
        the offsets of the element that it writes first.
        """


class Values:
    """The expressions of one kernel. A value has copies, for the neighbour `t` on the tile axis and
    `v` on the vector axis.
    """

    def __init__(self, kernel: Kernel, dialect: Dialect, memory: Memory) -> None:
        self.nest, self.dialect, self.memory = kernel.nest, dialect, memory
        self.scopes = Scopes(dialect)
        tile = kernel.schedule.tile
        self.accumulator_axes = frozenset(
            {AFTER_REDUCTION, *(loop.axis for loop in self.nest.axes)}
            | {name for name in (tile.vector, tile.axis) if name is not None}
        )
        self.axes: dict[Expr, frozenset[str]] = {}

    def depends(self, expr: Expr) -> frozenset[str]:
        """The axes on which an expression depends. Accumulators are only defined after the
        reduction.
        """
        if expr not in self.axes:
            for item in walk([expr]):
                if item.op == "axis":
                    self.axes[item] = frozenset({item.value})
                elif item.op in ("acc", "accindex"):
                    self.axes[item] = self.accumulator_axes
                else:
                    self.axes[item] = frozenset().union(*(self.axes[arg] for arg in item.args))
        return self.axes[expr]

    def level(self, expr: Expr) -> int:
        """The innermost loop level on which an expression depends. Values that only the epilogue
        uses are computed after the reduction, where they occupy no registers during it.
        """
        levels = self.scopes.levels
        level = max((levels[name] for name in self.depends(expr) if name in levels), default=0)
        tail = levels.get(AFTER_REDUCTION)
        return tail if tail is not None and self.nest.accumulators and level == tail - 1 else level

    def key(self, expr: Expr, here: Context, t: int, v: int, form: str) -> Hashable:
        """The key of a value: copies that do not depend on an axis share it."""
        names = self.depends(expr)
        return (
            expr,
            t if here.tile in names else 0,
            v if here.vector in names else 0,
            form,
            here.iteration if here.unrolled in names else 0,
        )

    def extent(self, loop: Loop) -> str:
        return self.scalar(loop.extent, SCALAR, 0, 0)

    def value(self, expr: Expr, here: Context, t: int, v: int) -> str:
        """`expr` for a copy: a vector, or a scalar without `simd`."""
        return self.vector(expr, here, t, v) if here.simd else self.scalar(expr, here, t, v)

    def scalar(self, expr: Expr, here: Context, t: int, v: int) -> str:
        """`expr` for one element."""
        if expr.op == "const":
            return self.dialect.literal(expr.value, expr.type)
        if expr.op == "arg":
            return str(expr.value)
        if here.simd is not None and here.simd.components:
            vector = self._known_vector(expr, here, t)
            if vector is not None:
                return here.simd.lane(vector, v, expr.type)
        if expr.op == "axis":
            return here.index(expr.value, t, v)
        if expr.op in ("acc", "accindex"):
            return accumulator(expr.value, t, v) + ("_at" if expr.op == "accindex" else "")
        key = self.key(expr, here, t, v, "scalar")
        name = self.scopes.lookup(key)
        if name is not None:
            return name
        if expr.op == "load":
            text = self.memory.load(self, expr, here, t, v)
        else:
            self._operands_first(expr, here, t, v, "scalar", self.scalar)
            args = [self.scalar(item, here, t, v) for item in expr.args]
            text = self.dialect.scalar(expr, args)
        return self.scopes.bind(key, self.level(expr), expr.type, text)

    def vector(self, expr: Expr, here: Context, t: int, v: int) -> str:
        """`expr` for `width` neighbours on the vector axis."""
        assert here.simd is not None
        if expr.op == "acc":
            return accumulator(expr.value, t, v)
        key = self.key(expr, here, t, v, "vector")
        name = self.scopes.lookup(key)
        if name is not None:
            return name
        if here.vector not in self.depends(expr):
            text = here.simd.splat(self.scalar(expr, here, t, v), expr.type)
        elif expr.op == "load":
            text = self.memory.vector_load(self, expr, here, t, v)
            if text.isidentifier():
                return text
        else:
            self._operands_first(expr, here, t, v, "vector", self.vector)
            text = self._vector_operation(expr, here, t, v)
        return self.scopes.bind(key, self.level(expr), here.simd.vector(expr.type), text)

    def _vector_operation(self, expr: Expr, here: Context, t: int, v: int) -> str:
        simd = here.simd
        assert simd is not None
        args = [
            str(item.value)
            if expr.op in SHIFTS and item.op == "const"
            else self.vector(item, here, t, v)
            for item in expr.args
        ]
        if simd.has(expr):
            return simd.operation(expr, args)
        lanes = [
            self.dialect.scalar(expr, [simd.lane(item, lane, expr.type) for item in args])
            if args
            else self.scalar(expr, here, t, lane)
            for lane in range(simd.width)
        ]
        return f"{simd.vector(expr.type)}({', '.join(lanes)})"

    def _known_vector(self, expr: Expr, here: Context, t: int) -> str | None:
        """The vector of which a scalar is a component, if it has been computed."""
        if expr.op == "acc":
            return accumulator(expr.value, t, 0)
        if here.vector not in self.depends(expr):
            return None
        return self.scopes.lookup(self.key(expr, here, t, 0, "vector"))

    def _operands_first(
        self,
        expr: Expr,
        here: Context,
        t: int,
        v: int,
        form: str,
        value: Callable[[Expr, Context, int, int], str],
    ) -> None:
        """Compute the operands of an operation that have no name yet, deepest first. Recursion
        could exceed Python's stack.
        """
        stack, visited = [expr], {expr}
        while stack:
            waiting = [
                item
                for item in self._operands(stack[-1], here, form)
                if item not in visited and not self._is_known(item, here, t, v, form)
            ]
            visited.update(waiting)
            if waiting:
                stack += reversed(waiting)
            elif (item := stack.pop()) is not expr:
                value(item, here, t, v)

    def _is_known(self, expr: Expr, here: Context, t: int, v: int, form: str) -> bool:
        is_component = form == "scalar" and here.simd is not None and here.simd.components
        if is_component and self._known_vector(expr, here, t) is not None:
            return True
        return self.scopes.lookup(self.key(expr, here, t, v, form)) is not None

    def _operands(self, expr: Expr, here: Context, form: str) -> list[Expr]:
        """The operands that are named before an operation in that form."""
        if expr.op == "load" or (form == "vector" and here.vector not in self.depends(expr)):
            return []
        if form == "vector":
            return [
                item
                for item in expr.args
                if item.op != "acc" and not (expr.op in SHIFTS and item.op == "const")
            ]
        return [item for item in expr.args if item.op not in LEAVES]
