"""Convolutions and matrix products. Batch and channels are the first axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from webkiln.frontends.caffe.operators.operands import blob, blob_count, bottoms
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import pooling
from webkiln.ops.functional.pooling import Windows
from webkiln.ops.pieces import cast, reshaped, stacked
from webkiln.ops.transposed_conv import transposed_conv

MAX_TAPS = 1024
"""The maximum number of window positions that are copied one by one."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Window parameters, one entry per spatial axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: tuple[int, ...]
    dilation: tuple[int, ...]


def window(call: NodeCall, count: int) -> Kernels:
    """The window of a convolution over `count` axes. A parameter is one number for all axes, one
    per axis, or, for two axes, given as `_h` and `_w`.
    """
    if call.attr("axis", 1) != 1:
        raise call.unsupported(
            f"has its channels at axis {call.attr('axis')}", "Only axis 1 is supported"
        )
    return Kernels(
        _each(call, "kernel_size", "kernel", count, None),
        _each(call, "stride", "stride", count, 1),
        _each(call, "pad", "pad", count, 0),
        _each(call, "dilation", "", count, 1),
    )


def _each(call: NodeCall, name: str, stem: str, count: int, default: int | None) -> tuple[int, ...]:
    pair = (call.attr(f"{stem}_h"), call.attr(f"{stem}_w")) if stem else (None, None)
    if any(item is not None for item in pair):
        if count != 2 or call.attr(name):
            raise call.error(
                f"sets {stem}_h and {stem}_w, which require two axes and exclude {name}; it has"
                f" {count}"
            )
        numbers = tuple(int(item or default or 0) for item in pair)
    else:
        declared = call.attr(name) or (() if default is None else (default,))
        numbers = tuple(declared) * count if len(declared) == 1 else tuple(declared)
    if len(numbers) != count or any(number < (name != "pad") for number in numbers):
        raise call.error(
            f"its {name} is {list(numbers)}, expected {count} numbers of at least"
            f" {int(name != 'pad')}, or one"
        )
    return numbers


def _bias(call: NodeCall, features: int, index: int = 1) -> Tensor | None:
    return blob(call, index, (features,)) if call.attr("bias_term", default=True) else None


def convolution(call: NodeCall) -> list[Tensor]:
    """Apply the same weights to each bottom."""
    return [_convolved(call, x, call.attr("group", 1)) for x in bottoms(call)]


def depthwise(call: NodeCall) -> list[Tensor]:
    """One filter per channel."""
    return [_convolved(call, x, x.shape[1]) for x in bottoms(call)]


def _convolved(call: NodeCall, x: Tensor, groups: Size) -> Tensor:
    geometry, features = window(call, x.type.rank - 2), _features(call, x, groups)
    w = blob(call, 0, (features, x.shape[1] // groups, *geometry.kernel))
    pad = geometry.pad
    windows = Windows(geometry.kernel, geometry.stride, geometry.dilation, pad, pad)
    return pooling.conv(call.builder, x, w, _bias(call, features), windows, groups)


def _features(call: NodeCall, x: Tensor, groups: Size) -> int:
    features = call.attr("num_output") or 0
    if x.type.rank < 3:
        raise call.error(f"reads {list(x.shape)}, expected a batch, channels and spatial axes")
    if not isinstance(x.shape[1], int):
        raise call.error(
            f"reads {list(map(str, x.shape))}; the number of channels must be known, set it with"
            " --input-shape"
        )
    if groups < 1 or features < 1 or x.shape[1] % groups or features % groups:
        raise call.error(
            f"has {x.shape[1]} input channels, {features} output"
            f" channels and {groups} groups, which must divide both"
        )
    return int(features)


def deconvolution(call: NodeCall) -> list[Tensor]:
    outputs = []
    for x in bottoms(call):
        groups = call.attr("group", 1)
        geometry, features = window(call, x.type.rank - 2), _features(call, x, groups)
        w = blob(call, 0, (x.shape[1], features // groups, *geometry.kernel))
        none = (0,) * len(geometry.kernel)
        bias = _bias(call, features)
        outputs.append(
            transposed_conv(
                call.builder,
                x,
                w,
                bias,
                geometry.stride,
                geometry.dilation,
                geometry.pad,
                geometry.pad,
                none,
                groups,
            )
        )
    return outputs


def im2col(call: NodeCall) -> Tensor:
    """The inputs of each window, concatenated as channels."""
    x = call.tensor(0)
    geometry = window(call, x.type.rank - 2)
    if prod(geometry.kernel) > MAX_TAPS:
        raise call.unsupported(
            f"copies {prod(geometry.kernel)} positions of its window",
            f"At most {MAX_TAPS} are supported",
        )
    padded = (
        call.op("Pad", [x], {"low": (0, 0, *geometry.pad), "high": (0, 0, *geometry.pad)})
        if any(geometry.pad)
        else x
    )
    rows = list(
        zip(padded.shape[2:], geometry.kernel, geometry.stride, geometry.dilation, strict=True)
    )
    sizes = tuple(
        (size - (kernel - 1) * gap - 1) // stride + 1 for size, kernel, stride, gap in rows
    )
    steps = (1, 1, *geometry.stride)
    taps = [
        call.op(
            "Slice",
            [padded],
            {
                "starts": (0, 0, *(t * gap for t, gap in zip(tap, geometry.dilation, strict=True))),
                "sizes": (*x.shape[:2], *sizes),
                "steps": steps,
            },
        )
        for tap in product(*map(range, geometry.kernel))
    ]
    return reshaped(
        call.builder, stacked(call.builder, taps, 2), (x.shape[0], x.shape[1] * len(taps), *sizes)
    )


def inner_product(call: NodeCall) -> Tensor:
    """Flatten the axes from the given one on."""
    x, features = call.tensor(0), call.attr("num_output") or 0
    axis = call.axis(call.attr("axis"), x.type.rank)
    in_features = prod(x.shape[axis:])
    is_transposed = bool(call.attr("transpose"))
    w = blob(call, 0, (in_features, features) if is_transposed else (features, in_features))
    w = w if is_transposed else call.op("Transpose", [w], {"perm": (1, 0)})
    y = call.op("MatMul", [reshaped(call.builder, x, (prod(x.shape[:axis]), in_features)), w])
    bias = _bias(call, features)
    y = y if bias is None else call.op("Add", [y, bias])
    return reshaped(call.builder, y, (*x.shape[:axis], features))


def embed(call: NodeCall) -> Tensor:
    """Look up the row of each index."""
    rows, features = call.attr("input_dim") or 0, call.attr("num_output") or 0
    indices = cast(call.builder, call.tensor(0), "int32")
    y = call.op("Gather", [blob(call, 0, (rows, features)), indices], {"axis": 0})
    bias = _bias(call, features)
    return y if bias is None else call.op("Add", [y, bias])


def parameter(call: NodeCall) -> Tensor:
    shape: Sequence[int] | None = call.attr("shape")
    return call.op("Identity", [blob(call, blob_count(call) - 1, shape)])


CONV: dict[str, NodeHandler] = {
    "Convolution": convolution,
    "ConvolutionDepthwise": depthwise,
    "DepthwiseConvolution": depthwise,
    "Deconvolution": deconvolution,
    "Im2col": im2col,
    "InnerProduct": inner_product,
    "Embed": embed,
    "Parameter": parameter,
}
