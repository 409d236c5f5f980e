"""Print a kernel as nested loops, for any dialect.

Every subexpression is computed at the loop level of its deepest variable, once per level (expressions are total, so nothing can go
wrong by computing early). A schedule makes several copies of the innermost body: `count` neighbours on the tile axis, and `lanes`
neighbours on the vector axis, as vectors where the dialect has them and as scalars where it has not.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from webkiln.codegen.dialect import Dialect
from webkiln.nest.affine import step
from webkiln.nest.expr import INT, Expr, walk
from webkiln.nest.nest import Accumulator, Loop, Nest, load_guard, load_index
from webkiln.plan.kernel import Kernel

PRODUCED = "result"


@dataclass(slots=True)
class Block:
    """One open scope: declarations first, then statements."""

    declarations: list[str] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    values: dict[tuple[object, ...], str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        return [*self.declarations, *self.statements]


@dataclass(frozen=True, slots=True)
class Term:
    """A summand of an address, `factor` times `stride` elements, known at a loop level."""

    level: int
    factor: str
    stride: str | None = None

    @property
    def text(self) -> str:
        return self.factor if self.stride is None else f"{self.factor} * {self.stride}"


def body(kernel: Kernel, dialect: Dialect) -> list[str]:
    """The statements of the kernel's function."""
    return _Emitter(kernel, dialect).run()


class _Emitter:
    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        self.kernel, self.dialect, self.nest = kernel, dialect, kernel.nest
        schedule = kernel.schedule
        self.vector, self.tile = schedule.vector, schedule.tile
        self.simd = dialect.simd if schedule.vector else None
        self.width = self.simd.width if self.simd else 1
        self.copies = (1, 1)
        self.partial = False
        self.blocks: list[Block] = []
        self.levels: dict[str, int] = {}
        self.names = 0
        self.depends = _dependencies(self.nest, self.vector, self.tile)
        self.rows = any(loop.axis == self.vector for loop in self.nest.reduce)

    def run(self) -> list[str]:
        with self.block() as top:
            loops = {loop.axis: loop for loop in self.nest.axes}
            self.parallel([loops[name] for name in self.kernel.schedule.order])
        return top.lines()

    @contextmanager
    def block(self) -> Iterator[Block]:
        opened = Block()
        self.blocks.append(opened)
        yield opened
        self.blocks.pop()

    @property
    def here(self) -> Block:
        return self.blocks[-1]

    @contextmanager
    def loop(self, name: str, header: str) -> Iterator[None]:
        with self.block() as inner:
            self.levels[name] = len(self.blocks) - 1
            yield
            del self.levels[name]
        self.here.statements += [header, *("  " + line for line in inner.lines()), "}"]

    def parallel(self, loops: list[Loop]) -> None:
        if not loops:
            self.point()
            return
        loop, rest = loops[0], loops[1:]
        extent = self.scalar(loop.extent, 0, 0)
        schedule = self.kernel.schedule
        name = loop.axis
        if name not in (self.vector, self.tile):
            with self.loop(name, self.dialect.loop(name, extent)):
                self.parallel(rest)
            return
        span = schedule.lanes if name == self.vector else schedule.count
        self.here.statements.append(self.dialect.counter(name))
        before = self.copies, self.partial
        for chunk, partial in ((span, False), (self.width if name == self.vector else 1, True)):
            vectors, tiles = before[0]
            self.copies = (chunk // self.width, tiles) if name == self.vector else (vectors, chunk)
            self.partial = before[1] or (partial and name == self.vector and self.width > 1 and not schedule.whole)
            with self.loop(name, self.dialect.chunks(name, extent, chunk, partial)):
                if self.simd and name == self.vector and self.partial:
                    self.declare(len(self.blocks) - 1, INT, self.simd.remaining(name, extent), "left")
                self.parallel(rest)
        self.copies, self.partial = before

    def each(self) -> list[tuple[int, int]]:
        """(tile offset, vector offset) of every copy."""
        vectors, tiles = self.copies
        return [(t, v * self.width) for t in range(tiles) for v in range(vectors)]

    def point(self) -> None:
        """Accumulators, reduction loops, epilogue, stores."""
        simd = self.simd
        if self.rows:
            self.reduce_rows()
            self.simd = None
        elif self.nest.accumulators:
            for position, t, v in self.accumulators():
                self.here.statements += self.start(self.nest.accumulators[position], _acc(position, t, v))
            self.reduction(list(self.nest.reduce), lambda: self.updates(_acc))
            self.finish(_acc)
        with self.block() as tail:
            self.levels[PRODUCED] = len(self.blocks) - 1
            for position, out in enumerate(self.nest.outputs):
                for t, v in self.each():
                    self.store(position, out.value, out.index, t, v)
            del self.levels[PRODUCED]
        self.here.statements += ["{", *("  " + line for line in tail.lines()), "}"] if tail.declarations else tail.lines()
        self.simd = simd

    def accumulators(self) -> list[tuple[int, int, int]]:
        """(position, tile offset, vector offset) of every accumulator's copies."""
        return [(position, t, v) for position in range(len(self.nest.accumulators)) for t, v in self.each()]

    def finish(self, name: Callable[[int, int, int], str]) -> None:
        for place in self.accumulators():
            if self.simd is not None:
                self.here.statements += self.simd.finish(self.nest.accumulators[place[0]], name(*place))

    def reduce_rows(self) -> None:
        """Lanes lie on the last reduction loop: each copy has accumulators for them and a scalar one, into which all are folded."""
        (along,) = (loop for loop in self.nest.reduce if loop.axis == self.vector)
        _, tiles = self.copies
        for position, t, _ in self.accumulators():
            self.here.statements += self.dialect.start(self.nest.accumulators[position], _acc(position, t, 0))
        self.copies = (self.kernel.schedule.lanes // self.width, tiles)
        for position, t, v in self.accumulators():
            self.here.statements += self.start(self.nest.accumulators[position], _lane(position, t, v))
        self.reduction([loop for loop in self.nest.reduce if loop is not along], lambda: self.row(along))
        self.finish(_lane)
        for position, t, v in self.accumulators():
            if v and self.simd is not None:
                self.here.statements += self.simd.combine(self.nest.accumulators[position], _lane(position, t, 0), _lane(position, t, v))
        self.copies = (1 if self.simd else self.kernel.schedule.lanes, tiles)
        self.finish(_lane)
        for position, t, v in self.accumulators():
            item = self.nest.accumulators[position]
            parts = (
                [self.simd.lane(_lane(position, t, v), n, item.body.type) for n in range(self.width)]
                if self.simd
                else [_lane(position, t, v)]
            )
            for part in parts:
                self.here.statements += self.dialect.combine(item, _acc(position, t, 0), part, "0")
        self.copies = (1, tiles)

    def row(self, along: Loop) -> None:
        """The innermost reduction loop: all lanes, then single vectors, then single elements."""
        extent = self.scalar(along.extent, 0, 0)
        self.here.statements.append(self.dialect.counter(along.axis))
        simd, copies = self.simd, self.copies
        for span in sorted({self.kernel.schedule.lanes, self.width, 1}, reverse=True):
            self.simd = simd if span > 1 else None
            self.copies = (max(span // self.width, 1), copies[1])
            with self.loop(along.axis, self.dialect.chunks(along.axis, extent, span, rest=False)):
                self.updates(_lane if span > 1 else _acc)
        self.simd, self.copies = simd, copies

    def start(self, item: Accumulator, name: str) -> list[str]:
        if self.simd is None:
            return self.dialect.start(item, name)
        return self.simd.start(item, name, self.dialect.literal(item.identity.value, item.identity.type))

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if not loops:
            inside()
            return
        extent = self.scalar(loops[0].extent, 0, 0)
        with self.loop(loops[0].axis, self.dialect.loop(loops[0].axis, extent)):
            self.reduction(loops[1:], inside)

    def updates(self, name: Callable[[int, int, int], str]) -> None:
        for position, t, v in self.accumulators():
            self.here.statements += self.update(self.nest.accumulators[position], name(position, t, v), t, v)

    def update(self, item: Accumulator, name: str, t: int, v: int) -> list[str]:
        product = item.combiner == "sum" and item.body.op == "mul"
        value = self.vector_value if self.simd else self.scalar
        if product:
            a, b = (value(factor, t, v) for factor in item.body.args)
            return (self.simd or self.dialect).multiply_add(name, a, b, item.body.type)
        if self.simd:
            return self.simd.combine(item, name, value(item.body, t, v))
        return self.dialect.combine(item, name, value(item.body, t, v), self.position())

    def position(self) -> str:
        """The row-major position on the reduction loops, for argmax and argmin."""
        text = "0"
        for loop in self.nest.reduce:
            text = loop.axis if text == "0" else f"({text} * {self.scalar(loop.extent, 0, 0)} + {loop.axis})"
        return text

    def level(self, expr: Expr) -> int:
        return max((self.levels[name] for name in self.depends[expr] if name in self.levels), default=0)

    def declare(self, level: int, type_: str, text: str, name: str | None = None) -> str:
        if name is None:
            self.names += 1
            name = f"v{self.names}"
        self.blocks[level].declarations.append(self.dialect.declare(type_, name, text))
        return name

    def bound(self, expr: Expr, key: tuple[object, ...], type_: str, text: str, level: int | None = None) -> str:
        """Name `text` at the level of `expr`."""
        where = self.level(expr) if level is None else level
        name = self.declare(where, type_, text)
        self.blocks[where].values[key] = name
        return name

    def key(self, expr: Expr, t: int, v: int, form: str) -> tuple[object, ...]:
        names = self.depends[expr]
        return (expr, t if self.tile in names else 0, v if self.vector in names else 0, form)

    def known(self, key: tuple[object, ...]) -> str | None:
        return next((block.values[key] for block in reversed(self.blocks) if key in block.values), None)

    def scalar(self, expr: Expr, t: int, v: int) -> str:
        """`expr` for one element: tile offset `t`, vector-axis offset `v`."""
        if expr.op == "const":
            return self.dialect.literal(expr.value, expr.type)
        if expr.op == "arg":
            return str(expr.value)
        if expr.op == "axis":
            offset = t if expr.value == self.tile else v if expr.value == self.vector else 0
            return f"({expr.value} + {offset})" if offset else str(expr.value)
        if expr.op in ("acc", "accindex"):
            return _acc(expr.value, t, v) + ("_at" if expr.op == "accindex" else "")
        key = self.key(expr, t, v, "scalar")
        found = self.known(key)
        if found is not None:
            return found
        if expr.op == "load":
            return self.bound(expr, key, expr.type, self.load(expr, t, v))
        args = [self.scalar(item, t, v) for item in expr.args]
        return self.bound(expr, key, expr.type, self.dialect.scalar(expr, args))

    def vector_value(self, expr: Expr, t: int, v: int) -> str:
        """`expr` for `width` neighbours on the vector axis."""
        assert self.simd is not None
        if expr.op == "acc":
            return _acc(expr.value, t, v)
        key = self.key(expr, t, v, "vector")
        found = self.known(key)
        if found is not None:
            return found
        if self.vector not in self.depends[expr]:
            return self.bound(expr, key, "v128", self.simd.splat(self.scalar(expr, t, v), expr.type))
        if expr.op == "load":
            return self.bound(expr, key, "v128", self.vector_load(expr, t, v))
        shift = expr.op in ("shl", "shr")
        args = [str(item.value) if shift and item.op == "const" else self.vector_value(item, t, v) for item in expr.args]
        return self.bound(expr, key, "v128", self.simd.operation(expr, args))

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
                block, lane = f"({text} >> {panel.block.bit_length() - 1})", f"({text} & {panel.block - 1})"
                summands += [Term(level, block, stride), Term(level, lane)] if panel.order else [Term(level, text)]
            else:
                summands.append(Term(level, text, str(panel.block) if dim == panel.order[-1] else stride))
        return summands

    def address(self, expr: Expr, position: int, index: tuple[Expr, ...], t: int, v: int, *, only: int | None = None) -> str:
        """Sum the terms level by level, so that each loop adds only what changes in it; `only` bounds the level."""
        summands = [item for item in self.terms(position, index, t, v) if only is None or item.level <= only]
        total = ""
        for level in sorted({item.level for item in summands}):
            parts = ([total] if total else []) + [item.text for item in summands if item.level == level]
            text = " + ".join(parts)
            if text.isidentifier():
                total = text
                continue
            key = ("address", text)
            total = self.known(key) or self.bound(expr, key, INT, text, level)
        return total or "0"

    def load(self, expr: Expr, t: int, v: int) -> str:
        """The text that reads one element."""
        position, index, guard = expr.value[0], load_index(expr), load_guard(expr)
        operand = self.nest.inputs[position]
        run = self.runs(index) and self.kernel.panel(position) is None
        first, lane = (0, v) if run else (v, 0)
        if guard is None:
            return self.dialect.load(operand, f"x{position}", _plus(self.address(expr, position, index, t, first), lane))
        if self.dialect.pointers and (run or self.level(expr) > self.level(guard[0])):
            pointer, at = self.guarded_pointer(expr, guard, t, first)
            return self.dialect.load(operand, pointer, _plus(at, lane))
        condition, other = self.scalar(guard[0], t, v), self.scalar(guard[1], t, v)
        return self.dialect.guarded(operand, f"x{position}", self.address(expr, position, index, t, v), condition, other)

    def runs(self, index: tuple[Expr, ...]) -> bool:
        """Neighbours on the vector axis are neighbours in memory."""
        if self.vector is None or not index or step(index[-1], self.vector) != 1:
            return False
        return not any(self.vector in self.depends[item] for item in index[:-1])

    def vector_load(self, expr: Expr, t: int, v: int) -> str:
        """The text that reads a vector; the copies on the vector axis differ by a constant."""
        assert self.simd is not None
        position, guard = expr.value[0], load_guard(expr)
        partial = self.partial and self.kernel.panel(position) is None
        if guard is None:
            pointer, at = f"x{position}", self.address(expr, position, load_index(expr), t, 0)
        else:
            pointer, at = self.guarded_pointer(expr, guard, t, 0)
        return self.simd.load(pointer, _plus(at, v), partial)

    def guarded_pointer(self, expr: Expr, guard: tuple[Expr, Expr], t: int, v: int) -> tuple[str, str]:
        """Pointer and offset: the pointer is chosen where the guard is known, and deeper steps are multiplied by 0 or 1, so that
        inner loops have no branch."""
        assert self.dialect.pointers is not None
        position, index = expr.value[0], load_index(expr)
        operand = self.nest.inputs[position]
        condition, where = self.scalar(guard[0], t, v), self.level(guard[0])
        base = self.address(expr, position, index, t, v, only=where)
        other = self.dialect.literal(guard[1].value, guard[1].type)
        key = ("pointer", position, condition, base, other)
        pointer = self.known(key)
        if pointer is None:
            text = self.dialect.pointers.chosen(operand, f"x{position}", condition, base, other)
            pointer = self.declare(where, self.dialect.pointers.pointer_type(operand), text)
            self.blocks[where].values[key] = pointer
        inner = []
        for item in self.terms(position, index, t, v):
            if item.level > where:
                known_step = ("step", condition, item.text)
                product = self.known(known_step)
                if product is None:
                    stride = self.declare(where, INT, f"{condition} ? {item.stride or '1'} : 0")
                    product = self.blocks[item.level].values[known_step] = f"{item.factor} * {stride}"
                inner.append(product)
        return pointer, " + ".join(inner) or "0"

    def store(self, position: int, value: Expr, index: tuple[Expr, ...], t: int, v: int) -> None:
        operand = self.nest.outputs[position].operand
        slot = len(self.nest.inputs) + position
        statements = self.here.statements

        def at(offset: int) -> str:
            return self.address(value, slot, index, t, offset)

        if self.simd is None:
            text = self.scalar(value, t, v)
            place = _plus(at(0), v) if self.runs(index) else at(v)
            statements.append(self.dialect.store(operand, f"y{position}", place, text))
            return
        text = self.vector_value(value, t, v)
        if self.runs(index):
            statements.append(self.simd.store(f"y{position}", _plus(at(0), v), text, self.partial))
            return
        for lane in range(self.width):
            statements.append(self.simd.store_lane(f"y{position}", at(v + lane), text, lane, self.partial))


def _plus(text: str, offset: int) -> str:
    if text == "0":
        return str(offset)
    return f"{text} + {offset}" if offset else text


def _acc(position: int, t: int, v: int) -> str:
    return f"acc{position}_{t}_{v}"


def _lane(position: int, t: int, v: int) -> str:
    return f"lane{position}_{t}_{v}"


def _dependencies(nest: Nest, vector: str | None, tile: str | None) -> dict[Expr, frozenset[str]]:
    """For every expression, the axes it moves with; accumulators are known only after the reduction."""
    result: dict[Expr, frozenset[str]] = {}
    produced = frozenset(name for name in (vector, tile, PRODUCED) if name is not None)
    parallel = frozenset(loop.axis for loop in nest.axes)
    extents = [loop.extent for loop in (*nest.axes, *nest.reduce)]
    for expr in walk((*extents, *nest.roots)):
        if expr.op == "axis":
            result[expr] = frozenset({expr.value})
        elif expr.op in ("acc", "accindex"):
            result[expr] = produced | parallel
        else:
            result[expr] = frozenset().union(*(result[item] for item in expr.args))
    return result
