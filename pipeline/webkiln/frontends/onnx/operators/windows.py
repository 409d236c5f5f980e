"""Window, strides, dilation and padding of convolutions and pooling, from a node's attributes."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall
from webkiln.ir.dim import Size, maximum
from webkiln.ops.functional.pooling import Windows


def windows(call: NodeCall, sizes: Sequence[Size], window: Sequence[Size]) -> Windows:
    """The windows of a node over axes of these sizes, with automatic padding resolved."""
    count = len(sizes)
    strides = tuple(call.attr("strides") or (1,) * count)
    dilation = tuple(call.attr("dilations") or (1,) * count)
    pads = tuple(call.attr("pads") or (0,) * 2 * count)
    if (
        len(window) != count
        or len(strides) != count
        or len(dilation) != count
        or len(pads) != 2 * count
    ):
        raise call.error(f"kernel, strides, dilations and pads do not fit the {count} spatial axes")
    low, high = pads[:count], pads[count:]
    mode = call.attr("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            maximum([(size - 1) // stride * stride + (width - 1) * gap + 1 - size, 0])
            for size, stride, width, gap in zip(sizes, strides, window, dilation, strict=True)
        ]
        low = tuple(total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals)
        high = tuple(total - before for total, before in zip(totals, low, strict=True))
    elif mode == "VALID":
        low = high = (0,) * count
    return Windows(tuple(window), strides, dilation, low, high)
