"""Operators that sample images at data-dependent positions."""

from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.reduce import reduce_axes, reversed_
from webkiln.frontends.onnx.operators.shape import iota, reshaped, transposed
from webkiln.ir.types import is_float
from webkiln.ops.builder import Tensor

MODES = {
    "bilinear": "linear",
    "linear": "linear",
    "nearest": "nearest",
    "bicubic": "cubic",
    "cubic": "cubic",
}


def size_vector(call: NodeCall, sizes: tuple[int, ...], dtype: str) -> Tensor:
    """Sizes as numbers, [len(sizes)]."""
    return call.op("Sizes", [], {"sizes": sizes, "dtype": dtype})


def grid_sample(call: NodeCall) -> Tensor:
    """The grid has positions from -1 to 1, the last axis first."""
    x, grid = call.tensor(0), call.tensor(1)
    precision = x.dtype if is_float(x.dtype) else "float32"
    grid = cast(call, grid, precision)
    corners = bool(call.attr("align_corners", 0))
    reversed_grid = reversed_(call, grid, grid.type.rank - 1)
    sizes = size_vector(call, x.shape[2:], precision)
    positions = (
        call.op("Mul", [(reversed_grid + 1.0) * 0.5, sizes - 1.0])
        if corners
        else (call.op("Mul", [reversed_grid + 1.0, sizes]) - 1.0) * 0.5
    )
    wide = reshaped(call, positions, (grid.shape[0], 1, *grid.shape[1:]))
    attrs = {
        "mode": MODES[call.attr("mode", "bilinear")],
        "padding": call.attr("padding_mode", "zeros"),
        "corners": corners,
    }
    return cast(call, call.op("Sample", [cast(call, x, precision), wide], attrs), x.dtype)


def affine_grid(call: NodeCall) -> Tensor:
    """theta [N, d, d + 1] applied to the positions of an image [N, C, ...], which range from -1 to
    1, the last axis first.
    """
    theta, sizes = call.tensor(0), call.sizes(1)[2:]
    count = len(sizes)
    parts = []
    for d in reversed(range(count)):
        steps = iota(call, sizes[d], theta.dtype)
        line = (
            steps * (2 / max(sizes[d] - 1, 1)) - 1.0
            if call.attr("align_corners", 0)
            else (steps * 2.0 + 1.0) * (1 / sizes[d]) - 1.0
        )
        coordinate = reshaped(
            call, line, [*(sizes[d] if axis == d else 1 for axis in range(count)), 1]
        )
        parts.append(call.op("Broadcast", [coordinate], {"shape": (*sizes, 1)}))
    ones = call.op("Broadcast", [call.like(1, theta)], {"shape": (*sizes, 1)})
    base = reshaped(
        call, call.op("Concat", [*parts, ones], {"axis": count}), (prod(sizes), count + 1)
    )
    return reshaped(
        call,
        call.op("MatMul", [base, theta], {"transpose_b": True}),
        (theta.shape[0], *sizes, count),
    )


def deform_conv(call: NodeCall) -> Tensor:
    """Operands: x, kernel, offsets [N, groups * taps * 2, ...], bias, mask [N, groups * taps, ...].
    The taps are sampled first, then multiplied by the kernel.
    """
    x, w, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    count, window = x.type.rank - 2, w.shape[2:]
    strides, dilation = call.attr("strides") or (1,) * count, call.attr("dilations") or (1,) * count
    pads, offset_groups = call.attr("pads") or (0,) * 2 * count, call.attr("offset_group", 1)
    groups, taps, out = call.attr("group", 1), prod(window), offsets.shape[2:]
    split = reshaped(call, offsets, (x.shape[0], offset_groups, taps, count, *out))
    moved = transposed(call, split, (0, 1, 2, *range(4, 4 + count), 3))
    parts = []
    for d in range(count):
        steps = iota(call, out[d], "int32") * strides[d] - pads[d]
        origin = reshaped(call, steps, [1, *(out[d] if axis == d else 1 for axis in range(count))])
        inner = reshaped(
            call,
            iota(call, window[d], "int32") * dilation[d],
            [window[d] if axis == d else 1 for axis in range(count)],
        )
        spread = call.op("Broadcast", [inner], {"shape": tuple(window)})
        position = call.op("Add", [origin, reshaped(call, spread, (taps, *[1] * count))])
        parts.append(reshaped(call, cast(call, position, x.dtype), (taps, *position.shape[1:], 1)))
    axes_ = [call.op("Broadcast", [item], {"shape": (taps, *out, 1)}) for item in parts]
    base = call.op("Concat", axes_, {"axis": count + 1})
    positions = reshaped(
        call, call.op("Add", [moved, base]), (x.shape[0], offset_groups, taps, *out, count)
    )
    samples = call.op("Sample", [x, positions], {"mode": "linear", "padding": "zeros"})
    if call.has(4):
        mask = reshaped(call, call.tensor(4), (x.shape[0], offset_groups, 1, taps, *out))
        grouped = reshaped(
            call, samples, (x.shape[0], offset_groups, x.shape[1] // offset_groups, taps, *out)
        )
        samples = reshaped(
            call, call.op("Mul", [grouped, mask]), (x.shape[0], x.shape[1], taps, *out)
        )
    features = w.shape[0]
    columns = reshaped(call, samples, (x.shape[0], groups, x.shape[1] // groups * taps, prod(out)))
    kernel = reshaped(call, w, (groups, features // groups, x.shape[1] // groups * taps))
    y = reshaped(call, call.op("MatMul", [kernel, columns]), (x.shape[0], features, *out))
    return (
        call.op("Add", [y, reshaped(call, call.tensor(3), (features, *[1] * count))])
        if call.has(3)
        else y
    )


def roi_align(call: NodeCall) -> Tensor:
    """Operands: x [N, C, H, W], regions [R, 4] as x1, y1, x2, y2, and the image index of each. Each
    output combines ratio * ratio samples.
    """
    x, regions, images = call.tensor(0), call.tensor(1), call.tensor(2)
    ratio = call.attr("sampling_ratio", 0)
    if ratio <= 0:
        raise call.unsupported(
            "uses a data-dependent number of samples",
            "Export it with a sampling_ratio above 0",
        )
    rows, columns = call.attr("output_height", 1), call.attr("output_width", 1)
    half = (
        call.version >= 16
        and call.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    )
    count = regions.shape[0]
    scaled = regions * call.attr("spatial_scale", 1.0) - (0.5 if half else 0.0)
    x1, y1, x2, y2 = (part(call, scaled, 1, number, 1) for number in range(4))
    axis_positions = []
    for first, last, bins in ((y1, y2, rows), (x1, x2, columns)):
        span = last - first if half else call.op("Max", [last - first, call.like(1.0, x)])
        steps = reshaped(
            call,
            (iota(call, bins * ratio, x.dtype) + 0.5) * (1 / (bins * ratio)),
            (1, bins * ratio),
        )
        axis_positions.append(call.op("Add", [first, call.op("Mul", [steps, span])]))
    shape = (count, 1, rows * ratio, columns * ratio, 1)
    ys = call.op(
        "Broadcast",
        [reshaped(call, axis_positions[0], (count, 1, rows * ratio, 1, 1))],
        {"shape": shape},
    )
    xs = call.op(
        "Broadcast",
        [reshaped(call, axis_positions[1], (count, 1, 1, columns * ratio, 1))],
        {"shape": shape},
    )
    positions = call.op("Concat", [ys, xs], {"axis": 4})
    region_images = call.op("Gather", [x, images], {"axis": 0})
    largest = call.attr("mode", "avg") == "max"
    samples = call.op(
        "Sample",
        [region_images, positions],
        {"mode": "largest" if largest else "linear", "padding": "border"},
    )
    sizes = size_vector(call, x.shape[2:], x.dtype)
    in_range = call.op(
        "And",
        [
            call.op("GreaterEqual", [positions, call.like(-1.0, x)]),
            call.op("LessEqual", [positions, sizes]),
        ],
    )
    inside = reduce_axes(call, "ReduceMin", cast(call, in_range, "int32"), (4,), keep=False)
    samples = call.op("Where", [cast(call, inside, "bool"), samples, call.like(0, x)])
    bins_ = reshaped(call, samples, (count, x.shape[1], rows, ratio, columns, ratio))
    return reduce_axes(call, "ReduceMax" if largest else "ReduceMean", bins_, (3, 5), keep=False)


def max_roi_pool(call: NodeCall) -> Tensor:
    """Operands: x [N, C, H, W], regions [R, 5]: the image index, x1, y1, x2, y2. The maximum of
    each bin, 0 for an empty one.
    """
    x, regions = call.tensor(0), call.tensor(1)
    bins, count = call.attr("pooled_shape"), regions.shape[0]
    images = cast(call, reshaped(call, part(call, regions, 1, 0, 1), (count,)), "int32")
    y = call.op("Gather", [x, images], {"axis": 0})
    corners = cast(
        call,
        call.op("Floor", [part(call, regions, 1, 1, 4) * call.attr("spatial_scale", 1.0) + 0.5]),
        "int32",
    )
    for number, (bin_count, size) in enumerate(zip(bins, x.shape[2:], strict=True)):
        first, last = (part(call, corners, 1, column, 1) for column in (1 - number, 3 - number))
        span = call.op("Max", [last - first + 1, call.constant(1, "int32")])
        numbers, total = (
            reshaped(call, iota(call, bin_count, "int32"), (1, bin_count)),
            call.constant(bin_count, "int32"),
        )
        begin = call.op("FloorDiv", [call.op("Mul", [numbers, span]), total]) + first
        end = first - call.op("FloorDiv", [call.op("Mul", [-1 - numbers, span]), total])
        position = iota(call, size, "int32")
        ends = [reshaped(call, item, (count, bin_count, 1)) for item in (begin, end)]
        inside = call.op(
            "And",
            [call.op("GreaterEqual", [position, ends[0]]), call.op("Less", [position, ends[1]])],
        )
        shape = (count, 1, bin_count, size, 1) if number == 0 else (count, 1, 1, bin_count, size)
        rest = (*y.shape[:2], 1, *y.shape[2:]) if number == 0 else (*y.shape[:3], 1, y.shape[3])
        masked = call.op(
            "Where",
            [
                reshaped(call, inside, shape),
                reshaped(call, y, rest),
                call.constant(float("-inf"), x.dtype),
            ],
        )
        y = reduce_axes(call, "ReduceMax", masked, (3 + number,), keep=False)
    return call.op("Where", [call.op("IsInf", [y]), call.like(0, x), y])


def determinant(call: NodeCall) -> Tensor:
    """Gaussian elimination with partial pivoting, one column per step."""
    a = call.tensor(0)
    size = a.shape[-1]
    lead = a.shape[:-2]
    rest = reshaped(call, a, (prod(lead), size, size))
    total = call.op("Broadcast", [call.like(1, a)], {"shape": (prod(lead), 1, 1)})
    for remaining in range(size, 0, -1):
        column = part(call, rest, 2, 0, 1)
        pivot_row = call.op("ArgMax", [call.op("Abs", [column])], {"axis": 1, "keepdims": True})
        rows = reshaped(call, iota(call, remaining, "int32"), (1, remaining, 1))
        is_pivot = cast(call, call.op("Equal", [rows, pivot_row]), a.dtype)
        pivot = reduce_axes(call, "ReduceSum", call.op("Mul", [rest, is_pivot]), (1,))
        head = part(call, pivot, 2, 0, 1)
        sign = (
            cast(call, call.op("Mod", [pivot_row, call.constant(2, "int32")]), a.dtype) * -2.0 + 1.0
        )
        total = total * head * sign
        if remaining == 1:
            break
        swapped = call.op(
            "Where",
            [
                call.op("Less", [part(call, rows, 1, 0, remaining - 1), pivot_row]),
                part(call, rest, 1, 0, remaining - 1),
                part(call, rest, 1, 1, remaining - 1),
            ],
        )
        factor = part(call, swapped, 2, 0, 1) / call.op(
            "Where", [call.op("Equal", [head, call.like(0, a)]), call.like(1, a), head]
        )
        rest = part(call, swapped, 2, 1, remaining - 1) - factor * part(
            call, pivot, 2, 1, remaining - 1
        )
    return reshaped(call, total, lead)


SAMPLE: dict[str, NodeHandler] = {
    "GridSample": grid_sample,
    "AffineGrid": affine_grid,
    "DeformConv": deform_conv,
    "RoiAlign": roi_align,
    "MaxRoiPool": max_roi_pool,
    "Det": determinant,
}
