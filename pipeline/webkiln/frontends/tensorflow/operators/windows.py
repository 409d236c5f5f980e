"""Layouts, strides and padding of raw operators over windows.

https://www.tensorflow.org/api_docs/python/tf/raw_ops
"""

from collections.abc import Sequence
from typing import Any

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import (
    Pads,
    dims_of,
    padding_of,
    pads,
)


def layout(call: NodeCall, name: str = "data_format") -> str:
    value = call.attr(name, "NHWC")
    is_first = value == "CHANNELS_FIRST" or value.startswith("NC")
    return "channels_first" if is_first else "channels_last"


def spatial(call: NodeCall, values: Sequence[int], rank: int) -> tuple[int, ...]:
    """The spatial entries of a list with one number per axis."""
    if not values:
        return (1,) * (rank - 2)
    return tuple(values[axis] for axis in dims_of(layout(call), rank)[2:])


def padding(
    call: NodeCall,
    sizes: Sequence[Size],
    window: Sequence[Size],
    strides: Sequence[int],
    dilation: Sequence[int],
    rank: int,
) -> Pads:
    kind = call.attr("padding", "VALID")
    if kind == "EXPLICIT":
        pairs = call.attr("explicit_paddings")
        return [(pairs[2 * axis], pairs[2 * axis + 1]) for axis in dims_of(layout(call), rank)[2:]]
    return padding_of(kind.lower(), sizes, window, strides, dilation)


def window_of(call: NodeCall, x: Tensor, window: Sequence[Size]) -> dict[str, Any]:
    rank = x.type.rank
    strides, dilation = (
        spatial(call, call.attr("strides"), rank),
        spatial(call, call.attr("dilations", ()), rank),
    )
    sizes = [x.shape[axis] for axis in dims_of(layout(call), rank)[2:]]
    return {"strides": strides, "dilation": dilation} | pads(
        padding(call, sizes, window, strides, dilation, rank)
    )
