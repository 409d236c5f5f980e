"""Operators of recordings that compute whole layers."""

from collections.abc import Callable
from dataclasses import replace

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Shape, known_shape
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional import pooling, recurrent, sample
from webkiln.ops.functional.interpolate import Interpolation, resize_axis
from webkiln.ops.functional.normalization import layer_norm, local_response_norm
from webkiln.ops.functional.pooling import Windows
from webkiln.ops.pieces import cast
from webkiln.ops.transposed_conv import transposed_conv

Layer = Callable[[GraphBuilder, recurrent.Operands, recurrent.Options], list[Tensor]]


def windows(call: NodeCall, window: Shape) -> Windows:
    count, pads = len(window), call.attr("pads")
    dilation = call.attr("dilations", (1,) * count)
    return Windows(window, call.attr("strides"), dilation, pads[:count], pads[count:])


def conv(call: NodeCall) -> Tensor:
    x, w = call.tensor(0), call.tensor(1)
    given = windows(call, tuple(w.shape[2:]))
    return pooling.conv(call.builder, x, w, call.optional(2), given, call.attr("group"))


def conv_transpose(call: NodeCall) -> Tensor:
    x, w = call.tensor(0), call.tensor(1)
    given = windows(call, tuple(w.shape[2:]))
    extra = call.attr("output_padding", (0,) * len(given.window))
    return transposed_conv(
        call.builder,
        x,
        w,
        call.optional(2),
        given.strides,
        given.dilation,
        given.low,
        given.high,
        extra,
        call.attr("group"),
    )


def max_pool(call: NodeCall) -> list[Tensor]:
    return pooling.max_pool(
        call.builder,
        call.tensor(0),
        windows(call, call.attr("kernel_shape")),
        ceil_mode=False,
        indices=call.is_output_used(1),
    )


def average_pool(call: NodeCall) -> Tensor:
    return pooling.average_pool(
        call.builder,
        call.tensor(0),
        windows(call, call.attr("kernel_shape")),
        ceil_mode=False,
        count_include_pad=call.flag("count_include_pad"),
    )


def batch_norm(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    parameters = [cast(call.builder, call.tensor(number), x.dtype) for number in range(1, 5)]
    attrs = {"axis": min(1, x.type.rank - 1), "epsilon": call.attr("epsilon")}
    return call.op("BatchNorm", [x, *parameters], attrs)


def normalised_rows(call: NodeCall) -> Tensor:
    x, scale = call.tensor(0), call.tensor(1)
    axes, epsilon = (x.type.rank - 1,), call.attr("epsilon")
    y, *_ = layer_norm(call.builder, x, scale, call.optional(2), axes=axes, epsilon=epsilon)
    return y


def response_norm(call: NodeCall) -> Tensor:
    alpha, beta, bias = (call.attr(name) for name in ("alpha", "beta", "bias"))
    widths = {1: call.attr("size")}
    return local_response_norm(
        call.builder, call.tensor(0), widths, alpha=alpha, beta=beta, bias=bias
    )


def resize(call: NodeCall) -> Tensor:
    """Operands: x, two that are absent, the sizes of all axes. Integers are interpolated as
    float32, then rounded.
    """
    b, x = call.builder, call.tensor(0)
    how = Interpolation(call.attr("mode"), call.attr("coordinate_transformation_mode"))
    how = replace(how, nearest=call.attr("nearest_mode", how.nearest))
    y = x if how.mode == "nearest" or is_float(x.dtype) else cast(b, x, "float32")
    for axis, size in enumerate(call.sizes(3)):
        if size != x.shape[axis]:
            y = resize_axis(b, y, axis, size, None, how)
    return y if y.dtype == x.dtype else cast(b, b.op("Round", [y]), x.dtype)


def grid_sample(call: NodeCall) -> Tensor:
    return sample.grid_sample(
        call.builder,
        call.tensor(0),
        call.tensor(1),
        mode=call.attr("mode"),
        padding=call.attr("padding_mode"),
        corners=call.flag("align_corners"),
    )


def affine_grid(call: NodeCall) -> Tensor:
    return sample.affine_grid(
        call.builder, call.tensor(0), call.sizes(1)[2:], corners=call.flag("align_corners")
    )


def deform_conv(call: NodeCall) -> Tensor:
    x, w, offsets = call.tensor(0), call.tensor(1), call.tensor(2)
    given = windows(call, call.attr("kernel_shape"))
    return sample.deform_conv(
        call.builder,
        x,
        w,
        offsets,
        call.optional(3),
        strides=given.strides,
        pads=known_shape((*given.low, *given.high), "the padding"),
        dilation=given.dilation,
    )


def roi_align(call: NodeCall) -> Tensor:
    return sample.roi_align(
        call.builder,
        *call.tensors(),
        bins=(call.attr("output_height"), call.attr("output_width")),
        ratio=call.attr("sampling_ratio"),
        scale=call.attr("spatial_scale"),
        half_pixel=call.attr("coordinate_transformation_mode") == "half_pixel",
        mode=call.attr("mode"),
    )


def max_roi_pool(call: NodeCall) -> Tensor:
    bins, scale = call.attr("pooled_shape"), call.attr("spatial_scale")
    return sample.max_roi_pool(call.builder, call.tensor(0), call.tensor(1), bins, scale)


def recurrence(layer: Layer, gates: int, states: int, names: tuple[str, ...]) -> NodeHandler:
    """Operands: x, the weights of the input, of the state, the biases, the lengths, the initial
    states. `names` are the activations of one direction.
    """

    def handler(call: NodeCall) -> list[Tensor]:
        reverse = (False, True) if call.attr("direction") == "bidirectional" else (False,)
        functions = call.attr("activations") or names * len(reverse)
        options = recurrent.Options(
            gates,
            call.attr("hidden_size"),
            reverse,
            tuple(recurrent.ACTIVATIONS[name.lower()](None, None) for name in functions),
            linear_before_reset=call.flag("linear_before_reset"),
        )
        operands = recurrent.Operands(
            call.tensor(0),
            call.tensor(1),
            call.tensor(2),
            call.optional(3),
            call.optional(4),
            [call.optional(5 + state) for state in range(states)],
        )
        return layer(call.builder, operands, options)

    return handler


LAYERS: dict[str, NodeHandler] = {
    "AffineGrid": affine_grid,
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "DeformConv": deform_conv,
    "GRU": recurrence(recurrent.gru, 3, 1, ("Sigmoid", "Tanh")),
    "GridSample": grid_sample,
    "LRN": response_norm,
    "LSTM": recurrence(recurrent.lstm, 4, 2, ("Sigmoid", "Tanh", "Tanh")),
    "LayerNormalization": normalised_rows,
    "MaxPool": max_pool,
    "MaxRoiPool": max_roi_pool,
    "RNN": recurrence(recurrent.rnn, 1, 1, ("Tanh",)),
    "Resize": resize,
    "RoiAlign": roi_align,
}
