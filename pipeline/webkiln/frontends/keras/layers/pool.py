"""Pooling layers."""

from typing import TYPE_CHECKING

from webkiln.frontends.keras.layer import Handler, Layer
from webkiln.frontends.keras.layers.conv import dims, padding, sizes
from webkiln.ir.axis import OrderNC

if TYPE_CHECKING:
    from webkiln.frontends.keras.converter import KerasConverter


def pool(op: str) -> Handler:
    """MaxPooling and AveragePooling of any rank; the average counts real elements only."""

    def handler(converter: "KerasConverter", layer: Layer) -> None:
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
        converter.set_variable(converter.get_output_tensor(layer)[0], converter.builder.op(op, [x], attrs))

    return handler


def global_pool(op: str) -> Handler:
    """GlobalMaxPooling and GlobalAveragePooling of any rank."""

    def handler(converter: "KerasConverter", layer: Layer) -> None:
        if layer.arguments.kwargs.get("mask") is not None:
            raise layer.unsupported("pooling under a mask", "Remove the Masking layer or pool before it")
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        _, _, *spatial = dims(layer, x.type.rank)
        keepdims = bool(layer.config.get("keepdims", False))
        order = x.order if keepdims else OrderNC
        y = converter.builder.op(op, [x], {"axes": tuple(spatial), "keepdims": keepdims}, order)
        converter.set_variable(converter.get_output_tensor(layer)[0], y)

    return handler


def adaptive_pool(op: str) -> Handler:
    """AdaptiveMaxPooling and AdaptiveAveragePooling of any rank."""

    def handler(converter: "KerasConverter", layer: Layer) -> None:
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        _, _, *spatial = dims(layer, x.type.rank)
        attrs = {"axes": tuple(spatial), "sizes": sizes(layer.config["output_size"], len(spatial))}
        converter.set_variable(converter.get_output_tensor(layer)[0], converter.builder.op(op, [x], attrs, x.order))

    return handler
