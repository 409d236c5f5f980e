"""Images sampled at computed positions."""

from collections.abc import Sequence
from functools import reduce
from itertools import product
from math import pi

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, is_symbolic, known
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.image import channels_last
from webkiln.ops.functional.linalg import solve
from webkiln.ops.functional.operands import FLOAT, Argument, floating, operands, tensor
from webkiln.ops.pieces import (
    cast,
    element,
    filled,
    iota,
    reshaped,
    sized,
    stacked,
    total,
    transposed,
    widened,
)

METHODS = dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), "linear") | dict.fromkeys(
    ("cubic", "bicubic", "tricubic"), "cubic"
)
RADIUS = {"lanczos3": 3.0, "lanczos5": 5.0}
MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def affine_transform(
    b: GraphBuilder,
    images: Argument,
    transform: Argument,
    interpolation: str = "bilinear",
    fill_mode: str = "constant",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """The transform is that of `projected`."""
    original = tensor(b, images)
    x, back = channels_last(
        b, original if original.dtype == "float64" else cast(b, original, FLOAT), data_format
    )
    y = projected(
        b, x, tensor(b, transform), x.shape[1:3], interpolation, fill_mode, float(fill_value)
    )
    return cast(b, back(y), original.dtype)


def projected(
    b: GraphBuilder,
    x: Tensor,
    transforms: Tensor,
    size: Sequence[Size],
    interpolation: str,
    fill_mode: str,
    fill_value: float,
) -> Tensor:
    """Images [N, height, width, C] of `size` after transforms [8], [1, 8] or [N, 8] (a0, a1, a2,
    b0, b1, b2, c0, c1): output position (x, y) samples the image at ((a0 x + a1 y + a2) / k, (b0 x
    + b1 y + b2) / k), where k = c0 x + c1 y + 1.
    """
    numbers = cast(b, transforms, FLOAT)
    rows = reshaped(b, numbers, (1, 8)) if numbers.type.rank == 1 else numbers
    height, width = x.shape[1:3]
    across, down = (cast(b, iota(b, count, "int32"), FLOAT) for count in (size[1], size[0]))
    down = reshaped(b, down, (size[0], 1))

    def line(*which: int) -> Tensor:
        first, second, *rest = (
            reshaped(b, element(b, rows, 1, index), (rows.shape[0], 1, 1)) for index in which
        )
        y = b.op("Add", [b.op("Mul", [first, across]), b.op("Mul", [second, down])])
        return b.op("Add", [y, rest[0]]) if rest else y + 1.0

    scale = line(6, 7)
    column, row = (
        _folded(b, b.op("Div", [line(*which), scale]), extent, fill_mode)
        for which, extent in (((0, 1, 2), width), ((3, 4, 5), height))
    )
    visible = b.binary("NotEqual", scale, 0.0)
    return _read_at(b, x, row, column, visible, interpolation, fill_value)


def _folded(b: GraphBuilder, position: Tensor, size: Size, mode: str) -> Tensor:
    """Move a position inside the image according to TensorFlow's fill mode."""
    if mode == "constant":
        return position
    if mode not in ("reflect", "wrap", "nearest"):
        raise ShapeError(
            f"{b.layer}: fill_mode {mode!r} is not supported; use constant, nearest, reflect"
            " or wrap"
        )
    if mode == "nearest" or size == 1:
        return _bounded(b, position, size)
    extent = sized(b, size, position.dtype)
    last = extent - 1.0
    before, after = b.binary("Less", position, 0.0), b.op("Greater", [position, last])
    if mode == "reflect":
        phase = b.op("Mod", [b.op("Where", [before, -position, position]), extent * 2.0])
        opposite = b.op("Sub", [extent * 2.0, phase])
        inner = b.op("Where", [b.op("Greater", [phase, extent]), opposite, phase - 1.0])
        outer = b.op("Where", [b.op("Less", [phase, extent]), phase, opposite - 1.0])
    else:
        rounds = [
            b.op("Floor", [b.op("Div", [item, b.binary("Max", last, 1.0)])])
            for item in (-position, position)
        ]
        inner = b.op("Add", [position, b.op("Mul", [rounds[0] + 1.0, extent])])
        outer = b.op("Sub", [position, b.op("Mul", [rounds[1], extent])])
    return _bounded(
        b, b.op("Where", [before, inner, b.op("Where", [after, outer, position])]), size
    )


def _bounded(b: GraphBuilder, position: Tensor, size: Size) -> Tensor:
    """The nearest position in 0..size - 1."""
    return b.op("Min", [b.binary("Max", position, 0), sized(b, size - 1, position.dtype)])


def _read_at(
    b: GraphBuilder,
    x: Tensor,
    row: Tensor,
    column: Tensor,
    visible: Tensor,
    interpolation: str,
    fill: float,
) -> Tensor:
    """Sample x [N, H, W, C] at positions [N or 1, H, W]; `fill` outside and where not `visible`."""
    n, height, width, channels = x.shape
    background = b.constant(fill, x.dtype)

    def at(down: Tensor, across: Tensor) -> Tensor:
        inside = reduce(
            lambda p, q: b.op("And", [p, q]), [_within(b, down, height), _within(b, across, width)]
        )
        flat = [
            cast(b, _bounded(b, item, size), "int32")
            for item, size in ((down, height), (across, width))
        ]
        index = widened(
            b,
            b.op("Add", [b.op("Mul", [flat[0], sized(b, width, "int32")]), flat[1]]),
            (n, *down.shape[1:]),
        )
        values = b.op(
            "GatherND",
            [reshaped(b, x, (n, height * width, channels)), reshaped(b, index, (*index.shape, 1))],
            {"batch": 1},
        )
        return b.op("Where", [reshaped(b, inside, (*inside.shape, 1)), values, background])

    if interpolation == "nearest":
        nearest = [
            b.op("Mul", [b.op("Sign", [item]), b.op("Floor", [b.op("Abs", [item]) + 0.5])])
            for item in (row, column)
        ]
        y = at(*nearest)
    else:
        low = [b.op("Floor", [item]) for item in (row, column)]
        shares = [
            cast(b, reshaped(b, b.op("Sub", [a, f]), (*a.shape, 1)), x.dtype)
            for a, f in zip((row, column), low, strict=True)
        ]
        top, bottom = (
            b.op(
                "Add",
                [
                    b.op("Mul", [1.0 - shares[1], at(line, low[1])]),
                    b.op("Mul", [shares[1], at(line, low[1] + 1.0)]),
                ],
            )
            for line in (low[0], low[0] + 1.0)
        )
        y = b.op("Add", [b.op("Mul", [1.0 - shares[0], top]), b.op("Mul", [shares[0], bottom])])
    return b.op("Where", [reshaped(b, visible, (*visible.shape, 1)), y, background])


def _within(b: GraphBuilder, position: Tensor, size: Size) -> Tensor:
    return b.op(
        "And",
        [
            b.binary("GreaterEqual", position, 0),
            b.op("Less", [position, sized(b, size, position.dtype)]),
        ],
    )


def perspective_transform(
    b: GraphBuilder,
    images: Argument,
    start_points: Argument,
    end_points: Argument,
    interpolation: str = "bilinear",
    fill_value: float = 0,
    data_format: str | None = None,
) -> Tensor:
    """The projection that maps four points [4, 2] or [N, 4, 2] to four others."""
    start, end = (cast(b, tensor(b, points), FLOAT) for points in (start_points, end_points))
    start, end = (reshaped(b, points, (points.type.size // 8, 4, 2)) for points in (start, end))
    across, down = (element(b, end, 2, axis) for axis in (0, 1))
    one, zero = (filled(b, value, FLOAT, across.shape) for value in (1.0, 0.0))
    lines = []
    for axis, parts in (
        (0, (across, down, one, zero, zero, zero)),
        (1, (zero, zero, zero, across, down, one)),
    ):
        own = -element(b, start, 2, axis)
        lines.append(stacked(b, [*parts, b.op("Mul", [own, across]), b.op("Mul", [own, down])], 2))
    equations = reshaped(b, stacked(b, lines, 2), (start.shape[0], 8, 8))
    transform = reshaped(
        b, solve(b, equations, reshaped(b, start, (start.shape[0], 8, 1))), (start.shape[0], 8)
    )
    return affine_transform(
        b, images, transform, interpolation, "constant", fill_value, data_format
    )


def map_coordinates(
    b: GraphBuilder,
    inputs: Argument,
    coordinates: Argument,
    order: int,
    fill_mode: str = "constant",
    fill_value: float = 0,
) -> Tensor:
    """Sample at each position [rank, ...]: the nearest element (order 0), or linear interpolation
    (order 1).
    """
    if order not in (0, 1) or fill_mode not in MODES:
        raise ShapeError(
            f"{b.layer}: order {order} with {fill_mode!r} is not supported; use 0 or 1 with"
            f" {', '.join(MODES)}"
        )
    x = tensor(b, inputs)
    positions = [tensor(b, item) for item in coordinates] if isinstance(coordinates, list) else None
    if positions is None:
        grid = tensor(b, coordinates)
        positions = [
            element(b, grid, 0, axis)
            for axis in range(known(grid.shape[0], "the number of coordinates"))
        ]
    working = positions[0].dtype if order == 0 or is_float(positions[0].dtype) else FLOAT
    lines = [
        _nodes(b, cast(b, position, working), size, order, fill_mode)
        for position, size in zip(positions, x.shape, strict=True)
    ]
    parts = []
    for taps in product(*lines):
        values = cast(b, b.op("GatherND", [x, stacked(b, [tap[0] for tap in taps], -1)]), working)
        if fill_mode == "constant":
            inside = reduce(lambda p, q: b.op("And", [p, q]), [tap[1] for tap in taps])
            values = b.op(
                "Where", [inside, values, cast(b, b.constant(fill_value, x.dtype), working)]
            )
        weights = [tap[2] for tap in taps if tap[2] is not None]
        parts.append(reduce(lambda p, q: b.op("Mul", [p, q]), [*weights, values]))
    y = reduce(lambda p, q: b.op("Add", [p, q]), parts)
    return cast(b, y if is_float(x.dtype) or not is_float(working) else b.op("Round", [y]), x.dtype)


def _nodes(
    b: GraphBuilder, position: Tensor, size: Size, order: int, mode: str
) -> list[tuple[Tensor, Tensor, Tensor | None]]:
    """For each neighbour along an axis: its index, whether it is inside, and its weight."""
    if order == 0:
        index = cast(
            b, b.op("Round", [position]) if is_float(position.dtype) else position, "int32"
        )
        return [(_inside(b, index, size, mode), _within(b, index, size), None)]
    low = b.op("Floor", [position])
    share = b.op("Sub", [position, low])
    first = cast(b, low, "int32")
    return [
        (_inside(b, index, size, mode), _within(b, index, size), weight)
        for index, weight in ((first, 1.0 - share), (first + 1, share))
    ]


def _inside(b: GraphBuilder, index: Tensor, size: Size, mode: str) -> Tensor:
    """Move an index inside according to Keras's fill mode. `reflect` repeats the last element, and
    neither mode repeats the first.
    """
    if mode == "wrap":
        return b.op("Mod", [index, sized(b, size, index.dtype)])
    if mode in ("constant", "nearest"):
        return _bounded(b, index, size)
    phase = b.op("Mod", [b.op("Abs", [index]), sized(b, 2 * size, index.dtype)])
    back = b.op("Sub", [sized(b, 2 * size, index.dtype), phase])
    return b.op(
        "Where",
        [
            b.op("Less", [phase, sized(b, size, index.dtype)]),
            phase,
            back - 1 if mode == "reflect" else back,
        ],
    )


def scale_and_translate(
    b: GraphBuilder,
    images: Argument,
    output_shape: Sequence[int],
    scale: Argument,
    translation: Argument,
    *,
    spatial_dims: Sequence[int],
    method: str,
    antialias: bool = True,
) -> Tensor:
    """Resize each axis by a matrix product."""
    x = floating(b, images)
    factors, shifts = operands(b, scale, translation, floating=True)
    for number, axis in enumerate(axis % x.type.rank for axis in spatial_dims):
        factor, shift = (reshaped(b, element(b, item, 0, number), ()) for item in (factors, shifts))
        size = int(output_shape[axis])
        weights = cast(
            b,
            _weights(b, x.shape[axis], size, factor, shift, METHODS.get(method, method), antialias),
            x.dtype,
        )
        perm = [*(d for d in range(x.type.rank) if d != axis), axis]
        y = b.op("MatMul", [transposed(b, x, perm), weights])
        x = transposed(b, y, [perm.index(d) for d in range(x.type.rank)])
    return x


def _weights(
    b: GraphBuilder,
    size: Size,
    out: int,
    scale: Tensor,
    shift: Tensor,
    method: str,
    antialias: bool,
) -> Tensor:
    """The weight of each element [row] for each output [column]."""
    inverse = b.op("Reciprocal", [scale])
    position = b.op("Mul", [b.op("Sub", [iota(b, out, scale.dtype) + 0.5, shift]), inverse]) - 0.5
    rows = reshaped(b, iota(b, size, scale.dtype), (size, 1))
    distance = b.op("Abs", [b.op("Sub", [position, rows])])
    weights = _kernel(
        b, b.op("Div", [distance, b.binary("Max", inverse, 1.0)]) if antialias else distance, method
    )
    sums = total(b, weights, 0, keepdims=True)
    nonzero = b.binary("Greater", b.op("Abs", [sums]), 1000 * 1.1920929e-07)
    zero = b.constant(0.0, scale.dtype)
    shares = b.op(
        "Where",
        [
            nonzero,
            b.op("Div", [weights, b.op("Where", [nonzero, sums, b.constant(1.0, scale.dtype)])]),
            zero,
        ],
    )
    last = sized(b, size, scale.dtype) - 0.5 if is_symbolic(size) else size - 0.5
    inside = b.op(
        "And", [b.binary("GreaterEqual", position, -0.5), b.binary("LessEqual", position, last)]
    )
    return b.op("Where", [inside, shares, zero])


def _kernel(b: GraphBuilder, near: Tensor, method: str) -> Tensor:
    """The weight of an element at a distance."""
    zero = b.constant(0.0, near.dtype)
    if method == "linear":
        return b.op("Relu", [1.0 - near])
    if method == "cubic":
        inner = b.op("Mul", [b.op("Mul", [near * 1.5 - 2.5, near]), near]) + 1.0
        outer = b.op("Mul", [b.op("Mul", [near * -0.5 + 2.5, near]) - 4.0, near]) + 2.0
        return b.op(
            "Where",
            [
                b.binary("Less", near, 1.0),
                inner,
                b.op("Where", [b.binary("Less", near, 2.0), outer, zero]),
            ],
        )
    if method not in RADIUS:
        raise ShapeError(
            f"{b.layer}: method {method!r} is not supported; use linear, cubic, lanczos3 or"
            " lanczos5"
        )
    radius = RADIUS[method]
    wave = b.op("Mul", [b.op("Sin", [near * pi]), b.op("Sin", [near * (pi / radius)])]) * (
        radius / pi**2
    )
    square = b.op(
        "Where",
        [b.binary("Greater", near, 0.0), b.op("Square", [near]), b.constant(1.0, near.dtype)],
    )
    value = b.op(
        "Where",
        [b.binary("Greater", near, 1e-3), b.op("Div", [wave, square]), b.constant(1.0, near.dtype)],
    )
    return b.op("Where", [b.binary("Greater", near, radius), zero, value])
