"""What a handler of a layer reads: what lies below it, and its weights behind that."""

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod

from webkiln.frontends.nodes.call import NodeCall, NodeHandler, NodeResult
from webkiln.ir.dim import is_symbolic
from webkiln.ops.builder import Tensor


def bottoms(call: NodeCall) -> list[Tensor]:
    return [call.tensor(place) for place in range(len(call) - call.attr("blobs"))]


def blob_count(call: NodeCall) -> int:
    return int(call.attr("blobs"))


def blob(call: NodeCall, place: int, shape: Sequence[int] | None = None) -> Tensor:
    """A weight, in the shape that the layer gives it: older files pad shapes with ones to four
    axes.
    """
    count = blob_count(call)
    if place >= count:
        raise call.error(
            f"has {count} weights, expected at least {place + 1}; give the .caffemodel that belongs"
            " to this definition"
        )
    x = call.tensor(len(call) - count + place)
    if shape is None or tuple(shape) == x.shape:
        return x
    if any(map(is_symbolic, shape)):
        raise call.error(
            f"its weight {place} is {list(x.shape)}, expected {list(shape)}; weights need sizes"
            " that are known, set them with --dim"
        )
    if prod(shape) != prod(x.shape):
        raise call.error(
            f"its weight {place} is {list(x.shape)}, expected {list(shape)}; the .caffemodel"
            " belongs to another definition"
        )
    return call.op("Reshape", [x], {"shape": tuple(shape)})


def aligned(call: NodeCall, x: Tensor, rank: int, axis: int) -> Tensor:
    """A tensor whose axes are those of another one of `rank` axes, from `axis` on."""
    if x.type.rank + axis > rank:
        raise call.error(
            f"its factors are {list(x.shape)}, which from axis {axis} on do not fit into {rank}"
            " axes"
        )
    wide = (*(1,) * axis, *x.shape, *(1,) * (rank - axis - x.type.rank))
    return x if wide == x.shape else call.op("Reshape", [x], {"shape": wide})


def own(handler: Callable[[NodeCall], NodeResult]) -> NodeHandler:
    """A handler of one of Caffe's own layers, which refuses one that says more than these do."""

    @wraps(handler)
    def checked(call: NodeCall) -> NodeResult:
        if unknown := call.attr("unknown"):
            raise call.unsupported(
                f"says {', '.join(unknown)}, which BVLC Caffe and SSD do not know",
                "Take it out of the definition where it means nothing here, or register a handler"
                " for the layer",
            )
        return handler(call)

    return checked
