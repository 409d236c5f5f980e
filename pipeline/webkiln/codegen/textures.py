"""Loads and stores of operands in textures. Neighbours that share a texel read it once."""

from collections.abc import Iterator
from dataclasses import replace

from webkiln.codegen.addresses import Addresses
from webkiln.codegen.buffers import Buffers
from webkiln.codegen.context import Context
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.glsl_intrinsics import LANES, read, texel
from webkiln.codegen.values import Values
from webkiln.nest.affine import step
from webkiln.nest.expr import Expr
from webkiln.nest.nest import load_guard, load_index
from webkiln.nest.schedule import FragmentSchedule
from webkiln.plan.kernel import Kernel


class Textures:
    """The operands of a kernel in textures. All outputs have one index and one shape. Their values
    are stored in variables named after them.
    """

    def __init__(self, kernel: Kernel, schedule: FragmentSchedule, dialect: Dialect) -> None:
        self.nest, self.schedule, self.dialect = kernel.nest, schedule, dialect
        self.addresses = Addresses(kernel, dialect.heap)
        self.elements = Buffers(kernel, dialect)

    def load(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        position, guard = expr.value[0], load_guard(expr)
        if position not in self.schedule.texels:
            return self.elements.load(values, expr, here, t, v)
        along = self._texel_axis(values, expr, here)
        if along is not None:
            lane = here.iteration if along == here.unrolled else v
            return f"{self._texel(values, expr, here, t, v)}.{LANES[lane]}"
        at = self.addresses.address(values, position, load_index(expr), here, t, v)
        return _guarded(values, guard, here, (t, v), f"{self._fetch(position, at)}[({at}) & 3]")

    def vector_load(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        assert here.simd is not None
        if self._texel_axis(values, expr, here) == here.vector:
            return self._texel(values, expr, here, t, v)
        lanes = (values.scalar(expr, here, t, lane) for lane in range(here.width))
        return f"{here.simd.vector(expr.type)}({', '.join(lanes)})"

    def _texel_axis(self, values: Values, expr: Expr, here: Context) -> str | None:
        """The axis on which four neighbours of a load are one texel."""
        index, guard = load_index(expr), load_guard(expr)
        if expr.value[0] not in self.schedule.vectors:
            return None
        others = (*index[:-1], *(guard or ())[:1])
        for name in (here.vector, here.unrolled):
            if (
                name is not None
                and step(index[-1], name) == 1
                and not any(name in values.depends(item) for item in others)
            ):
                return name
        return None

    def _texel(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        """The texel that contains the element of a load, where four neighbours on an axis are one
        texel.
        """
        along = self._texel_axis(values, expr, here)
        first = 0 if along == here.vector else v
        start = replace(here, iteration=0) if along == here.unrolled else here
        key = values.key(expr, start, t, first, "texel")
        name = values.scopes.lookup(key)
        if name is not None:
            return name
        position, guard = expr.value[0], load_guard(expr)
        if position in self.schedule.level:
            text = self._fetch_level(values, expr, start, t, first)
        else:
            index = load_index(expr)
            at = self.addresses.address(values, position, index, start, t, first)
            text = self._fetch(position, at)
        if guard is not None:
            condition, other = (values.scalar(item, start, t, first) for item in guard)
            text = f"{condition} ? {text} : vec4({other})"
        return values.scopes.bind(key, values.level(expr), "vec4", text)

    def _fetch(self, position: int, at: str) -> str:
        """The texel that contains an element of an operand."""
        return texel(
            f"x{position}", at, f"q{position}" if position in self.schedule.quarters else None
        )

    def _fetch_level(self, values: Values, expr: Expr, here: Context, t: int, v: int) -> str:
        """The texel in layer `t`. The texels of all neighbours on the tile axis have the same
        position in their layers.
        """
        position, scopes = expr.value[0], values.scopes
        at = self.addresses.address(values, position, load_index(expr), here, 0, v)
        key = ("place", at)
        place = scopes.lookup(key) or scopes.bind(
            key, values.level(expr), "ivec2", f"wk_in_layer(({at}) >> 2)"
        )
        return read(f"x{position}", f"{place}, {t}")

    def stores(
        self,
        values: Values,
        position: int,
        store: tuple[Expr, tuple[Expr, ...]],
        here: Context,
        copy: tuple[int, int],
    ) -> Iterator[tuple[str, int, int]]:
        (value, _), (t, v) = store, copy
        if v:
            return
        if here.vector is None or here.simd is not None:
            text = values.value(value, here, t, 0)
        else:
            lanes = (values.scalar(value, here, t, lane) for lane in range(len(LANES)))
            text = f"vec4({', '.join(lanes)})"
        operand = self.nest.outputs[position].operand
        yield self.dialect.store(operand, f"y{t or position}", "", text), t, v


def _guarded(
    values: Values,
    guard: tuple[Expr, Expr] | None,
    here: Context,
    copy: tuple[int, int],
    text: str,
) -> str:
    if guard is None:
        return text
    condition, other = (values.scalar(item, here, *copy) for item in guard)
    return f"{condition} ? {text} : {other}"
