"""The operands of layer handlers: bottoms, followed by weights."""

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler, NodeResult
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor


def bottoms(call: NodeCall) -> list[Tensor]:
    return [call.tensor(index) for index in range(len(call) - call.attr("blobs"))]


def blob_count(call: NodeCall) -> int:
    return int(call.attr("blobs"))


def blob(call: NodeCall, index: int, shape: Sequence[Size] | None = None) -> Tensor:
    """A weight in the shape that the layer expects. Older files pad shapes to four axes."""
    count = blob_count(call)
    if index >= count:
        raise call.error(
            f"has {count} weights, expected at least {index + 1}; use the .caffemodel of this"
            " definition"
        )
    x = call.tensor(len(call) - count + index)
    if shape is None or tuple(shape) == x.shape:
        return x
    if any(map(is_symbolic, shape)):
        raise call.error(
            f"its weight {index} is {list(x.shape)}, expected {list(shape)}; weights need known"
            " sizes, set them with --dim"
        )
    if prod(shape) != prod(x.shape):
        raise call.error(
            f"its weight {index} is {list(x.shape)}, expected {list(shape)}; the .caffemodel"
            " belongs to another definition"
        )
    return call.op("Reshape", [x], {"shape": tuple(shape)})


def aligned(call: NodeCall, x: Tensor, rank: int, axis: int) -> Tensor:
    """Align a tensor with `rank` axes, starting at `axis`."""
    if x.type.rank + axis > rank:
        raise call.error(
            f"its factors are {list(x.shape)}, which exceed {rank} axes from axis {axis}"
        )
    shape = (*(1,) * axis, *x.shape, *(1,) * (rank - axis - x.type.rank))
    return x if shape == x.shape else call.op("Reshape", [x], {"shape": shape})


def own(handler: Callable[[NodeCall], NodeResult]) -> NodeHandler:
    """A handler of a Caffe layer. It refuses layers with unknown fields."""

    @wraps(handler)
    def checked(call: NodeCall) -> NodeResult:
        if unknown := call.attr("unknown"):
            raise call.unsupported(
                f"sets {', '.join(unknown)}, which BVLC Caffe and SSD lack",
                "Remove them if they do not matter for inference, or register a handler for the"
                " layer",
            )
        return handler(call)

    return checked
