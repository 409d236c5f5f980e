"""Gather, scatter and related operators."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import iota, reshaped
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.indexing import is_index, reverse_sequence
from webkiln.ops.overlap import overlapped


def gather(call: NodeCall) -> Tensor:
    x, indices = call.tensor(0), call.tensor(1)
    return call.op("Gather", [x, indices], {"axis": call.axis(call.attr("axis", 0), x.type.rank)})


def gather_elements(call: NodeCall) -> Tensor:
    x, indices = call.tensor(0), call.tensor(1)
    return call.op(
        "GatherElements", [x, indices], {"axis": call.axis(call.attr("axis", 0), x.type.rank)}
    )


def gather_nd(call: NodeCall) -> Tensor:
    return call.op(
        "GatherND", [call.tensor(0), call.tensor(1)], {"batch": call.attr("batch_dims", 0)}
    )


def scatter_elements(call: NodeCall) -> Tensor:
    x, indices, updates = call.tensors()
    attrs = {
        "axis": call.axis(call.attr("axis", 0), x.type.rank),
        "reduction": call.attr("reduction", "none"),
    }
    return call.op("ScatterElements", [x, indices, updates], attrs)


def scatter_nd(call: NodeCall) -> Tensor:
    return call.op("ScatterND", call.tensors(), {"reduction": call.attr("reduction", "none")})


def normalise_indices(call: NodeCall, indices: Tensor, size: Size) -> Tensor:
    """int64 indices; negative ones count from the end."""
    wide = cast(call, indices, "int64")
    return call.op(
        "Where",
        [
            call.op("Less", [wide, call.like(0, wide)]),
            call.op("Add", [wide, size_scalar(call, size, "int64")]),
            wide,
        ],
    )


def size_scalar(call: NodeCall, size: Size, dtype: str) -> Tensor:
    """A size as a scalar, whether it is a number or symbolic."""
    return reshaped(call, call.op("Sizes", [], {"sizes": (size,), "dtype": dtype}), ())


def one_hot(call: NodeCall) -> Tensor:
    """The on value at the index, the off value elsewhere."""
    indices, values = call.tensor(0), call.tensor(2)
    depth = call.sizes(1)[0]
    axis = call.axis(call.attr("axis", -1), indices.type.rank + 1)
    same = is_index(call.builder, normalise_indices(call, indices, depth), depth, axis)
    off, on = (
        call.op("Slice", [values], {"starts": (start,), "sizes": (1,), "steps": (1,)})
        for start in (0, 1)
    )
    return call.op("Where", [same, on, off])


def reverse_sequence_of(call: NodeCall) -> Tensor:
    return reverse_sequence(
        call.builder,
        call.tensor(0),
        call.tensor(1),
        call.attr("time_axis", 0),
        call.attr("batch_axis", 1),
    )


def tensor_scatter(call: NodeCall) -> Tensor:
    """Write new entries into a cache along one axis, starting at an index per row. In circular mode
    the indices wrap around.
    """
    cache, update = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attr("axis", -2), cache.type.rank)
    count, steps = cache.shape[axis], update.shape[axis]
    indices = reshaped(
        call,
        iota(call, steps, "int64"),
        [steps if d == axis else 1 for d in range(cache.type.rank)],
    )
    if call.has(2):
        start = reshaped(
            call,
            cast(call, call.tensor(2), "int64"),
            (cache.shape[0], *[1] * (cache.type.rank - 1)),
        )
        indices = call.op("Add", [indices, start])
    if call.attr("mode", "linear") == "circular":
        indices = call.op("Mod", [indices, size_scalar(call, count, "int64")])
    return call.op(
        "ScatterElements",
        [cache, call.op("Broadcast", [indices], {"shape": update.shape}), update],
        {"axis": axis},
    )


def col2im(call: NodeCall) -> Tensor:
    """Sum overlapping blocks [N, C * taps, L] into an image."""
    x, image, block = call.tensor(0), call.sizes(1), call.integers(2)
    if x.dtype == "bool":
        raise call.unsupported("adds booleans", "Cast them to numbers")
    count = len(image)
    strides, dilation = call.attr("strides") or (1,) * count, call.attr("dilations") or (1,) * count
    pads = call.attr("pads") or (0,) * 2 * count
    return overlapped(call.builder, x, image, block, strides, dilation, pads[:count], pads[count:])


INDEXING: dict[str, NodeHandler] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "OneHot": one_hot,
    "ReverseSequence": reverse_sequence_of,
    "TensorScatter": tensor_scatter,
    "Col2Im": col2im,
}
