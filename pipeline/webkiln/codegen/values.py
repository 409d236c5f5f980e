"""Values and addresses: scalar and vector code for an expression at the current loop level.

Every subexpression is computed at the loop level of its deepest variable, once per level.
Expressions are total, so computing them early cannot fail.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from webkiln.codegen.dialect import ZEROS, Dialect, fallback_name, plus, reads_shared_zeros
from webkiln.codegen.scopes import Scopes
from webkiln.nest.affine import step
from webkiln.nest.expr import INT, Expr, select, walk
from webkiln.nest.nest import load_guard, load_index
from webkiln.plan.kernel import Kernel

AFTER_REDUCTION = "result"
"""The level of values that are defined after the reduction."""
LEAVES = frozenset({"const", "arg", "axis", "acc", "accindex"})
SHIFTS = frozenset({"shl", "shr"})


@dataclass(frozen=True, slots=True)
class Term:
    """A summand of an address, `factor` times `stride` elements, defined at a loop level."""

    level: int
    factor: str
    stride: str | None = None

    @property
    def text(self) -> str:
        return self.factor if self.stride is None else f"{self.factor} * {self.stride}"


class Values(Scopes):
    """The expressions of one kernel. A value has copies, for the neighbour `t` on the tile axis and
    `v` on the vector axis.
    """

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        self.kernel, self.nest = kernel, kernel.nest
        self.vector, self.tile = kernel.schedule.tile.vector, kernel.schedule.tile.axis
        produced = frozenset(
            name for name in (self.vector, self.tile, AFTER_REDUCTION) if name is not None
        )
        self.accumulator_axes = produced | {loop.axis for loop in self.nest.axes}
        super().__init__(dialect, {})
        self.analyse([loop.extent for loop in (*self.nest.axes, *self.nest.reduce)])
        self.analyse(self.nest.roots)
        self.simd = dialect.simd if self.vector else None
        self.width = self.simd.width if self.simd else 1
        self.copies = (1, 1)
        self.partial = False
        self.clamped: tuple[str, ...] = ()
        self.blocked: tuple[str, str] | tuple[()] = ()

    def analyse(self, roots: Iterable[Expr]) -> None:
        """Record the axes that expressions depend on. Accumulators are only defined after the
        reduction.
        """
        for expr in walk(roots):
            if expr.op == "axis":
                self.depends[expr] = frozenset({expr.value})
            elif expr.op in ("acc", "accindex"):
                self.depends[expr] = self.accumulator_axes
            else:
                self.depends[expr] = frozenset().union(*(self.depends[item] for item in expr.args))

    def copy_offsets(self) -> list[tuple[int, int]]:
        """(tile offset, vector offset) of every copy."""
        vectors, tiles = self.copies
        return [(t, v * self.width) for t in range(tiles) for v in range(vectors)]

    def key(self, expr: Expr, t: int, v: int, form: str) -> tuple[object, ...]:
        """The cache key of a value: copies that do not depend on an axis share it."""
        names = self.depends[expr]
        return (expr, t if self.tile in names else 0, v if self.vector in names else 0, form)

    def operands_first(
        self, expr: Expr, t: int, v: int, form: str, value: Callable[[Expr, int, int], str]
    ) -> None:
        """Compute the operands of an operation that have no name yet, deepest first. Recursion
        could exceed Python's stack.
        """
        stack, visited = [expr], {expr}
        while stack:
            waiting = [
                item
                for item in self.operands(stack[-1], form)
                if item not in visited and not self.is_known(item, t, v, form)
            ]
            visited.update(waiting)
            if waiting:
                stack += reversed(waiting)
            elif (item := stack.pop()) is not expr:
                value(item, t, v)

    def is_known(self, expr: Expr, t: int, v: int, form: str) -> bool:
        return self.lookup(self.key(expr, t, v, form)) is not None

    def operands(self, expr: Expr, form: str) -> list[Expr]:
        """The operands that are named before an operation in that form."""
        if expr.op == "load" or (form == "vector" and self.vector not in self.depends[expr]):
            return []
        if form == "vector":
            return [
                item
                for item in expr.args
                if item.op != "acc" and not (expr.op in SHIFTS and item.op == "const")
            ]
        return [item for item in expr.args if item.op not in LEAVES]

    def scalar(self, expr: Expr, t: int, v: int) -> str:
        """`expr` for one element: tile offset `t`, vector-axis offset `v`."""
        if expr.op == "const":
            return self.dialect.literal(expr.value, expr.type)
        if expr.op == "arg":
            return str(expr.value)
        if expr.op == "axis":
            if self.clamped and expr.value == self.tile:
                return self.clamped[t]
            offset = t if expr.value == self.tile else v if expr.value == self.vector else 0
            return f"({expr.value} + {offset})" if offset else str(expr.value)
        if expr.op in ("acc", "accindex"):
            return accumulator(expr.value, t, v) + ("_at" if expr.op == "accindex" else "")
        key = self.key(expr, t, v, "scalar")
        name = self.lookup(key)
        if name is not None:
            return name
        if expr.op == "load":
            return self.bind(expr, key, expr.type, self.load(expr, t, v))
        self.operands_first(expr, t, v, "scalar", self.scalar)
        args = [self.scalar(item, t, v) for item in expr.args]
        return self.bind(expr, key, expr.type, self.dialect.scalar(expr, args))

    def vector_value(self, expr: Expr, t: int, v: int) -> str:
        """`expr` for `width` neighbours on the vector axis."""
        assert self.simd is not None
        if expr.op == "acc":
            return accumulator(expr.value, t, v)
        key = self.key(expr, t, v, "vector")
        name = self.lookup(key)
        if name is not None:
            return name
        type_ = self.simd.vector(expr.type)
        if self.vector not in self.depends[expr]:
            return self.bind(expr, key, type_, self.simd.splat(self.scalar(expr, t, v), expr.type))
        if expr.op == "load":
            return self.bind(expr, key, type_, self.vector_load(expr, t, v))
        self.operands_first(expr, t, v, "vector", self.vector_value)
        args = [
            str(item.value)
            if expr.op in SHIFTS and item.op == "const"
            else self.vector_value(item, t, v)
            for item in expr.args
        ]
        return self.bind(expr, key, type_, self.simd.operation(expr, args))

    def terms(self, position: int, index: tuple[Expr, ...], t: int, v: int) -> list[Term]:
        """The address of an element as summands."""
        panel = self.kernel.panel(position)
        summands: list[Term] = []
        for dim, item in enumerate(index):
            if item.op == "const" and item.value == 0:
                continue
            text, level = self.scalar(item, t, v), self.level(item)
            stride = f"s{position}_{dim}"
            if panel is None:
                summands.append(Term(level, text, None if dim == len(index) - 1 else stride))
            elif dim == panel.dim:
                block, lane = (
                    f"({text} >> {panel.block.bit_length() - 1})",
                    f"({text} & {panel.block - 1})",
                )
                summands += (
                    [Term(level, block, stride), Term(level, lane)]
                    if panel.order
                    else [Term(level, text)]
                )
            else:
                summands.append(
                    Term(level, text, str(panel.block) if dim == panel.order[-1] else stride)
                )
        return summands

    def address(
        self,
        expr: Expr,
        position: int,
        index: tuple[Expr, ...],
        t: int,
        v: int,
        *,
        only: int | None = None,
    ) -> str:
        """Sum the terms level by level, so that each loop only adds the terms that change in it.
        `only` limits the level. The address is relative to the operand, or to the heap if the
        dialect has one.
        """
        summands = [
            item for item in self.terms(position, index, t, v) if only is None or item.level <= only
        ]
        total = self.operand(position) if self.dialect.heap else ""
        for level in sorted({item.level for item in summands}):
            parts = ([total] if total else []) + [
                item.text for item in summands if item.level == level
            ]
            text = " + ".join(parts)
            if text.isidentifier():
                total = text
                continue
            key = ("address", text)
            total = self.lookup(key) or self.bind(expr, key, INT, text, level)
        return total or "0"

    def operand(self, position: int) -> str:
        inputs = len(self.nest.inputs)
        return f"x{position}" if position < inputs else f"y{position - inputs}"

    def pointer_and_offset(
        self, expr: Expr, position: int, index: tuple[Expr, ...], t: int, v: int
    ) -> tuple[str, str]:
        """Pointer and offset of an element."""
        address = self.address(expr, position, index, t, v)
        return (address, "0") if self.dialect.heap else (self.operand(position), address)

    def load(self, expr: Expr, t: int, v: int) -> str:
        """The text that reads one element."""
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        operand = self.nest.inputs[position]
        contiguous = self.is_contiguous(index) and self.kernel.panel(position) is None
        first, lane = (0, v) if contiguous else (v, 0)
        if guard is None:
            pointer, at = self.pointer_and_offset(expr, position, index, t, first)
            return self.dialect.load(operand, pointer, plus(at, lane))
        if self.dialect.pointers and (contiguous or self.level(expr) > self.level(guard[0])):
            pointer, at = self.guarded_pointer(expr, guard, t, first)
            return self.dialect.load(operand, pointer, plus(at, lane))
        condition, other = self.scalar(guard[0], t, v), self.scalar(guard[1], t, v)
        return self.dialect.guarded(
            operand, *self.pointer_and_offset(expr, position, index, t, v), condition, other
        )

    def is_contiguous(self, index: tuple[Expr, ...]) -> bool:
        """Whether neighbours on the vector axis are neighbours in memory."""
        if self.vector is None or not index or step(index[-1], self.vector) != 1:
            return False
        return not any(self.vector in self.depends[item] for item in index[:-1])

    def vector_load(self, expr: Expr, t: int, v: int) -> str:
        """The text that reads a vector. The addresses of copies on the vector axis differ by a
        constant.
        """
        assert self.simd is not None
        position, guard = expr.value[0], load_guard(expr)
        operand = self.nest.inputs[position]
        partial = self.partial and self.kernel.panel(position) is None
        if guard is not None and self.dialect.pointers:
            pointer, at = self.guarded_pointer(expr, guard, t, 0)
            return self.simd.load(operand, pointer, at, v, partial)
        text = self.simd.load(
            operand,
            f"x{position}",
            self.address(expr, position, load_index(expr), t, 0),
            v,
            partial,
        )
        if guard is None:
            return text
        return self.simd.operation(
            select(guard[0], expr, guard[1]),
            [self.vector_value(guard[0], t, v), text, self.vector_value(guard[1], t, v)],
        )

    def guarded_pointer(
        self, expr: Expr, guard: tuple[Expr, Expr], t: int, v: int
    ) -> tuple[str, str]:
        """Pointer and offset. The pointer is selected where the guard is defined. Deeper steps are
        multiplied by 0 or 1, so that inner loops have no branch.
        """
        assert self.dialect.pointers is not None
        position, index = expr.value[0], load_index(expr)
        operand = self.nest.inputs[position]
        condition, where = self.scalar(guard[0], t, v), self.level(guard[0])
        base = self.address(expr, position, index, t, v, only=where)
        zeros = reads_shared_zeros(self.kernel, expr)
        other = (
            ZEROS
            if zeros
            else fallback_name(operand, self.dialect.literal(guard[1].value, guard[1].type))
        )
        key = ("pointer", position, condition, base, other)
        pointer = self.lookup(key)
        if pointer is None:
            text = self.dialect.pointers.select_pointer(
                operand, f"x{position}", condition, base, other
            )
            pointer = self.declare(where, self.dialect.pointers.pointer_type(operand), text)
            self.blocks[where].values[key] = pointer
        inner = []
        for item in self.terms(position, index, t, v):
            if item.level > where:
                if zeros:
                    inner.append(item.text)
                    continue
                known_step = ("step", condition, item.text)
                product = self.lookup(known_step)
                if product is None:
                    walked = ("stride", condition, item.stride)
                    stride = self.lookup(walked)
                    if stride is None:
                        stride = self.blocks[where].values[walked] = self.declare(
                            where, INT, f"{condition} ? {item.stride or '1'} : 0"
                        )
                    product = self.blocks[item.level].values[known_step] = (
                        f"{item.factor} * {stride}"
                    )
                inner.append(product)
        return pointer, " + ".join(inner) or "0"


def accumulator(position: int, t: int, v: int) -> str:
    return f"acc{position}_{t}_{v}"
