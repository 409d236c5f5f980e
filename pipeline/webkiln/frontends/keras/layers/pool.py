"""Pooling layers."""

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.frontends.keras.layers.conv import dims, padding
from webkiln.ir.axis import OrderNC
from webkiln.ops.functional.operands import countable
from webkiln.ops.functional.windows import sizes
from webkiln.ops.pieces import cast


def pool(op: str) -> LayerHandler:
    """MaxPooling and AveragePooling of any rank. Averages exclude padding."""

    def handler(converter: Converter, layer: Layer) -> None:
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        _, _, *spatial = dims(layer, x.type.rank)
        window = sizes(layer.config["pool_size"], len(spatial))
        strides = sizes(layer.config.get("strides") or window, len(spatial))
        ones = (1,) * len(spatial)
        pads = padding(layer, [x.shape[axis] for axis in spatial], window, strides, ones)
        attrs = {
            "axes": tuple(spatial),
            "window": window,
            "strides": strides,
            "dilation": ones,
            "pad_low": tuple(low for low, _ in pads),
            "pad_high": tuple(high for _, high in pads),
        }
        converter.set_variable(
            converter.get_output_tensor(layer)[0], converter.builder.op(op, [x], attrs)
        )

    return handler


def global_pool(op: str) -> LayerHandler:
    """GlobalMaxPooling and GlobalAveragePooling of any rank. An average over steps includes those
    that its mask [N, T] shows.
    """

    def handler(converter: Converter, layer: Layer) -> None:
        x, *masks = map(converter.get_variable, converter.get_input_tensor(layer))
        b = converter.builder
        _, _, *spatial = dims(layer, x.type.rank)
        keepdims = bool(layer.config.get("keepdims", False))
        order, attrs = (
            x.order if keepdims else OrderNC,
            {"axes": tuple(spatial), "keepdims": keepdims},
        )
        if masks:
            sizes = tuple(size if axis in (0, *spatial) else 1 for axis, size in enumerate(x.shape))
            shown = b.op("Reshape", [cast(b, masks[0], "bool")], {"shape": sizes})
            total = b.op(
                "ReduceSum", [b.op("Where", [shown, x, b.constant(0.0, x.dtype)])], attrs, order
            )
            y = b.op(
                "Div",
                [total, b.op("ReduceSum", [b.op("Cast", [shown], {"dtype": x.dtype})], attrs)],
                order=order,
            )
        else:
            y = cast(b, b.op(op, [countable(b, x)], attrs, order), x.dtype)
        converter.set_variable(converter.get_output_tensor(layer)[0], y)

    return handler


def adaptive_pool(op: str) -> LayerHandler:
    """AdaptiveMaxPooling and AdaptiveAveragePooling of any rank."""

    def handler(converter: Converter, layer: Layer) -> None:
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        _, _, *spatial = dims(layer, x.type.rank)
        attrs = {"axes": tuple(spatial), "sizes": sizes(layer.config["output_size"], len(spatial))}
        converter.set_variable(
            converter.get_output_tensor(layer)[0], converter.builder.op(op, [x], attrs, x.order)
        )

    return handler
