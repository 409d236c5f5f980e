"""Loads and stores of operands in textures. Neighbours that share a texel read it once."""

from collections.abc import Iterator
from dataclasses import replace

from webkiln.codegen.addresses import Addresses
from webkiln.codegen.buffers import Buffers
from webkiln.codegen.context import Context, Copy
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.glsl_intrinsics import LANES, read, texel
from webkiln.codegen.values import Index, Values
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

    def load(self, values: Values, expr: Expr, at: Copy) -> str:
        position, guard = expr.value[0], load_guard(expr)
        if position not in self.schedule.texels:
            return self.elements.load(values, expr, at)
        along = self._texel_axis(values, expr, at.here)
        if along is not None:
            lane = at.here.iteration if along == at.here.unrolled else at.v
            return f"{self._texel(values, expr, at)}.{LANES[lane]}"
        place = self.addresses.address(values, position, load_index(expr), at)
        text = f"{self._fetch(position, place)}[({place}) & 3]"
        if guard is None:
            return text
        condition, other = (values.scalar(item, at) for item in guard)
        return f"{condition} ? {text} : {other}"

    def vector_load(self, values: Values, expr: Expr, at: Copy) -> str:
        assert at.here.simd is not None
        if self._texel_axis(values, expr, at.here) == at.here.vector:
            return self._texel(values, expr, at)
        lanes = (values.scalar(expr, at.lane(lane)) for lane in range(at.here.width))
        return f"{at.here.simd.vector(expr.type)}({', '.join(lanes)})"

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

    def _texel(self, values: Values, expr: Expr, at: Copy) -> str:
        """The texel that contains the element of a load, where four neighbours on an axis are one
        texel.
        """
        along, position, guard = (
            self._texel_axis(values, expr, at.here),
            expr.value[0],
            load_guard(expr),
        )
        if along == at.here.vector:
            at = at.lane(0)
        if along == at.here.unrolled:
            at = at._replace(here=replace(at.here, iteration=0))
        key = values.key(expr, at, "texel")
        name = values.scopes.lookup(key)
        if name is not None:
            return name
        if position in self.schedule.level:
            text = self._fetch_level(values, expr, at)
        else:
            place = self.addresses.address(values, position, load_index(expr), at)
            text = self._fetch(position, place)
        if guard is not None:
            condition, other = (values.scalar(item, at) for item in guard)
            text = f"{condition} ? {text} : vec4({other})"
        return values.scopes.bind(key, values.level(expr), "vec4", text)

    def _fetch(self, position: int, place: str) -> str:
        """The texel that contains an element of an operand."""
        quarter = f"q{position}" if position in self.schedule.quarters else None
        return texel(f"x{position}", place, quarter)

    def _fetch_level(self, values: Values, expr: Expr, at: Copy) -> str:
        """The texel in layer `t`. The texels of all neighbours on the tile axis have the same
        position in their layers.
        """
        position, scopes = expr.value[0], values.scopes
        first = at._replace(t=0)
        address = self.addresses.address(values, position, load_index(expr), first)
        key = ("place", address)
        place = scopes.lookup(key) or scopes.bind(
            key, values.level(expr), "ivec2", f"wk_in_layer(({address}) >> 2)"
        )
        return read(f"x{position}", f"{place}, {at.t}")

    def joined_stores(
        self, values: Values, position: int, store: tuple[Expr, Index], here: Context
    ) -> list[str]:
        return []

    def stores(
        self, values: Values, position: int, store: tuple[Expr, Index], at: Copy
    ) -> Iterator[tuple[str, Copy]]:
        (value, _), operand = store, self.nest.outputs[position].operand
        if at.v:
            return
        if at.here.vector is None or at.here.simd is not None:
            text = values.value(value, at)
        else:
            lanes = (values.scalar(value, at.lane(lane)) for lane in range(len(LANES)))
            text = f"vec4({', '.join(lanes)})"
        yield self.dialect.store(operand, f"y{at.t or position}", "", text), at
