"""Operators of recordings that move elements, or reduce axes."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.nodes.ranges import arithmetic_sequence
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import rearrange
from webkiln.ops.functional.determinant import determinant
from webkiln.ops.functional.einsum import einsum
from webkiln.ops.functional.linear import matrix_product
from webkiln.ops.functional.pads import pad_or_crop
from webkiln.ops.functional.reductions import log_sum_exp
from webkiln.ops.functional.slices import bounds, sliced
from webkiln.ops.overlap import overlapped
from webkiln.ops.pieces import cast, reshaped, transposed


def squeeze(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = [call.axis(axis, x.type.rank) for axis in call.attr("axes")]
    return reshaped(
        call.builder, x, [size for axis, size in enumerate(x.shape) if axis not in axes]
    )


def unsqueeze(call: NodeCall) -> Tensor:
    x, axes = call.tensor(0), call.attr("axes")
    rank = x.type.rank + len(axes)
    return rearrange.unsqueeze(call.builder, x, [call.axis(axis, rank) for axis in axes])


def concat(call: NodeCall) -> Tensor:
    parts = call.tensors()
    return call.op("Concat", parts, {"axis": call.axis(call.attr("axis"), parts[0].type.rank)})


def split(call: NodeCall) -> list[Tensor]:
    x, sizes = call.tensor(0), call.sizes(1)
    axis = call.axis(call.attr("axis"), x.type.rank)
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    return [
        sliced(call.builder, x, axis, start, count)
        for start, count in zip(starts, sizes, strict=True)
    ]


def slice_(call: NodeCall) -> Tensor:
    """Operands: x, starts, ends, axes, steps."""
    x, rank = call.tensor(0), call.type(0).rank
    begin: list[Size] = [0] * rank
    sizes = list(x.shape)
    steps: list[Size] = [1] * rank
    rows = zip(call.sizes(1), call.sizes(2), call.integers(3), call.sizes(4), strict=True)
    for start, end, number, step in rows:
        axis = call.axis(number, rank)
        begin[axis], sizes[axis] = bounds(x.shape[axis], start, end, step)
        steps[axis] = step
    return call.op(
        "Slice", [x], {"starts": tuple(begin), "sizes": tuple(sizes), "steps": tuple(steps)}
    )


def pad(call: NodeCall) -> Tensor:
    """Operands: x, the counts before and after all axes, the value."""
    x, counts = call.tensor(0), call.sizes(1)
    low, high = counts[: x.type.rank], counts[x.type.rank :]
    value = call.number_or_tensor(2) if call.has(2) else 0.0
    mode = call.attr("mode", "constant")
    return pad_or_crop(call.builder, x, low, high, mode=mode, value=value)


def gather(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attr("axis"), x.type.rank)
        return call.op(op, [x, call.tensor(1)], {"axis": axis})

    return handler


def gather_nd(call: NodeCall) -> Tensor:
    return call.op("GatherND", call.tensors(), {"batch": 0})


def scatter_elements(call: NodeCall) -> Tensor:
    axis = call.axis(call.attr("axis"), call.type(0).rank)
    attrs = {"axis": axis, "reduction": call.attr("reduction")}
    return call.op("ScatterElements", call.tensors(), attrs)


def col2im(call: NodeCall) -> Tensor:
    """Operands: blocks [N, C * taps, L], the sizes of the image and of a block."""
    image, block, strides = call.sizes(1), call.integers(2), call.attr("strides")
    ones, none = (1,) * len(image), (0,) * len(image)
    return overlapped(call.builder, call.tensor(0), image, block, strides, ones, none, none)


def axes_of(call: NodeCall, x: Tensor) -> tuple[int, ...]:
    return tuple(call.axis(axis, x.type.rank) for axis in call.attr("axes"))


def reduction(op: str) -> NodeHandler:
    """Over all axes if none is given. The extremes of bools are those of 0 and 1."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axes = axes_of(call, x) or tuple(range(x.type.rank))
        attrs = {"axes": axes, "keepdims": call.flag("keepdims")}
        if x.dtype == "bool" and op in ("ReduceMax", "ReduceMin"):
            numbers = cast(call.builder, x, "uint8")
            return cast(call.builder, call.op(op, [numbers], attrs), "bool")
        return call.op(op, [x], attrs)

    return handler


def logarithm_of_sum(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    axes = axes_of(call, x) or tuple(range(x.type.rank))
    return log_sum_exp(call.builder, x, axes, keepdims=call.flag("keepdims"))


def arg_extreme(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attr("axis"), x.type.rank)
        attrs = {"axis": axis, "keepdims": call.flag("keepdims")}
        return cast(call.builder, call.op(op, [x], attrs), "int64")

    return handler


def cumulative(op: str) -> NodeHandler:
    """Operands: x, the axis."""

    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(int(call.numbers(1).reshape(())), x.type.rank)
        return call.op(op, [x], {"axis": axis, "exclusive": False, "reverse": False})

    return handler


def top_k(call: NodeCall) -> list[Tensor]:
    """Operands: x, the count. The elements in sorted order, and their indices."""
    x, (count,) = call.tensor(0), call.sizes(1)
    axis = call.axis(call.attr("axis"), x.type.rank)
    attrs = {"axis": axis, "descending": call.flag("largest", default=True)}
    ordered = call.builder.ops("Sort", [x], attrs)
    return [sliced(call.builder, item, axis, 0, count) for item in ordered]


def gemm(call: NodeCall) -> Tensor:
    """x times a transposed weight, and a bias."""
    b, x, w = call.builder, call.tensor(0), call.tensor(1)
    stored = b.is_slot(w)
    w = transposed(b, w, (1, 0)) if stored else w
    y = call.op("MatMul", [x, w], {"transpose_a": False, "transpose_b": not stored})
    return call.op("Add", [y, call.tensor(2)]) if call.has(2) else y


REDUCTIONS = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")

ARRAYS: dict[str, NodeHandler] = {
    "ArgMax": arg_extreme("ArgMax"),
    "ArgMin": arg_extreme("ArgMin"),
    "Col2Im": col2im,
    "Concat": concat,
    "CumProd": cumulative("CumProd"),
    "CumSum": cumulative("CumSum"),
    "DepthToSpace": lambda call: rearrange.depth_to_space(
        call.builder, call.tensor(0), call.attr("blocksize")
    ),
    "Det": lambda call: determinant(call.builder, call.tensor(0)),
    "Einsum": lambda call: einsum(call.builder, call.tensors(), call.attr("equation")),
    "Expand": lambda call: rearrange.expand(call.builder, call.tensor(0), call.sizes(1)),
    "Gather": gather("Gather"),
    "GatherElements": gather("GatherElements"),
    "GatherND": gather_nd,
    "Gemm": gemm,
    "MatMul": lambda call: matrix_product(call.builder, call.tensor(0), call.tensor(1)),
    "Pad": pad,
    "Range": arithmetic_sequence,
    "ReduceLogSumExp": logarithm_of_sum,
    **{
        f"Reduce{name}": reduction(f"Reduce{name}")
        for name in ("Max", "Mean", "Min", "Prod", "Sum")
    },
    "Reshape": lambda call: rearrange.reshape_inferred(call.builder, call.tensor(0), call.sizes(1)),
    "ScatterElements": scatter_elements,
    "Slice": slice_,
    "SpaceToDepth": lambda call: rearrange.space_to_depth(
        call.builder, call.tensor(0), call.attr("blocksize")
    ),
    "Split": split,
    "Squeeze": squeeze,
    "Tile": lambda call: rearrange.tile(call.builder, call.tensor(0), call.sizes(1)),
    "TopK": top_k,
    "Transpose": lambda call: transposed(call.builder, call.tensor(0), call.attr("perm")),
    "Unsqueeze": unsqueeze,
}
