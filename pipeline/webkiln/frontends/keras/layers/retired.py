"""Layers of Keras 1 and 2 that Keras 3 does not have."""

from collections.abc import Mapping

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.layers.linear import bias_of
from webkiln.frontends.keras.layers.local import locally_connected
from webkiln.frontends.keras.layers.merge import batch_product, promoted
from webkiln.frontends.keras.layers.norm import by_element
from webkiln.ops.builder import Tensor


def _input(converter: Converter, layer: Layer) -> Tensor:
    return converter.get_variable(converter.get_input_tensor(layer)[0])


def _set(converter: Converter, layer: Layer, y: Tensor) -> None:
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _weight(converter: Converter, layer: Layer, name: str) -> Tensor:
    return converter.convert_to_constant_variable(layer.weight(name))


def highway(converter: Converter, layer: Layer) -> None:
    """Highway: a dense layer and its input, mixed by a gate (Srivastava et al. 2015)."""
    x, b = _input(converter, layer), converter.builder
    features = layer.weight("kernel").shape[-1]
    if (
        layer.weight("kernel").shape != layer.weight("carry_kernel").shape
        or x.shape[-1] != features
    ):
        raise layer.error(f"its kernels have {features} features, x is {list(x.shape)}")
    gate, y = (
        b.op("MatMul", [x, _weight(converter, layer, name)]) for name in ("carry_kernel", "kernel")
    )
    if layer.config.get("use_bias", True):
        gate, y = (
            gate + _weight(converter, layer, "carry_bias"),
            y + bias_of(converter, layer, features),
        )
    gate = b.op("Sigmoid", [gate])
    _set(converter, layer, activate(b, layer, y) * gate + (1.0 - gate) * x)


def maxout_dense(converter: Converter, layer: Layer) -> None:
    """Maxout: the maximum of several dense layers (Goodfellow et al. 2013)."""
    x, weight, b = _input(converter, layer), layer.weight("kernel"), converter.builder
    layer.check_config(nb_feature=weight.shape[0], units=weight.shape[2])
    if x.shape[1:] != weight.shape[1:2]:
        raise layer.error(
            f"the kernel is {list(weight.shape)}, x is {list(x.shape)}; x needs {weight.shape[1]}"
            " features"
        )
    y = b.op(
        "Einsum", [x, converter.convert_to_constant_variable(weight)], {"equation": "ni,fio->nfo"}
    )
    if layer.config.get("use_bias", True):
        y = b.op("Add", [y, _weight(converter, layer, "bias")])
    _set(converter, layer, b.op("ReduceMax", [y], {"axes": (1,), "keepdims": False}))


def parametric_softplus(converter: Converter, layer: Layer) -> None:
    x, b = _input(converter, layer), converter.builder
    alpha, beta = (by_element(converter, layer, name, x) for name in ("alpha", "beta"))
    _set(converter, layer, b.op("Softplus", [beta * x]) * alpha)


def s_relu(converter: Converter, layer: Layer) -> None:
    """SReLU: x between two thresholds, with other slopes outside (Jin et al. 2015)."""
    x, b = _input(converter, layer), converter.builder
    names = ("t_left", "a_left", "t_right", "a_right")
    left, slope_left, right, slope_right = (by_element(converter, layer, name, x) for name in names)
    width = b.op("Abs", [right])
    above = b.op("Sub", [x, left])
    middle = b.op("Min", [b.op("Relu", [above]), width]) - slope_left * b.op("Relu", [-above])
    _set(converter, layer, left + middle + b.op("Relu", [above - width]) * slope_right)


def cosine_merge(converter: Converter, layer: Layer) -> None:
    """Cosine similarity: products over an axis of two inputs, divided by the root of the products
    of each with itself.
    """
    x, y = promoted(converter, layer)
    b = converter.builder
    xy, xx, yy = (
        batch_product(layer, b, *pair, layer.config["axes"]) for pair in ((x, y), (x, x), (y, y))
    )
    z = b.op("Div", [xy, b.binary("Max", b.op("Sqrt", [xx * yy]), 1e-7)])
    _set(converter, layer, b.op("Reshape", [z], {"shape": (z.shape[0], 1, *z.shape[1:])}))


def samplewise_normalization(converter: Converter, layer: Layer) -> None:
    """Keras 1's BatchNormalization with mode 1: by the mean and deviation of the last axis; epsilon
    is added under the root and to it.
    """
    x, b, epsilon = (
        _input(converter, layer),
        converter.builder,
        float(layer.config.get("epsilon", 1e-3)),
    )
    attrs = {"axes": (x.type.rank - 1,), "keepdims": True}
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], attrs)])
    deviation = (
        b.op("Sqrt", [b.op("ReduceMean", [b.op("Square", [centred])], attrs) + epsilon]) + epsilon
    )
    y = b.op("Div", [centred, deviation])
    _set(
        converter,
        layer,
        b.op(
            "Add",
            [
                b.op("Mul", [y, _weight(converter, layer, "gamma")]),
                _weight(converter, layer, "beta"),
            ],
        ),
    )


def batchwise_normalization(converter: Converter, layer: Layer) -> None:
    """Keras 1's BatchNormalization with mode 2: by the mean and variance of the batch, also at
    inference.
    """
    x, b, axis = _input(converter, layer), converter.builder, layer.config.get("axis", -1)
    axis %= x.type.rank
    attrs = {"axes": tuple(a for a in range(x.type.rank) if a != axis), "keepdims": True}
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], attrs)])
    variance = b.op("ReduceMean", [b.op("Square", [centred])], attrs)
    y = b.op("Mul", [centred, b.op("Rsqrt", [variance + float(layer.config.get("epsilon", 1e-3))])])
    shape = tuple(size if a == axis else 1 for a, size in enumerate(x.shape))
    gamma, beta = (
        b.op("Reshape", [_weight(converter, layer, name)], {"shape": shape})
        for name in ("gamma", "beta")
    )
    _set(converter, layer, b.op("Add", [b.op("Mul", [y, gamma]), beta]))


RETIRED: Mapping[str, LayerHandler] = {
    "BatchwiseNormalization": batchwise_normalization,
    "CosineMerge": cosine_merge,
    "Highway": highway,
    "LocallyConnected1D": locally_connected,
    "LocallyConnected2D": locally_connected,
    "MaxoutDense": maxout_dense,
    "ParametricSoftplus": parametric_softplus,
    "SReLU": s_relu,
    "SamplewiseNormalization": samplewise_normalization,
}
"""By the names of `keras/versions/classes.py`, where Keras's are ambiguous."""
