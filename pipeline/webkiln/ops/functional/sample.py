"""Images sampled at positions that are computed when the model runs."""

from collections.abc import Sequence
from math import prod

from webkiln.ir.dim import Size, is_symbolic, maximum
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.slices import reversed_along, sliced
from webkiln.ops.pieces import cast, iota, reshaped, transposed

MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}
DATA_DEPENDENT_RATIO = (
    "uses a data-dependent number of samples",
    "Export it with a sampling_ratio above 0",
)
"""Why `roi_align` needs a sampling ratio, and what to do instead."""


def size_vector(b: GraphBuilder, sizes: Sequence[Size], dtype: str) -> Tensor:
    """Sizes as numbers, [len(sizes)]."""
    return b.op("Sizes", [], {"sizes": tuple(sizes), "dtype": dtype})


def grid_positions(b: GraphBuilder, grid: Tensor, sizes: Tensor, *, corners: bool) -> Tensor:
    """Positions from -1 to 1 as indices along axes of these sizes. With `corners`, -1 and 1 are the
    centres of the first and the last pixel, otherwise their outer edges.
    """
    return (
        b.op("Mul", [(grid + 1.0) * 0.5, sizes - 1.0])
        if corners
        else (b.op("Mul", [grid + 1.0, sizes]) - 1.0) * 0.5
    )


def grid_sample(
    b: GraphBuilder, x: Tensor, grid: Tensor, *, mode: str, padding: str, corners: bool
) -> Tensor:
    """x [N, C, ...] at the positions in the grid [N, ..., d], which range from -1 to 1, the last
    axis first. `mode` is a key of MODES, `padding` is zeros, border or reflection.
    """
    precision = x.dtype if is_float(x.dtype) else "float32"
    grid = cast(b, grid, precision)
    reversed_grid = reversed_along(b, grid, grid.type.rank - 1)
    sizes = size_vector(b, x.shape[2:], precision)
    positions = grid_positions(b, reversed_grid, sizes, corners=corners)
    wide = reshaped(b, positions, (grid.shape[0], 1, *grid.shape[1:]))
    attrs = {"mode": MODES[mode], "padding": padding, "corners": corners}
    return cast(b, b.op("Sample", [cast(b, x, precision), wide], attrs), x.dtype)


def _divided(x: Tensor, numerator: int, size: Size) -> Tensor:
    """x * numerator / size."""
    return x * numerator / size if is_symbolic(size) else x * (numerator / size)


def affine_grid(b: GraphBuilder, theta: Tensor, sizes: Sequence[Size], *, corners: bool) -> Tensor:
    """theta [N, d, d + 1] applied to the positions of an image with spatial `sizes`, which range
    from -1 to 1, the last axis first: [N, *sizes, d].
    """
    count = len(sizes)
    parts = []
    for d in reversed(range(count)):
        steps = iota(b, sizes[d], theta.dtype)
        line = (
            _divided(steps, 2, maximum([sizes[d] - 1, 1])) - 1.0
            if corners
            else _divided(steps * 2.0 + 1.0, 1, sizes[d]) - 1.0
        )
        coordinate = reshaped(
            b, line, [*(sizes[d] if axis == d else 1 for axis in range(count)), 1]
        )
        parts.append(b.op("Broadcast", [coordinate], {"shape": (*sizes, 1)}))
    ones = b.op("Broadcast", [b.constant(1, theta.dtype)], {"shape": (*sizes, 1)})
    base = reshaped(b, b.op("Concat", [*parts, ones], {"axis": count}), (prod(sizes), count + 1))
    return reshaped(
        b,
        b.op("MatMul", [base, theta], {"transpose_b": True}),
        (theta.shape[0], *sizes, count),
    )


def deform_conv(
    b: GraphBuilder,
    x: Tensor,
    w: Tensor,
    offsets: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    strides: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
    groups: int = 1,
    offset_groups: int = 1,
) -> Tensor:
    """A deformable convolution. Offsets are [N, offset_groups * taps * d, ...], the mask is [N,
    offset_groups * taps, ...]. The taps are sampled first, then multiplied by the kernel.
    """
    count, window = x.type.rank - 2, w.shape[2:]
    taps, out = prod(window), offsets.shape[2:]
    split = reshaped(b, offsets, (x.shape[0], offset_groups, taps, count, *out))
    moved = transposed(b, split, (0, 1, 2, *range(4, 4 + count), 3))
    base = _tap_positions(b, x.dtype, window, out, strides, pads, dilation)
    positions = reshaped(
        b, b.op("Add", [moved, base]), (x.shape[0], offset_groups, taps, *out, count)
    )
    samples = b.op("Sample", [x, positions], {"mode": "linear", "padding": "zeros"})
    if mask is not None:
        mask = reshaped(b, mask, (x.shape[0], offset_groups, 1, taps, *out))
        grouped = reshaped(
            b, samples, (x.shape[0], offset_groups, x.shape[1] // offset_groups, taps, *out)
        )
        samples = reshaped(b, b.op("Mul", [grouped, mask]), (x.shape[0], x.shape[1], taps, *out))
    features = w.shape[0]
    columns = reshaped(b, samples, (x.shape[0], groups, x.shape[1] // groups * taps, prod(out)))
    kernel = reshaped(b, w, (groups, features // groups, x.shape[1] // groups * taps))
    y = reshaped(b, b.op("MatMul", [kernel, columns]), (x.shape[0], features, *out))
    return y if bias is None else b.op("Add", [y, reshaped(b, bias, (features, *[1] * count))])


def _tap_positions(
    b: GraphBuilder,
    dtype: str,
    window: Sequence[Size],
    out: Sequence[Size],
    strides: Sequence[int],
    pads: Sequence[int],
    dilation: Sequence[int],
) -> Tensor:
    """The position of each tap of each window, [taps, *out, d]."""
    count, taps = len(window), prod(window)
    parts = []
    for d in range(count):
        steps = iota(b, out[d], "int32") * strides[d] - pads[d]
        origin = reshaped(b, steps, [1, *(out[d] if axis == d else 1 for axis in range(count))])
        inner = reshaped(
            b,
            iota(b, window[d], "int32") * dilation[d],
            [window[d] if axis == d else 1 for axis in range(count)],
        )
        spread = b.op("Broadcast", [inner], {"shape": tuple(window)})
        position = b.op("Add", [origin, reshaped(b, spread, (taps, *[1] * count))])
        parts.append(reshaped(b, cast(b, position, dtype), (taps, *position.shape[1:], 1)))
    axes = [b.op("Broadcast", [item], {"shape": (taps, *out, 1)}) for item in parts]
    return b.op("Concat", axes, {"axis": count + 1})


def roi_align(
    b: GraphBuilder,
    x: Tensor,
    regions: Tensor,
    images: Tensor,
    *,
    bins: tuple[int, int],
    ratio: int,
    scale: float,
    half_pixel: bool,
    mode: str = "avg",
) -> Tensor:
    """x [N, C, H, W], regions [R, 4] as x1, y1, x2, y2, and the image index of each: [R, C, *bins].
    Each output is the mean or, if `mode` is max, the maximum of ratio * ratio samples.
    """
    rows, columns = bins
    count = regions.shape[0]
    scaled = regions * scale - (0.5 if half_pixel else 0.0)
    x1, y1, x2, y2 = (sliced(b, scaled, 1, number, 1) for number in range(4))
    axis_positions = []
    for first, last, number in ((y1, y2, rows), (x1, x2, columns)):
        span = last - first if half_pixel else b.op("Max", [last - first, b.constant(1.0, x.dtype)])
        steps = reshaped(
            b,
            (iota(b, number * ratio, x.dtype) + 0.5) * (1 / (number * ratio)),
            (1, number * ratio),
        )
        axis_positions.append(b.op("Add", [first, b.op("Mul", [steps, span])]))
    shape = (count, 1, rows * ratio, columns * ratio, 1)
    ys, xs = (
        b.op("Broadcast", [reshaped(b, line, (count, 1, *own, 1))], {"shape": shape})
        for line, own in zip(axis_positions, ((rows * ratio, 1), (1, columns * ratio)), strict=True)
    )
    positions = b.op("Concat", [ys, xs], {"axis": 4})
    samples = _samples_inside(b, b.op("Gather", [x, images], {"axis": 0}), positions, mode)
    split = reshaped(b, samples, (count, x.shape[1], rows, ratio, columns, ratio))
    return b.op(
        "ReduceMax" if mode == "max" else "ReduceMean", [split], {"axes": (3, 5), "keepdims": False}
    )


def _samples_inside(b: GraphBuilder, x: Tensor, positions: Tensor, mode: str) -> Tensor:
    """Samples of x, clamped to its border; 0 more than one pixel outside."""
    attrs = {"mode": "largest" if mode == "max" else "linear", "padding": "border"}
    samples = b.op("Sample", [x, positions], attrs)
    sizes = size_vector(b, x.shape[2:], x.dtype)
    in_range = b.op(
        "And",
        [
            b.op("GreaterEqual", [positions, b.constant(-1.0, x.dtype)]),
            b.op("LessEqual", [positions, sizes]),
        ],
    )
    inside = b.op("ReduceMin", [cast(b, in_range, "int32")], {"axes": (4,), "keepdims": False})
    return b.op("Where", [cast(b, inside, "bool"), samples, b.constant(0, x.dtype)])


def max_roi_pool(
    b: GraphBuilder, x: Tensor, regions: Tensor, bins: Sequence[int], scale: float
) -> Tensor:
    """x [N, C, H, W], regions [R, 5]: the image index, x1, y1, x2, y2. The maximum of each bin, 0
    for an empty one.
    """
    count = regions.shape[0]
    images = cast(b, reshaped(b, sliced(b, regions, 1, 0, 1), (count,)), "int32")
    y = b.op("Gather", [x, images], {"axis": 0})
    corners = cast(b, b.op("Floor", [sliced(b, regions, 1, 1, 4) * scale + 0.5]), "int32")
    for number, (bin_count, size) in enumerate(zip(bins, x.shape[2:], strict=True)):
        first, last = (sliced(b, corners, 1, column, 1) for column in (1 - number, 3 - number))
        inside = _in_bins(b, first, last, bin_count, size)
        shape = (count, 1, bin_count, size, 1) if number == 0 else (count, 1, 1, bin_count, size)
        rest = (*y.shape[:2], 1, *y.shape[2:]) if number == 0 else (*y.shape[:3], 1, y.shape[3])
        masked = b.op(
            "Where",
            [
                reshaped(b, inside, shape),
                reshaped(b, y, rest),
                b.constant(float("-inf"), x.dtype),
            ],
        )
        y = b.op("ReduceMax", [masked], {"axes": (3 + number,), "keepdims": False})
    return b.op("Where", [b.op("IsInf", [y]), b.constant(0, x.dtype), y])


def _in_bins(b: GraphBuilder, first: Tensor, last: Tensor, bins: int, size: Size) -> Tensor:
    """Whether each position of an axis is in each bin of each region, [R, bins, size]."""
    count = first.shape[0]
    span = b.op("Max", [last - first + 1, b.constant(1, "int32")])
    numbers, total = reshaped(b, iota(b, bins, "int32"), (1, bins)), b.constant(bins, "int32")
    begin = b.op("FloorDiv", [b.op("Mul", [numbers, span]), total]) + first
    end = first - b.op("FloorDiv", [b.op("Mul", [-1 - numbers, span]), total])
    position = iota(b, size, "int32")
    ends = [reshaped(b, item, (count, bins, 1)) for item in (begin, end)]
    return b.op(
        "And", [b.op("GreaterEqual", [position, ends[0]]), b.op("Less", [position, ends[1]])]
    )
