"""Values: scalar and vector code for an expression at the current loop level.

Every subexpression is computed at the loop level of its deepest variable, once per level.
Expressions are total, so computing them early cannot fail.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Protocol

from webkiln.codegen.context import SCALAR, Context, Copy, accumulator
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.scopes import Scopes
from webkiln.nest.expr import Expr, walk
from webkiln.nest.nest import Loop
from webkiln.plan.kernel import Kernel

Index = tuple[Expr, ...]
"""The index of an element in each dimension of an operand."""
AFTER_REDUCTION = "result"
"""The level of values that are defined after the reduction."""
LEAVES = frozenset({"const", "arg", "axis", "acc", "accindex"})
SHIFTS = frozenset({"shl", "shr"})


class Memory(Protocol):
    """How operands are read and written."""

    def load(self, values: "Values", expr: Expr, at: Copy) -> str:
        """The text that reads one element."""

    def vector_load(self, values: "Values", expr: Expr, at: Copy) -> str:
        """The text that reads a vector, or the name of a vector that has been read."""

    def stores(
        self, values: "Values", position: int, store: tuple[Expr, Index], at: Copy
    ) -> Iterator[tuple[str, Copy]]:
        """The statements that write a copy of a value to an index of output `position`, each with
        the copy of the first element that it writes.
        """

    def joined_stores(
        self, values: "Values", position: int, store: tuple[Expr, Index], here: Context
    ) -> list[str]:
        """The statements that write all copies, several vectors at once; none if they cannot."""


class Values:
    """The expressions of one kernel. A value has a copy for each neighbour on the tile axis and on
    the vector axis.
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
        self._analyse(self.nest.nodes)

    def depends(self, expr: Expr) -> frozenset[str]:
        """The axes on which an expression depends. Accumulators are only defined after the
        reduction.
        """
        if expr not in self.axes:
            self._analyse(walk([expr]))
        return self.axes[expr]

    def _analyse(self, nodes: Iterable[Expr]) -> None:
        for item in nodes:
            if item.op == "axis":
                self.axes[item] = frozenset({item.value})
            elif item.op in ("acc", "accindex"):
                self.axes[item] = self.accumulator_axes
            else:
                self.axes[item] = frozenset().union(*(self.axes[arg] for arg in item.args))

    def level(self, expr: Expr) -> int:
        """The innermost loop level on which an expression depends. Values that only the epilogue
        uses are computed after the reduction, where they occupy no registers during it.
        """
        levels = self.scopes.levels
        level = max((levels[name] for name in self.depends(expr) if name in levels), default=0)
        tail = levels.get(AFTER_REDUCTION)
        return tail if tail is not None and self.nest.accumulators and level == tail - 1 else level

    def key(self, expr: Expr, at: Copy, form: str) -> Hashable:
        """The key of a value: copies that do not depend on an axis share it."""
        names, here = self.depends(expr), at.here
        return (
            expr,
            at.t if here.tile in names else 0,
            at.v if here.vector in names else 0,
            form,
            here.iteration if here.unrolled in names else 0,
        )

    def extent(self, loop: Loop) -> str:
        return self.scalar(loop.extent, SCALAR)

    def value(self, expr: Expr, at: Copy) -> str:
        """`expr` for a copy: a vector, or a scalar without `simd`."""
        return self.vector(expr, at) if at.here.simd else self.scalar(expr, at)

    def scalar(self, expr: Expr, at: Copy) -> str:
        """`expr` for one element."""
        if expr.op == "const":
            return self.dialect.literal(expr.value, expr.type)
        if expr.op == "arg":
            return str(expr.value)
        if at.here.simd is not None and at.here.simd.components:
            vector = self._known_vector(expr, at)
            if vector is not None:
                return at.here.simd.lane(vector, at.v, expr.type)
        if expr.op == "axis":
            return at.index_on(expr.value)
        if expr.op in ("acc", "accindex"):
            return accumulator(expr.value, at) + ("_at" if expr.op == "accindex" else "")
        key = self.key(expr, at, "scalar")
        name = self.scopes.lookup(key)
        if name is not None:
            return name
        if expr.op == "load":
            text = self.memory.load(self, expr, at)
        else:
            self._operands_first(expr, at, "scalar", self.scalar)
            args = [self.scalar(item, at) for item in expr.args]
            text = self.dialect.scalar(expr, args)
        return self.scopes.bind(key, self.level(expr), expr.type, text)

    def vector(self, expr: Expr, at: Copy) -> str:
        """`expr` for `width` neighbours on the vector axis."""
        assert at.here.simd is not None
        if expr.op == "acc":
            return accumulator(expr.value, at)
        key = self.key(expr, at, "vector")
        name = self.scopes.lookup(key)
        if name is not None:
            return name
        if at.here.vector not in self.depends(expr):
            text = at.here.simd.splat(self.scalar(expr, at), expr.type)
        elif expr.op == "load":
            text = self.memory.vector_load(self, expr, at)
            if text.isidentifier():
                return text
        else:
            self._operands_first(expr, at, "vector", self.vector)
            text = self._vector_operation(expr, at)
        return self.scopes.bind(key, self.level(expr), at.here.simd.vector(expr.type), text)

    def _vector_operation(self, expr: Expr, at: Copy) -> str:
        simd = at.here.simd
        assert simd is not None
        args = [
            str(item.value) if item is _places(expr) else self.vector(item, at)
            for item in expr.args
        ]
        if simd.has(expr):
            return simd.operation(expr, args)
        lanes = [
            self.dialect.scalar(expr, [simd.lane(item, lane, expr.type) for item in args])
            if args
            else self.scalar(expr, at.lane(lane))
            for lane in range(simd.width)
        ]
        return f"{simd.vector(expr.type)}({', '.join(lanes)})"

    def _known_vector(self, expr: Expr, at: Copy) -> str | None:
        """The vector of which a scalar is a component, if it has been computed."""
        if expr.op == "acc":
            return accumulator(expr.value, at.lane(0))
        if at.here.vector not in self.depends(expr):
            return None
        return self.scopes.lookup(self.key(expr, at.lane(0), "vector"))

    def _operands_first(
        self, expr: Expr, at: Copy, form: str, value: Callable[[Expr, Copy], str]
    ) -> None:
        """Compute the operands of an operation that have no name yet, deepest first. Recursion
        could exceed Python's stack.
        """
        stack, visited = [expr], {expr}
        while stack:
            waiting = [
                item
                for item in self._operands(stack[-1], at.here, form)
                if item not in visited and not self._is_known(item, at, form)
            ]
            visited.update(waiting)
            if waiting:
                stack += reversed(waiting)
            elif (item := stack.pop()) is not expr:
                value(item, at)

    def _is_known(self, expr: Expr, at: Copy, form: str) -> bool:
        is_component = form == "scalar" and at.here.simd is not None and at.here.simd.components
        if is_component and self._known_vector(expr, at) is not None:
            return True
        return self.scopes.lookup(self.key(expr, at, form)) is not None

    def _operands(self, expr: Expr, here: Context, form: str) -> list[Expr]:
        """The operands that are named before an operation in that form."""
        if expr.op == "load" or (form == "vector" and here.vector not in self.depends(expr)):
            return []
        if form == "vector":
            return [item for item in expr.args if item.op != "acc" and item is not _places(expr)]
        return [item for item in expr.args if item.op not in LEAVES]


def _places(expr: Expr) -> Expr | None:
    """The constant number of places of a shift, which is no vector."""
    return expr.args[1] if expr.op in SHIFTS and expr.args[1].op == "const" else None
