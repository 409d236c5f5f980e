"""Convolutions with batch and channels first."""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import part
from webkiln.frontends.onnx.operators.windows import windows
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import pooling
from webkiln.ops.transposed_conv import transposed_conv


def convolution(call: NodeCall, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
    windows_ = windows(call, x.shape[2:], call.attr("kernel_shape") or w.shape[2:])
    return pooling.conv(call.builder, x, w, bias, windows_, call.attr("group", 1))


def conv(call: NodeCall) -> Tensor:
    return convolution(call, call.tensor(0), call.tensor(1), call.optional(2))


def conv_transpose(call: NodeCall) -> Tensor:
    """A transposed convolution; the kernel is [in, out / groups, ...]."""
    x, w = call.tensor(0), call.tensor(1)
    count, groups = x.type.rank - 2, call.attr("group", 1)
    strides = tuple(call.attr("strides") or (1,) * count)
    dilation = tuple(call.attr("dilations") or (1,) * count)
    extra = tuple(call.attr("output_padding") or (0,) * count)
    spans = [
        (size - 1) * dilation_ + 1 for size, dilation_ in zip(w.shape[2:], dilation, strict=True)
    ]
    full = [
        (size - 1) * stride + padding + span
        for size, stride, padding, span in zip(x.shape[2:], strides, extra, spans, strict=True)
    ]
    low, high = _crops(call, x, strides, full)
    return transposed_conv(
        call.builder, x, w, call.optional(2), strides, dilation, low, high, extra, groups
    )


def _crops(
    call: NodeCall, x: Tensor, strides: tuple[int, ...], full: list[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The number of elements of the full result to crop at each end."""
    count = len(full)
    mode, requested = call.attr("auto_pad", "NOTSET"), call.attr("output_shape")
    if requested is not None:
        totals = [size - target for size, target in zip(full, requested[-count:], strict=True)]
    elif mode in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            size - own * stride
            for size, own, stride in zip(full, x.shape[2:], strides, strict=True)
        ]
    else:
        pads = tuple(call.attr("pads") or (0,) * 2 * count) if mode != "VALID" else (0,) * 2 * count
        return pads[:count], pads[count:]
    before = [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in totals]
    return tuple(before), tuple(total - first for total, first in zip(totals, before, strict=True))


def causal_conv(call: NodeCall) -> list[Tensor]:
    """A depthwise convolution along the last axis of the state followed by x. The end of both is
    the next state.
    """
    x, w, bias = call.tensor(0), call.tensor(1), call.optional(2)
    channels, width = w.shape[0], w.shape[-1]
    before = width - 1
    empty = {"shape": (x.shape[0], channels, before)}
    state = call.tensor(3) if call.has(3) else call.op("Broadcast", [call.like(0, x)], empty)
    sequence = call.op("Concat", [state, x], {"axis": 2})
    windows_ = pooling.Windows((width,), (1,), (1,), (0,), (0,))
    y = pooling.conv(call.builder, sequence, w, bias, windows_, channels)
    if call.attr("activation", "none") in ("silu", "swish"):
        y = call.op("Silu", [y])
    return [y, part(call, sequence, 2, sequence.shape[2] - before, before)]


CONV: dict[str, NodeHandler] = {
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "CausalConvWithState": causal_conv,
}
