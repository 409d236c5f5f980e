"""Convolutions of stride 1 by fewer multiplications: a transform of tiles of the input, a product for each of their points, and the
inverse transform with the convolution's epilogue (Winograd's algorithm; Lavin and Gray, CVPR 2016, arXiv:1509.09308).

Filters are transformed once, when they have arrived. Where there are caches, the steps go over blocks of tiles.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import is_symbolic
from webkiln.ir.solve import sampled
from webkiln.ir.types import Type
from webkiln.nest.affine import depends, step
from webkiln.nest.build import Lowering, NestBuilder, NestCall, Repeat, Step, View
from webkiln.nest.expr import INT, Expr, apply, axis, const, make, rebuild, walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.target import Target
from webkiln.plan import toom_cook
from webkiln.plan.quotients import quotient

Transform = Callable[[Sequence[Expr]], list[Expr]]
OUTPUTS = {2: 3, 3: 4, 5: 2, 7: 4}
"""Size of a filter -> how many neighbouring outputs a tile has."""
SMALL = {3: 2}
"""The same where there are fewer than `FEW_TILES` otherwise."""
FEW_TILES = 16
TILES = 36
"""About how many tiles are transformed before they are multiplied, so that they stay in the cache."""
ROWS = 6
"""The rows of a contraction that are computed together."""
LEAST_CHANNELS = 16
BLOCK = "i999"
"""The counter of blocks: no other repeat goes on inside, and none around is that deep."""
APART = 16
"""Elements between the points of tiles, so that their distance is no multiple of a page: the same places of a cache would serve all of them."""


@dataclass(frozen=True, slots=True)
class Window:
    """A parallel loop and the reduction loop over a filter of `taps` that moves along it; `outputs` of a tile on it."""

    place: Loop
    tap: Loop
    taps: int
    outputs: int

    @property
    def points(self) -> int:
        return self.taps + self.outputs - 1


@dataclass(frozen=True, slots=True)
class Convolution:
    """A call that is one: its factors, windows, other loops, and how many tiles there are on each."""

    call: NestCall
    data: Expr
    filter: Expr
    windows: tuple[Window, ...]
    batch: tuple[Loop, ...]
    channel: Loop
    feature: Loop

    def size(self, loop: Loop) -> int:
        return self.call.args[loop.extent.value]

    @property
    def grid(self) -> tuple[int, ...]:
        """How many there are of each batch loop, then of tiles on each window."""
        tiles = (dim.floordiv(self.size(window.place) + window.outputs - 1, window.outputs) for window in self.windows)
        return (*(self.size(loop) for loop in self.batch), *tiles)

    @property
    def points(self) -> int:
        return prod(window.points for window in self.windows)


@dataclass(frozen=True, slots=True)
class Fast:
    """What takes the place of a convolution: the call that transforms its filter, and its steps."""

    filter: NestCall
    steps: tuple[Step, ...]


def fast(call: NestCall, target: Target, constants: Collection[str], number: int) -> Fast | None:
    """The call by fewer multiplications, where it is a convolution with a constant filter and that pays; `number` tells what it makes from what others make."""
    found = recognised(call, constants) if target.winograd else None
    return None if found is None else _Writer(found, target, number).written()


def _renamed(call: NestCall) -> NestCall:
    """The call with names of axes and arguments that no other nest has."""

    def change(expr: Expr) -> Expr | None:
        return make(expr.op, expr.type, (), f"{expr.value}'") if expr.op in ("axis", "arg") else None

    nest = call.nest.map(change)
    axes, reduce = (tuple(Loop(f"{loop.axis}'", loop.extent) for loop in loops) for loops in (nest.axes, nest.reduce))
    return replace(call, nest=replace(nest, axes=axes, reduce=reduce), args={f"{name}'": value for name, value in call.args.items()})


def recognised(call: NestCall, constants: Collection[str]) -> Convolution | None:
    """The convolution that a call is, if it is one that is worth it."""
    call = _renamed(call)
    nest = call.nest
    if (
        not nest.is_contraction
        or len(nest.outputs) != 1
        or {operand.dtype for operand in (*nest.inputs, nest.outputs[0].operand)} != {"float32"}
    ):
        return None
    factors = nest.accumulators[0].body.args
    weights = [item for item in factors if item.op == "load" and load_guard(item) is None and call.inputs[item.value[0]].name in constants]
    if len(weights) != 1 or any(item.op != "load" for item in factors):
        return None
    (weight,) = weights
    (data,) = (item for item in factors if item is not weight)
    if any(loop.extent.op != "arg" for loop in (*nest.axes, *nest.reduce)):
        return None
    features = [loop for loop in nest.axes if any(depends(item, loop.axis) for item in load_index(weight))]
    if (
        len(features) != 1
        or depends(data, features[0].axis)
        or any(is_symbolic(call.args[e.value]) for e in walk(load_index(weight)) if e.op == "arg")
    ):
        return None
    windows, channels = _windows(call, data)
    paired = {window.place for window in windows}
    batch = tuple(loop for loop in nest.axes if loop not in paired and loop not in features)
    if not windows or len(windows) + len(channels) != len(nest.reduce) or len(channels) != 1:
        return None
    made = Convolution(call, data, weight, tuple(windows), batch, channels[0], features[0])
    return _worthwhile(made)


def _windows(call: NestCall, data: Expr) -> tuple[list[Window], list[Loop]]:
    """The windows that the data are read through, and the reduction loops that move along dimensions of their own."""
    windows, channels = [], []
    for tap in call.nest.reduce:
        items = [item for item in load_index(data) if depends(item, tap.axis)]
        places = [loop for loop in call.nest.axes for item in items if depends(item, loop.axis)]
        size = call.args[tap.extent.value]
        if len(items) == 1 and items[0] is axis(tap.axis) and not _guarded(data, [], tap.axis):
            channels.append(tap)
        elif len(items) == 1 and len(places) == 1 and not is_symbolic(size) and size in OUTPUTS:
            (item,), (place,) = items, places
            alone = sum(depends(other, place.axis) for other in load_index(data)) == 1 and not _guarded(data, [item], tap.axis, place.axis)
            if alone and step(item, tap.axis) == 1 and step(item, place.axis) == 1:
                windows.append(Window(place, tap, size, OUTPUTS[size]))
    return windows, channels


def _guarded(data: Expr, known: Sequence[Expr], *names: str) -> bool:
    """Whether the guard of a load asks for loops otherwise than through `known` expressions."""
    guard = load_guard(data)
    if guard is None:
        return False
    hidden = rebuild(guard[0], lambda expr: const(0, INT) if expr in known else None)
    return any(depends(hidden, name) for name in names)


def _worthwhile(found: Convolution) -> Convolution | None:
    """The convolution with tiles that fit its size, where channels and features are enough to pay for the transforms."""
    sizes = [found.size(found.channel), found.size(found.feature)]
    if any(map(is_symbolic, sizes)) or min(sizes) < LEAST_CHANNELS or len(found.windows) > 2:
        return None
    if prod(map(sampled, found.grid)) < FEW_TILES:
        found = replace(found, windows=tuple(replace(w, outputs=SMALL.get(w.taps, w.outputs)) for w in found.windows))
    if prod(map(sampled, found.grid)) < FEW_TILES or found.points > 36:
        return None
    return found


class _Writer:
    def __init__(self, found: Convolution, target: Target, number: int) -> None:
        self.found, self.call, self.target = found, found.call, target
        self.channels, self.features = found.size(found.channel), found.size(found.feature)
        self.tiles = prod(found.grid)
        self.blocked = not target.threads
        self.block = self.tiles if not self.blocked else _block(self.tiles)
        (self.out,) = found.call.outputs
        self.filters = View(f"{self.out.name}~{number}/filters", Type("float32", (found.points, self.channels, self.features)))
        self.data, self.products = (
            View(f"{self.out.name}~{number}/{name}", Type("float32", (found.points, self.block * size + APART)))
            for name, size in (("data", self.channels), ("products", self.features))
        )
        self.counter = dim.counter(BLOCK)
        self.arguments: dict[str, Expr] = {}

    def written(self) -> Fast:
        calls = (self.transform(), self.multiply(), self.invert())
        count = dim.floordiv(self.tiles + self.block - 1, self.block)
        return Fast(self.filter(), (Repeat(BLOCK, count, calls),) if self.blocked else calls)

    def nest(self) -> tuple[Lowering, NestBuilder]:
        low = Lowering([], [self.out], self.call.layer)
        self.arguments = {}
        return low, low.nest()

    def filter(self) -> NestCall:
        low, nest = self.nest()
        channel, feature = nest.axes((self.channels, self.features))
        known = {self.found.channel.axis: channel, self.found.feature.axis: feature}
        taps = {
            place: self.load(
                nest, self.found.filter, known | {w.tap.axis: const(n, INT) for w, n in zip(self.found.windows, place, strict=True)}
            )
            for place in product(*(range(window.taps) for window in self.found.windows))
        }
        for number, value in enumerate(self.transformed(taps, [partial(toom_cook.filters, count=w.points) for w in self.found.windows])):
            nest.store(self.filters, value, (const(number, INT), channel, feature))
        nest.done()
        return low.calls[0]

    def transform(self) -> NestCall:
        low, nest = self.nest()
        tile, channel = nest.axes((self.block, self.channels))
        known = self.places(nest, tile) | {self.found.channel.axis: channel}
        values = {}
        for place in product(*(range(window.points) for window in self.found.windows)):
            at = known | {w.tap.axis: const(n, INT) for w, n in zip(self.found.windows, place, strict=True)}
            values[place] = self.load(nest, self.found.data, at, inside=True)
        along = tile * nest.number(self.channels) + channel
        for number, value in enumerate(self.transformed(values, [toom_cook.data] * len(self.found.windows))):
            nest.store(self.data, value, (const(number, INT), along))
        nest.done()
        return low.calls[0]

    def multiply(self) -> NestCall:
        low, nest = self.nest()
        point, tile, feature = nest.axes((self.found.points, self.block, self.features))
        channel = nest.reduce(self.channels)
        data = nest.load(self.data, (point, tile * nest.number(self.channels) + channel))
        total = nest.accumulate("sum", data * nest.load(self.filters, (point, channel, feature)))
        nest.store(self.products, total, (point, tile * nest.number(self.features) + feature))
        nest.done()
        return low.calls[0]

    def invert(self) -> NestCall:
        """Each tile is stored from its end, so that what lies beyond the image is overwritten by its last row and column."""
        low, nest = self.nest()
        tile, feature = nest.axes((self.block, self.features))
        begin = self.places(nest, tile) | {self.found.feature.axis: feature}
        along = tile * nest.number(self.features) + feature
        loaded = [nest.load(self.products, (const(number, INT), along)) for number in range(self.found.points)]
        values = dict(zip(product(*(range(window.points) for window in self.found.windows)), loaded, strict=True))
        forms = [partial(toom_cook.outputs, count=w.outputs) for w in self.found.windows]
        results = dict(
            zip(product(*(range(window.outputs) for window in self.found.windows)), self.transformed(values, forms), strict=True)
        )
        (out,) = self.call.nest.outputs
        lasts = {window.place.axis: nest.argument(self.found.size(window.place)) - const(1, INT) for window in self.found.windows}
        for place, total in reversed(results.items()):
            known = dict(begin)
            for window, number in zip(self.found.windows, place, strict=True):
                size = self.found.size(window.place)
                here = begin[window.place.axis] + const(number, INT)
                whole = not is_symbolic(size) and size % window.outputs == 0
                known[window.place.axis] = here if whole else apply("min", here, lasts[window.place.axis])
            value, *index = (self.ported(nest, expr, known, total) for expr in (out.value, *out.index))
            nest.store(self.out, value, index)
        nest.done()
        return low.calls[0]

    @staticmethod
    def transformed(values: Mapping[tuple[int, ...], Expr], forms: Sequence[Transform]) -> list[Expr]:
        """Values on a grid, transformed along each of its dimensions, in row-major order."""
        grid = dict(values)
        for d, form in enumerate(forms):
            lines: dict[tuple[int, ...], list[Expr]] = {}
            for place in sorted(grid):
                lines.setdefault((*place[:d], *place[d + 1 :]), []).append(grid[place])
            grid = {(*rest[:d], n, *rest[d:]): value for rest, line in lines.items() for n, value in enumerate(form(line))}
        return [grid[place] for place in sorted(grid)]

    def places(self, nest: NestBuilder, tile: Expr) -> dict[str, Expr]:
        """The batch loops and the first outputs of a tile, by the names of their loops; the last block repeats its last tile."""
        number = tile
        if self.blocked:
            number = apply("min", tile + nest.argument(self.counter * self.block), nest.argument(self.tiles) - const(1, INT))
        loops = [*self.found.batch, *(window.place for window in self.found.windows)]
        known: dict[str, Expr] = {}
        above = self.tiles
        for loop, size in reversed(list(zip(loops, self.found.grid, strict=True))):
            if len(known) + 1 < len(loops):
                extent = nest.argument(size)
                whole = quotient(number, extent, above, size, self.target)
                known[loop.axis], number = number - whole * extent, whole
                above = dim.floordiv(above, size)
            else:
                known[loop.axis] = number
        for window in self.found.windows:
            known[window.place.axis] = known[window.place.axis] * const(window.outputs, INT)
        return known

    def load(self, nest: NestBuilder, expr: Expr, known: Mapping[str, Expr], *, inside: bool = False) -> Expr:
        """A load of the convolution with its loops at other places; `inside`: which may lie beyond the image."""
        view = self.call.inputs[expr.value[0]]
        index = [self.ported(nest, item, known) for item in load_index(expr)]
        guard = load_guard(expr)
        condition = None if guard is None else self.ported(nest, guard[0], known)
        for window in self.found.windows if inside else ():
            size = self.found.size(window.place)
            if not is_symbolic(size) and size % window.outputs == 0:
                continue
            for d, item in enumerate(load_index(expr)):
                if depends(item, window.place.axis) and (guard is None or not depends(guard[0], window.place.axis)):
                    within = nest.inside(index[d], view[d])
                    condition = within if condition is None else apply("and", condition, within)
        return nest.load(view, index, condition, 0 if guard is None else guard[1].value)

    def ported(self, nest: NestBuilder, root: Expr, known: Mapping[str, Expr], total: Expr | None = None) -> Expr:
        """An expression of the convolution in another nest, with its loops at `known` places and `total` for its sum."""

        def change(expr: Expr) -> Expr | None:
            if expr.op == "axis":
                return known.get(expr.value)
            if expr.op == "arg" and expr.value in self.call.args:
                if expr.value not in self.arguments:
                    self.arguments[expr.value] = nest.argument(self.call.args[expr.value])
                return self.arguments[expr.value]
            if expr.op == "acc":
                return total
            if expr.op == "load":
                position, guarded = expr.value
                index, rest = (expr.args[:-2], expr.args[-2:]) if guarded else (expr.args, ())
                made = nest.load(self.call.inputs[position], index)
                return make("load", expr.type, (*index, *rest), (made.value[0], guarded))
            return None

        return rebuild(root, change)


def _block(tiles: int) -> int:
    """How many tiles a block has: about TILES, as evenly as it goes, in whole rows of a contraction."""
    if is_symbolic(tiles):
        return TILES
    blocks = max(1, round(tiles / TILES))
    each = (tiles + blocks - 1) // blocks
    return (each + ROWS - 1) // ROWS * ROWS
