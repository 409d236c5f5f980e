"""Layers that move elements or operate along axes."""

from itertools import pairwise
from math import prod

from webkiln.frontends.caffe.operators.operands import bottoms
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast, part, reshaped, stacked, transposed, widened


def concat(call: NodeCall) -> Tensor:
    xs = bottoms(call)
    axis = call.axis(call.attr("axis"), xs[0].type.rank)
    return call.op("Concat", xs, {"axis": axis})


def slice_(call: NodeCall) -> list[Tensor]:
    """Slice at points, or into equal parts."""
    x, count = call.tensor(0), call.outputs
    axis = call.axis(call.attr("axis"), x.type.rank)
    size, points = x.shape[axis], call.attr("slice_point") or ()
    if points and len(points) != count - 1:
        raise call.error(f"has {len(points)} points for {count} tops; expected one less than tops")
    if not points and (is_symbolic(size) or size % count):
        raise call.error(
            f"divides {size} elements into {count} equal"
            " parts; set slice_point, or use a divisible size"
        )
    ends = (0, *(points or (size // count * part_index for part_index in range(1, count))), size)
    widths = [last - first for first, last in pairwise(ends)]
    if any(not is_symbolic(width) and width < 1 for width in widths):
        raise call.error(
            f"its points {list(points)} must increase within the {size} elements of axis {axis}"
        )
    return [
        part(call.builder, x, axis, first, width)
        for first, width in zip(ends, widths, strict=False)
    ]


def reshape(call: NodeCall) -> Tensor:
    """Replace `num_axes` axes, starting at `axis`. 0 copies a size, -1 is inferred."""
    x, declared = call.tensor(0), call.attr("shape") or ()
    start, count = call.attr("axis"), call.attr("num_axes")
    first = start + x.type.rank + 1 if start < 0 else start
    last = x.type.rank if count < 0 else first + count
    if not 0 <= first <= last <= x.type.rank:
        raise call.error(f"replaces {count} axes from axis {start}, but has {x.type.rank}")
    shape = [*x.shape[:first], *declared, *x.shape[last:]]
    for dim, size in enumerate(declared, first):
        if size == 0:
            if dim >= x.type.rank:
                raise call.error(f"keeps the size of axis {dim}, of {x.type.rank}")
            shape[dim] = x.shape[dim]
    left = [dim for dim, size in enumerate(declared, first) if size == -1]
    if len(left) > 1 or any(size < -1 for size in declared):
        raise call.error(f"its shape is {list(declared)}; sizes must be positive, 0, or -1 once")
    if left:
        rest = prod(size for dim, size in enumerate(shape) if dim != left[0])
        shape[left[0]] = x.type.size // rest if is_symbolic(rest) or rest else 0
    return reshaped(call.builder, x, shape)


def flatten(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    first, last = (call.axis(call.attr(name), x.type.rank) for name in ("axis", "end_axis"))
    return reshaped(
        call.builder, x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :])
    )


def permute(call: NodeCall) -> Tensor:
    """Axes that the order omits are appended."""
    x = call.tensor(0)
    order = [call.axis(axis, x.type.rank) for axis in call.attr("order") or ()]
    if len(set(order)) != len(order):
        raise call.error(f"its order {order} names an axis twice")
    return transposed(
        call.builder, x, (*order, *(axis for axis in range(x.type.rank) if axis not in order))
    )


def tile(call: NodeCall) -> Tensor:
    x, count = call.tensor(0), call.attr("tiles") or 0
    axis = call.axis(call.attr("axis"), x.type.rank)
    if count < 1:
        raise call.error(f"repeats {count} times; expected 1 or more")
    before, after = x.shape[:axis], x.shape[axis:]
    repeated = widened(
        call.builder, reshaped(call.builder, x, (*before, 1, *after)), (*before, count, *after)
    )
    return reshaped(call.builder, repeated, (*before, count * x.shape[axis], *x.shape[axis + 1 :]))


def crop(call: NodeCall) -> Tensor:
    """Crop the first bottom to the sizes of the second, starting at an axis."""
    x, like = bottoms(call)
    axis, offsets = call.axis(call.attr("axis"), x.type.rank), call.attr("offset") or (0,)
    count = x.type.rank - axis
    starts = offsets * count if len(offsets) == 1 else offsets
    if len(starts) != count or like.type.rank != x.type.rank:
        raise call.error(
            f"has {len(offsets)} offsets for {count} axes of {list(map(str, x.shape))} like"
            f" {list(map(str, like.shape))}"
        )
    for dim, start in enumerate(starts, axis):
        size = like.shape[dim]
        if not is_symbolic(x.shape[dim] - start - size) and x.shape[dim] < start + size:
            raise call.error(
                f"axis {dim} has {x.shape[dim]} elements, fewer than {size} from {start}"
            )
        x = part(call.builder, x, dim, start, size)
    return x


def reindex(call: NodeCall) -> Tensor:
    x, indices = bottoms(call)
    return call.op(
        "Gather",
        [x, cast(call.builder, reshaped(call.builder, indices, (indices.type.size,)), "int32")],
        {"axis": 0},
    )


def shuffle(call: NodeCall) -> Tensor:
    x, groups = call.tensor(0), call.attr("group")
    n, c, *rest = x.shape
    if groups < 1 or c % groups:
        raise call.error(f"divides {c} channels into {groups} groups")
    grouped = reshaped(call.builder, x, (n, groups, c // groups, *rest))
    return reshaped(
        call.builder,
        transposed(call.builder, grouped, (0, 2, 1, *range(3, 3 + len(rest)))),
        x.shape,
    )


def interpolate(call: NodeCall) -> Tensor:
    """Bilinear interpolation with aligned corners."""
    x = call.tensor(0)
    zoom, shrink, before, after = (
        call.attr(name) for name in ("zoom_factor", "shrink_factor", "pad_beg", "pad_end")
    )
    if before > 0 or after > 0 or zoom < 1 or shrink < 1:
        raise call.error(
            f"zooms by {zoom}, shrinks by {shrink} and pads by {before}, {after}; padding must be"
            " 0 or less, factors must be 1 or more"
        )
    reference = bottoms(call)[1:]
    for axis, name in ((2, "height"), (3, "width")):
        padded = x.shape[axis] + before + after
        if not is_symbolic(padded) and padded < 1:
            raise call.error(
                f"crops {-before} and {-after} of the {x.shape[axis]} elements of axis {axis}"
            )
        x = part(call.builder, x, axis, -before, padded)
        small = (padded - 1) // shrink + 1
        size = (
            reference[0].shape[axis]
            if reference
            else call.attr(name) or small + (small - 1) * (zoom - 1)
        )
        if is_symbolic(size) or is_symbolic(padded) or size > 1:
            line = {"scale": padded - 1, "start": 0, "unit": size - 1}
        else:
            line = {"scale": 0, "start": 0, "unit": 1}
        if size != padded:
            x = call.op("Interpolate", [x], {"axis": axis, "size": size, "mode": "linear", **line})
    return x


def softmax(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return call.op("Softmax", [x], {"axis": call.axis(call.attr("axis"), x.type.rank)})


def reduction(call: NodeCall) -> Tensor:
    """Reduce all axes from the given one on."""
    x, kind = call.tensor(0), call.attr("operation")
    axes = tuple(range(call.axis(call.attr("axis"), x.type.rank), x.type.rank))
    x = call.op("Abs", [x]) if kind == "ASUM" else x * x if kind == "SUMSQ" else x
    y = call.op(
        "ReduceMean" if kind == "MEAN" else "ReduceSum", [x], {"axes": axes, "keepdims": False}
    )
    return y * call.attr("coeff") if call.attr("coeff") != 1 else y


def argmax(call: NodeCall) -> Tensor:
    """The indices of the largest elements, the last of equal ones first, and their values; along an
    axis, one of the two.
    """
    x, count, declared = call.tensor(0), call.attr("top_k"), call.attr("axis")
    b, shape = call.builder, x.shape
    x = reshaped(b, x, (shape[0], prod(shape[1:]))) if declared is None else x
    axis = 1 if declared is None else call.axis(declared, x.type.rank)
    size = x.shape[axis]
    if count < 1 or (not is_symbolic(size) and count > size):
        raise call.error(f"requests the first {count} of {size} elements")
    backwards = call.op("Slice", [x], {
        "starts": tuple(n - 1 if d == axis else 0 for d, n in enumerate(x.shape)), "sizes": x.shape,
        "steps": tuple(-1 if d == axis else 1 for d in range(x.type.rank)),
    })  # fmt: skip
    ordered, order = (
        part(b, item, axis, 0, count)
        for item in b.ops("Sort", [backwards], {"axis": axis, "descending": True})
    )
    indices = (
        (size - 1) - cast(b, order, "float32")
        if not is_symbolic(size)
        else b.binary(
            "Sub",
            cast(b, b.op("Sizes", [], {"sizes": (size - 1,), "dtype": "int32"}), "float32"),
            cast(b, order, "float32"),
        )
    )
    if declared is not None:
        return ordered if call.attr("out_max_val") else indices
    both = (
        stacked(b, [indices, ordered], 1)
        if call.attr("out_max_val")
        else reshaped(b, indices, (shape[0], 1, count))
    )
    return reshaped(b, both, (*both.shape, *(1,) * (len(shape) - 3)))


def standardise(call: NodeCall) -> Tensor:
    """Subtract the mean, and divide by the standard deviation plus epsilon; per channel or over all
    elements.
    """
    x = call.tensor(0)
    axes = tuple(range(1 if call.attr("across_channels") else min(2, x.type.rank), x.type.rank))
    centred = x - call.op("ReduceMean", [x], {"axes": axes, "keepdims": True})
    if not call.attr("normalize_variance"):
        return centred
    deviation = call.op(
        "Sqrt", [call.op("ReduceMean", [centred * centred], {"axes": axes, "keepdims": True})]
    )
    return centred / (deviation + float(call.attr("eps")))


SHAPE: dict[str, NodeHandler] = {
    "Concat": concat,
    "Slice": slice_,
    "Reshape": reshape,
    "Flatten": flatten,
    "Permute": permute,
    "Tile": tile,
    "Crop": crop,
    "BatchReindex": reindex,
    "ShuffleChannel": shuffle,
    "Interp": interpolate,
    "Softmax": softmax,
    "Reduction": reduction,
    "ArgMax": argmax,
    "MVN": standardise,
}
