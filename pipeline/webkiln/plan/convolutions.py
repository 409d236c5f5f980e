"""Match convolutions of stride 1 that Winograd's algorithm computes with fewer multiplications."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from webkiln.ir import dim
from webkiln.ir.dim import Shape, Size, is_symbolic
from webkiln.ir.solve import nominal_size
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import INT, Expr, axis, const, rebuild, walk
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.steps import NestCall

OUTPUTS = {2: 3, 3: 4, 5: 2, 7: 4}
"""Filter size -> outputs of a tile along a window."""
SMALL = {3: 2}
"""The same for small tiles, used where large ones would number fewer than `MIN_TILES`."""
MIN_TILES = 16
MAX_POINTS = 36
"""The most points of a transformed tile. They are live at the same time."""
MIN_CHANNELS = 16
Position = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A parallel loop of `size` points, and the reduction loop over a filter of `taps` that slides
    along it. `outputs`: those of a tile along the window.
    """

    loop: Loop
    size: Size
    tap: Loop
    taps: int
    outputs: int

    @property
    def points(self) -> int:
        return self.taps + self.outputs - 1

    @property
    def tiles(self) -> Size:
        return dim.floordiv(self.size + self.outputs - 1, self.outputs)

    @property
    def is_exact(self) -> bool:
        """Whether the last tile is known to end where the image does."""
        return not is_symbolic(self.size) and self.size % self.outputs == 0


@dataclass(frozen=True, slots=True)
class Convolution:
    """A call that is a convolution: its factors, windows and other loops."""

    call: NestCall
    data: Expr
    filter: Expr
    windows: tuple[Window, ...]
    batch: tuple[Loop, ...]
    channel: Loop
    feature: Loop

    def size(self, loop: Loop) -> Size:
        return self.call.args[loop.extent.value]

    @property
    def grid(self) -> Shape:
        """The sizes of the batch loops, then the number of tiles along each window."""
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


def match_convolution(call: NestCall, constants: Collection[str]) -> Convolution | None:
    """Match a call that is a convolution with a constant filter and at least `MIN_CHANNELS`
    channels and features.
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
    paired = {window.loop for window in windows}
    batch = tuple(loop for loop in call.nest.axes if loop not in paired and loop not in features)
    convolution = Convolution(call, data, weight, tuple(windows), batch, channels[0], features[0])
    sizes = [convolution.size(convolution.channel), convolution.size(convolution.feature)]
    return (
        None
        if any(map(is_symbolic, sizes)) or min(sizes) < MIN_CHANNELS or len(windows) > 2
        else convolution
    )


def _factors(call: NestCall, constants: Collection[str]) -> tuple[Expr, Expr] | None:
    """The data and the filter of a float32 contraction."""
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
    """The windows through which the data are read, and the reduction loops that move along
    dimensions of their own.
    """
    windows, channels = [], []
    for tap in call.nest.reduce:
        items = [item for item in load_index(data) if depends(item, tap.axis)]
        loops = [loop for loop in call.nest.axes for item in items if depends(item, loop.axis)]
        taps = call.args[tap.extent.value]
        if len(items) == 1 and items[0] is axis(tap.axis) and not _guarded(data, [], tap.axis):
            channels.append(tap)
        elif len(items) == 1 and len(loops) == 1 and not is_symbolic(taps) and taps in OUTPUTS:
            (item,), (loop,) = items, loops
            separable = sum(
                depends(other, loop.axis) for other in load_index(data)
            ) == 1 and not _guarded(data, [item], tap.axis, loop.axis)
            if separable and step(item, tap.axis) == 1 and step(item, loop.axis) == 1:
                windows.append(Window(loop, call.args[loop.extent.value], tap, taps, OUTPUTS[taps]))
    return windows, channels


def _guarded(data: Expr, expected: Sequence[Expr], *names: str) -> bool:
    """Whether the guard of a load depends on loops other than through `expected` expressions."""
    guard = load_guard(data)
    if guard is None:
        return False
    hidden = rebuild(guard[0], lambda expr: const(0, INT) if expr in expected else None)
    return any(depends(hidden, name) for name in names)


def forms(convolution: Convolution) -> list[Convolution]:
    """The convolution in every tile size with bounded errors, the largest first."""
    small = replace(
        convolution,
        windows=tuple(
            replace(w, outputs=SMALL.get(w.taps, w.outputs)) for w in convolution.windows
        ),
    )
    both = [convolution] if small.windows == convolution.windows else [convolution, small]
    return [form for form in both if prod(window.points for window in form.windows) <= MAX_POINTS]


def default_form(convolution: Convolution) -> Convolution | None:
    """The form used without measurements: the largest tiles that are numerous enough to justify the
    transforms.
    """
    return next(filter(_many_tiles, forms(convolution)), None)


def _many_tiles(convolution: Convolution) -> bool:
    return prod(map(nominal_size, convolution.grid)) >= MIN_TILES
