"""Which calls are convolutions of stride 1 that fewer multiplications compute faster, and their
parts.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import is_symbolic
from webkiln.ir.solve import nominal_size
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import INT, Expr, axis, const, rebuild, walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.steps import NestCall

OUTPUTS = {2: 3, 3: 4, 5: 2, 7: 4}
"""Size of a filter -> how many neighbouring outputs a tile has."""
SMALL = {3: 2}
"""The same where there are fewer than `FEW_TILES` otherwise."""
FEW_TILES = 16
MOST_POINTS = 36
"""What a tile is at most transformed to: values that are computed together."""
LEAST_CHANNELS = 16
Position = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A parallel loop of `size` points and the reduction loop over a filter of `taps` that moves
    along it; `outputs` of a tile on it.
    """

    place: Loop
    size: int
    tap: Loop
    taps: int
    outputs: int

    @property
    def points(self) -> int:
        return self.taps + self.outputs - 1

    @property
    def tiles(self) -> int:
        return dim.floordiv(self.size + self.outputs - 1, self.outputs)

    @property
    def whole(self) -> bool:
        """Whether the last tile certainly ends where the image does."""
        return not is_symbolic(self.size) and self.size % self.outputs == 0


@dataclass(frozen=True, slots=True)
class Convolution:
    """A call that is one: its factors, windows and other loops."""

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
        return (*map(self.size, self.batch), *(window.tiles for window in self.windows))

    @property
    def taps(self) -> Iterator[Position]:
        return product(*(range(window.taps) for window in self.windows))

    @property
    def points(self) -> Iterator[Position]:
        return product(*(range(window.points) for window in self.windows))

    @property
    def outputs(self) -> Iterator[Position]:
        return product(*(range(window.outputs) for window in self.windows))


def recognised(call: NestCall, constants: Collection[str]) -> Convolution | None:
    """The convolution with a constant filter that a call is, with channels and features enough for
    fewer multiplications to pay.
    """
    factors = _factors(call, constants)
    if factors is None or any(
        loop.extent.op != "arg" for loop in (*call.nest.axes, *call.nest.reduce)
    ):
        return None
    data, weight = factors
    features = [
        loop
        for loop in call.nest.axes
        if any(depends(item, loop.axis) for item in load_index(weight))
    ]
    windows, channels = _windows(call, data)
    if not windows or len(windows) + len(channels) != len(call.nest.reduce) or len(channels) != 1:
        return None
    if len(features) != 1 or depends(data, features[0].axis):
        return None
    paired = {window.place for window in windows}
    batch = tuple(loop for loop in call.nest.axes if loop not in paired and loop not in features)
    found = Convolution(call, data, weight, tuple(windows), batch, channels[0], features[0])
    sizes = [found.size(found.channel), found.size(found.feature)]
    return (
        None
        if any(map(is_symbolic, sizes)) or min(sizes) < LEAST_CHANNELS or len(windows) > 2
        else found
    )


def _factors(call: NestCall, constants: Collection[str]) -> tuple[Expr, Expr] | None:
    """The data and the filter that a contraction of floats multiplies."""
    nest = call.nest
    operands = (*nest.inputs, *(out.operand for out in nest.outputs))
    if (
        not nest.is_contraction
        or len(nest.outputs) != 1
        or any(operand.dtype != "float32" for operand in operands)
    ):
        return None
    factors = nest.accumulators[0].body.args
    if any(item.op != "load" for item in factors):
        return None
    weights = [
        item
        for item in factors
        if load_guard(item) is None and call.inputs[item.value[0]].name in constants
    ]
    if len(weights) != 1 or any(
        is_symbolic(call.args[e.value]) for e in walk(load_index(weights[0])) if e.op == "arg"
    ):
        return None
    (data,) = (item for item in factors if item is not weights[0])
    return data, weights[0]


def _windows(call: NestCall, data: Expr) -> tuple[list[Window], list[Loop]]:
    """The windows that the data are read through, and the reduction loops that move along
    dimensions of their own.
    """
    windows, channels = [], []
    for tap in call.nest.reduce:
        items = [item for item in load_index(data) if depends(item, tap.axis)]
        places = [loop for loop in call.nest.axes for item in items if depends(item, loop.axis)]
        taps = call.args[tap.extent.value]
        if len(items) == 1 and items[0] is axis(tap.axis) and not _guarded(data, [], tap.axis):
            channels.append(tap)
        elif len(items) == 1 and len(places) == 1 and not is_symbolic(taps) and taps in OUTPUTS:
            (item,), (place,) = items, places
            alone = sum(
                depends(other, place.axis) for other in load_index(data)
            ) == 1 and not _guarded(data, [item], tap.axis, place.axis)
            if alone and step(item, tap.axis) == 1 and step(item, place.axis) == 1:
                windows.append(
                    Window(place, call.args[place.extent.value], tap, taps, OUTPUTS[taps])
                )
    return windows, channels


def _guarded(data: Expr, known: Sequence[Expr], *names: str) -> bool:
    """Whether the guard of a load asks for loops otherwise than through `known` expressions."""
    guard = load_guard(data)
    if guard is None:
        return False
    hidden = rebuild(guard[0], lambda expr: const(0, INT) if expr in known else None)
    return any(depends(hidden, name) for name in names)


def forms(found: Convolution) -> list[Convolution]:
    """The convolution in tiles of every size whose errors are bounded, the largest first."""
    small = replace(
        found,
        windows=tuple(replace(w, outputs=SMALL.get(w.taps, w.outputs)) for w in found.windows),
    )
    both = [found] if small.windows == found.windows else [found, small]
    return [form for form in both if prod(window.points for window in form.windows) <= MOST_POINTS]


def usual(found: Convolution) -> Convolution | None:
    """The form that is taken where nothing was measured: of the largest tiles of which there are
    enough to pay for the transforms.
    """
    return next(filter(_many_tiles, forms(found)), None)


def _many_tiles(found: Convolution) -> bool:
    return prod(map(nominal_size, found.grid)) >= FEW_TILES
