"""Bodies of fragment shaders. A fragment decodes the point of the parallel axes from its texel, and
computes that point.

The stores of a nest are inverted: the offset of an element determines its index in each output
dimension, and that index determines the axis. Texels of no point are discarded and keep their
contents.

If outputs are packed four elements to a texel, a fragment computes four neighbours on the vector
axis, as a vector or, where there is no vector form, lane by lane. Four iterations of an unrolled
reduction loop share the texels that they read.
"""

from collections.abc import Callable, Sequence

from webkiln.codegen.dialect import Dialect
from webkiln.codegen.glsl_intrinsics import LANES, read, texel
from webkiln.codegen.glsl_vectors import spelling
from webkiln.codegen.points import Points
from webkiln.codegen.values import accumulator
from webkiln.errors import InternalError
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import INT, Expr, const, rebuild, walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.schedule import FragmentSchedule
from webkiln.plan.kernel import Kernel

NUMBER = "number"
"""The row-major offset of the fragment's first element."""
DISTANCE = "distance"
"""The distance between neighbours on the tile axis."""
COUNT = len(LANES)


def nested_axes(item: Expr) -> list[str]:
    """The axes of an index `((first * a + start) * b + second) * c + ...`, the outermost first; []
    if it has another form.
    """
    names: list[str] = []
    is_scaled = True
    while item.op in ("add", "mul"):
        left, right = item.args
        if any(expr.op == "axis" for expr in walk([right])) and (
            right.op != "axis" or item.op == "mul"
        ):
            return []
        if right.op == "axis" and item.op == "add":
            if not is_scaled:
                return []
            names, is_scaled = [*names, str(right.value)], False
        is_scaled = is_scaled or item.op == "mul"
        item = left
    if item.op != "axis" or not is_scaled:
        return []
    return [str(item.value), *reversed(names)]


class Fragments(Points):
    """All outputs have one index and one shape. Their values are stored in variables named after
    them.
    """

    def __init__(self, kernel: Kernel, dialect: Dialect) -> None:
        super().__init__(kernel, dialect)
        assert isinstance(kernel.schedule, FragmentSchedule)
        self.schedule = kernel.schedule
        self.unrolled, self.iteration = self.schedule.unroll, 0
        if any(item.combiner.startswith("arg") for item in self.nest.accumulators):
            self.simd, self.width = None, 1
        self.copies = (
            self.schedule.tile.lanes // self.width if self.vector else 1,
            self.schedule.tile.count,
        )

    def run(self) -> list[str]:
        with self.block() as top:
            top.declarations += [
                self.dialect.declare(INT, name, text) for name, text in self.arguments()
            ]
            if self.tile is not None:
                slot = len(self.nest.inputs)
                self.declare(0, INT, f"(q{slot} << 2) / s{slot}_0", DISTANCE)
            self.declare_axes()
            self.point()
        return top.lines()

    def arguments(self) -> list[tuple[str, str]]:
        """Every argument with its text in the argument block, four to a vector."""
        return [
            (name, f"P[{n // 4}].{'xyzw'[n % 4]}") for n, name in enumerate(self.kernel.arguments)
        ]

    def declare_axes(self) -> None:
        """Declare the axes, outermost dimension first. Discard the fragment if the texel belongs to
        no point.
        """
        index = self.nest.outputs[0].index
        output_indices = self.output_indices(len(index))
        loops = {loop.axis: loop for loop in self.nest.axes}
        constrained: list[tuple[Expr, str]] = []
        for store_index, start in zip(index, output_indices, strict=True):
            item, output_index = self.unfold_index(store_index, start, loops)
            names = [name for name in loops if depends(item, name)]
            if len(names) == 1 and step(item, names[0]) not in (0, None):
                self.solve_axis(item, output_index, loops.pop(names[0]))
            elif len(names) == 2 and 1 in (step(item, name) for name in names):
                self.solve_nested_axes(
                    item,
                    output_index,
                    [
                        loops.pop(name)
                        for name in sorted(names, key=lambda name: step(item, name) == 1)
                    ],
                )
            elif len(names) > 1 and set(order := nested_axes(item)) == set(names):
                self.solve_nested_axes(item, output_index, [loops.pop(name) for name in order])
            else:
                constrained.append((item, output_index))
        if loops:
            raise InternalError(
                f"no single dimension of an output determines the axes {', '.join(loops)}"
            )
        for item, output_index in constrained:
            self.discard_if(f"{self.scalar(item, 0, 0)} != {output_index}")

    def unfold_index(
        self, item: Expr, output_index: str, loops: dict[str, Loop]
    ) -> tuple[Expr, str]:
        """Take the inner axes off an index that merges several axes, `(outer * extent + inner)`. An
        index of more than two axes may also have an offset. Returns the remaining index and its
        text.
        """
        if (
            item.op == "add"
            and len([name for name in loops if depends(item, name)]) > 2
            and not any(depends(item.args[1], name) for name in loops)
        ):
            item, start = item.args
            output_index = self.declare(
                0, INT, f"{output_index} - {self.scalar(self.invariant(start), 0, 0)}"
            )
            self.discard_if(f"{output_index} < 0")
        while item.op == "add" and item.args[1].op == "axis" and item.args[0].op == "mul":
            (outer, extent), inner = item.args[0].args, item.args[1].value
            if inner not in loops or extent is not loops[inner].extent or depends(outer, inner):
                break
            del loops[inner]
            size = self.scalar(extent, 0, 0)
            quotient = self.declare(0, INT, f"{output_index} / {size}")
            self.declare(0, INT, f"{output_index} - {quotient} * {size}", inner)
            self.levels[inner] = 0
            item, output_index = outer, quotient
        return item, output_index

    def output_indices(self, rank: int) -> list[str]:
        """The texel's index in each dimension of the output."""
        slot, remainder, indices = len(self.nest.inputs), NUMBER, []
        texel = "first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))"
        self.declare(0, INT, f"({texel}) << 2" if self.vector else texel, NUMBER)
        for dim in range(rank - 1):
            dim_index = self.declare(0, INT, f"{remainder} / s{slot}_{dim}")
            remainder = self.declare(0, INT, f"{remainder} - {dim_index} * s{slot}_{dim}")
            indices.append(dim_index)
        return [*indices, remainder] if rank else []

    def solve_axis(self, item: Expr, output_index: str, loop: Loop) -> None:
        """Solve the index `start + axis * step` for the axis."""
        name, factor = loop.axis, step(item, loop.axis)
        start = self.index_at_zero(item, name)
        first = start.op == "const" and start.value == 0
        distance = (
            output_index
            if first
            else self.declare(0, INT, f"{output_index} - {self.scalar(start, 0, 0)}")
        )
        if factor == 1:
            self.declare(0, INT, distance, name)
        else:
            size = self.step_size(factor)
            self.declare(0, INT, f"wk_idiv({distance}, {size})", name)
            self.discard_if(f"{name} * {size} != {distance}")
        self.levels[name] = 0
        self.discard_if(f"uint({name}) >= uint({self.scalar(loop.extent, 0, 0)})")

    def index_at_zero(self, item: Expr, *names: str) -> Expr:
        """An index in which these axes, the only ones that it depends on, are 0."""
        start = rebuild(
            item, lambda e: const(0, INT) if e.op == "axis" and e.value in names else None
        )
        return self.invariant(start)

    def invariant(self, root: Expr) -> Expr:
        """A new expression, registered as independent of all axes."""
        for expr in walk([root]):
            self.depends.setdefault(expr, frozenset())
        return root

    def step_size(self, factor: Expr | int | None) -> str:
        """The step of an index along an axis: one of its factors, or a product of several that the
        nest itself may not contain.
        """
        assert isinstance(factor, Expr)
        return self.scalar(self.invariant(factor), 0, 0)

    def solve_nested_axes(self, item: Expr, output_index: str, loops: Sequence[Loop]) -> None:
        """Solve the index `start + first * step + second * step + ... + last` for axes, the
        outermost first. No two points share an element, so the index of the inner axes is less than
        the step of an axis.
        """
        names = [loop.axis for loop in loops]
        start = self.index_at_zero(item, *names)
        rest = (
            output_index
            if start is const(0, INT)
            else self.declare(0, INT, f"{output_index} - {self.scalar(start, 0, 0)}")
        )
        self.discard_if(f"{rest} < 0")
        for name in names:
            factor = step(item, name)
            if factor == 1:
                self.declare(0, INT, rest, name)
                continue
            size = self.step_size(factor)
            self.declare(0, INT, f"wk_idiv({rest}, {size})", name)
            rest = self.declare(0, INT, f"{rest} - {name} * {size}")
        if step(item, names[-1]) != 1:
            self.discard_if(f"{rest} != 0")
        for loop in loops:
            self.levels[loop.axis] = 0
            self.discard_if(f"uint({loop.axis}) >= uint({self.scalar(loop.extent, 0, 0)})")

    def discard_if(self, condition: str) -> None:
        self.here.declarations.append(f"if ({condition}) discard;")

    def reduction(self, loops: list[Loop], inside: Callable[[], None]) -> None:
        if not loops or loops[0].axis != self.unrolled:
            super().reduction(loops, inside)
            return
        name = loops[0].axis
        self.here.statements.append(self.dialect.counter(name))
        with self.loop(
            name, self.dialect.chunks(name, self.scalar(loops[0].extent, 0, 0), COUNT, rest=False)
        ):
            for self.iteration in range(COUNT):
                inside()
            self.iteration = 0

    def key(self, expr: Expr, t: int, v: int, form: str) -> tuple[object, ...]:
        return (
            *super().key(expr, t, v, form),
            self.iteration if self.unrolled in self.depends[expr] else 0,
        )

    def scalar(self, expr: Expr, t: int, v: int) -> str:
        if expr.op == "axis" and expr.value == self.unrolled and self.iteration:
            return f"({expr.value} + {self.iteration})"
        if expr.op == "axis" and expr.value == self.tile and t:
            return f"({expr.value} + {t} * {DISTANCE})"
        if self.simd is None:
            return super().scalar(expr, t, v)
        if expr.op == "acc":
            return self.simd.lane(accumulator(expr.value, t, 0), v, expr.type)
        vector = (
            self.lookup(self.key(expr, t, 0, "vector"))
            if self.vector in self.depends[expr]
            else None
        )
        return (
            super().scalar(expr, t, v) if vector is None else self.simd.lane(vector, v, expr.type)
        )

    def is_known(self, expr: Expr, t: int, v: int, form: str) -> bool:
        if (
            form == "scalar"
            and self.simd is not None
            and self.vector in self.depends[expr]
            and super().is_known(expr, t, 0, "vector")
        ):
            return True
        return super().is_known(expr, t, v, form)

    def vector_value(self, expr: Expr, t: int, v: int) -> str:
        assert self.simd is not None
        if expr.op == "load" and self.vector is not None and self.texel_axis(expr) == self.vector:
            return self.texel(expr, t, v)
        lanewise = (
            self.vector in self.depends[expr]
            and expr.op not in ("acc", "load")
            and spelling(expr) is None
        )
        name = self.lookup(self.key(expr, t, v, "vector"))
        if not lanewise or name is not None:
            return name or super().vector_value(expr, t, v)
        self.operands_first(expr, t, v, "vector", self.vector_value)
        args = [self.vector_value(item, t, v) for item in expr.args]
        each = [
            (
                self.dialect.scalar(expr, [self.simd.lane(item, lane, expr.type) for item in args])
                if args
                else self.scalar(expr, t, lane)
            )
            for lane in range(COUNT)
        ]
        type_ = self.simd.vector(expr.type)
        return self.bind(expr, self.key(expr, t, v, "vector"), type_, f"{type_}({', '.join(each)})")

    def texel_axis(self, expr: Expr) -> str | None:
        """The axis on which four neighbours of a load are one texel."""
        index, guard = load_index(expr), load_guard(expr)
        if expr.value[0] not in self.schedule.vectors:
            return None
        for name in (self.vector, self.unrolled):
            others = (*index[:-1], *(guard or ())[:1])
            if (
                name is not None
                and step(index[-1], name) == 1
                and not any(name in self.depends[item] for item in others)
            ):
                return name
        return None

    def texel(self, expr: Expr, t: int, v: int) -> str:
        """The texel that contains the element of a load, where four neighbours on an axis are one
        texel.
        """
        along, iteration = self.texel_axis(expr), self.iteration
        first = 0 if along == self.vector else v
        if along == self.unrolled:
            self.iteration = 0
        key = self.key(expr, t, first, "texel")
        name = self.lookup(key)
        if name is None:
            position, guard = expr.value[0], load_guard(expr)
            text = (
                self.fetch_level(expr, t, first)
                if position in self.schedule.level
                else self.fetch(position, self.address(expr, position, load_index(expr), t, first))
            )
            if guard is not None:
                text = (
                    f"{self.scalar(guard[0], t, first)} ? {text} :"
                    f" vec4({self.scalar(guard[1], t, first)})"
                )
            name = self.bind(expr, key, "vec4", text)
        self.iteration = iteration
        return name

    def fetch(self, position: int, at: str) -> str:
        """The texel that contains an element of an operand."""
        return texel(
            f"x{position}", at, f"q{position}" if position in self.schedule.quarters else None
        )

    def fetch_level(self, expr: Expr, t: int, v: int) -> str:
        """The texel in layer `t`. The texels of all neighbours on the tile axis have the same
        position in their layers.
        """
        position = expr.value[0]
        at = self.address(expr, position, load_index(expr), 0, v)
        key = ("place", at)
        texel_position = self.lookup(key) or self.bind(
            expr, key, "ivec2", f"wk_in_layer(({at}) >> 2)"
        )
        return read(f"x{position}", f"{texel_position}, {t}")

    def load(self, expr: Expr, t: int, v: int) -> str:
        position, guard = expr.value[0], load_guard(expr)
        if position not in self.schedule.texels:
            return super().load(expr, t, v)
        along = self.texel_axis(expr)
        if along is not None:
            return (
                f"{self.texel(expr, t, v)}.{LANES[self.iteration if along == self.unrolled else v]}"
            )
        at = self.address(expr, position, load_index(expr), t, v)
        text = f"{self.fetch(position, at)}[({at}) & 3]"
        return (
            text
            if guard is None
            else f"{self.scalar(guard[0], t, v)} ? {text} : {self.scalar(guard[1], t, v)}"
        )

    def vector_load(self, expr: Expr, t: int, v: int) -> str:
        assert self.simd is not None
        lanes = ", ".join(self.scalar(expr, t, lane) for lane in range(COUNT))
        return f"{self.simd.vector(expr.type)}({lanes})"

    def store(self, position: int, value: Expr, index: tuple[Expr, ...], t: int, v: int) -> None:
        if v:
            return
        if self.vector is None:
            text = self.scalar(value, t, 0)
        elif self.simd is None:
            text = f"vec4({', '.join(self.scalar(value, t, lane) for lane in range(COUNT))})"
        else:
            text = self.vector_value(value, t, 0)
        self.emit_store(
            self.dialect.store(self.nest.outputs[position].operand, f"y{t or position}", "", text),
            t,
            v,
        )
