"""Layers that are not Keras's, but that many published models define alike.

They are recognised by name, config and weights, and only if these leave one meaning: a copy that
does not state what it computes is refused. Definitions: keras-contrib (InstanceNormalization),
TensorFlow Addons (InstanceNormalization, GroupNormalization), EfficientNet (Swish, FixedDropout),
SSD (L2Normalization, Normalize), DenseNet (Scale), faceswap (PixelShuffler).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.frontends.keras.layers.norm import group_normalization, identity
from webkiln.frontends.keras.operations.tensorflow_functions import l2_normalize
from webkiln.frontends.keras.spec import LayerSpec
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.activations import hard_silu, mish, relu6, unary
from webkiln.ops.pieces import blocks_to_space, space_to_blocks

COMMON = frozenset({"batch_shape", "dtype"})
"""Config values that every layer may have."""
NAMELESS = re.compile(r"var\d+")
"""Names of weights in `.keras` files, which do not state them."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A definition of a layer: the `config` keys that it writes, all of which are needed; `weights`
    by the ends of their names, in order; `states` is why other values are refused, or None.
    """

    handler: LayerHandler
    config: frozenset[str] = frozenset()
    weights: Callable[[Mapping[str, Any]], tuple[str, ...]] = lambda _: ()
    states: Callable[[Mapping[str, Any]], str | None] = lambda _: None


def class_of(spec: LayerSpec) -> str:
    """The name of a class without the package that it was registered in."""
    return spec.class_name.rpartition(">")[2]


def find_copy(spec: LayerSpec) -> LayerHandler | None:
    """The handler of a layer that is a copy of a known definition, or None."""
    copy, _ = _choose(spec)
    if copy is None:
        return None

    def handler(converter: Converter, layer: Layer) -> None:
        assert copy is not None
        names = copy.weights(layer.config)
        stored = layer.weights
        if len(stored) != len(names) or not all(
            NAMELESS.fullmatch(key) or key.rpartition("/")[2].endswith(name)
            for key, name in zip(stored, names, strict=True)
        ):
            shapes = ", ".join(f"{key} {list(weight.shape)}" for key, weight in stored.items())
            raise layer.unsupported(
                f"its weights in the file are {shapes or 'none'}; the definition of"
                f" {layer.class_name} that is known has {', '.join(names) or 'none'}",
                handler_hint(layer.spec),
            )
        spec = replace(layer.spec, weights=dict(zip(names, stored.values(), strict=True)))
        copy.handler(converter, Layer(layer.path, spec, layer.call))

    return handler


def reason_against(spec: LayerSpec) -> str | None:
    """Why a layer with the name of a known definition is not recognised."""
    return _choose(spec)[1]


def handler_hint(spec: LayerSpec) -> str:
    return (
        f"write a handler with KerasConverter.register_handler({spec.class_name!r}) in a FILE.py"
        " and pass --plugin FILE.py"
    )


def _choose(spec: LayerSpec) -> tuple[Copy | None, str | None]:
    if spec.own or spec.kind != "layer" or spec.model is not None:
        return None, None
    copies = COPIES.get(class_of(spec), ())
    keys = spec.config.keys() - COMMON
    for copy in copies:
        if keys == copy.config:
            against = copy.states(spec.config)
            return (copy, None) if against is None else (None, against)
    if not copies:
        return None, None
    known = " or ".join(", ".join(sorted(copy.config)) or "nothing" for copy in copies)
    return None, f"its config has {', '.join(sorted(keys)) or 'nothing'}, not {known}"


def _input(converter: Converter, layer: Layer) -> Tensor:
    return converter.get_variable(converter.get_input_tensor(layer)[0])


def _set(converter: Converter, layer: Layer, y: Tensor) -> None:
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _by_channel(converter: Converter, layer: Layer, name: str, x: Tensor, axis: int) -> Tensor:
    """A weight with an element for each channel of x."""
    weight = layer.weight(name)
    if weight.shape != (x.shape[axis],):
        raise layer.error(
            f"{name} is {list(weight.shape)}, axis {axis} of x has {x.shape[axis]} channels"
        )
    shape = tuple(size if a == axis else 1 for a, size in enumerate(x.shape))
    tensor = converter.convert_to_constant_variable(weight)
    return converter.builder.op("Reshape", [tensor], {"shape": shape})


def instance_normalization(converter: Converter, layer: Layer) -> None:
    """keras-contrib's: epsilon is added to the standard deviation."""
    x, b, config = _input(converter, layer), converter.builder, layer.config
    rank = x.type.rank
    kept = None if config["axis"] is None else config["axis"] % rank
    axes = tuple(axis for axis in range(1, rank) if axis != kept)
    attrs = {"axes": axes, "keepdims": True}
    centred = b.op("Sub", [x, b.op("ReduceMean", [x], attrs)])
    variance = b.op("ReduceMean", [b.op("Square", [centred])], attrs)
    y = b.op("Div", [centred, b.op("Sqrt", [variance]) + float(config["epsilon"])])
    for name, op in (("gamma", "Mul"), ("beta", "Add")):
        if name in layer.weights:
            if kept is None and layer.weight(name).shape == (1,):
                weight = converter.convert_to_constant_variable(layer.weight(name))
            else:
                weight = _by_channel(converter, layer, name, x, kept or rank - 1)
            y = b.op(op, [y, weight])
    _set(converter, layer, y)


def addons_normalization(converter: Converter, layer: Layer) -> None:
    """TensorFlow Addons': epsilon is added to the variance."""
    x, groups = _input(converter, layer), layer.config["groups"]
    channels = x.shape[layer.config["axis"] % x.type.rank]
    if class_of(layer.spec) == "InstanceNormalization" and groups not in (-1, channels):
        raise layer.error(f"its config has groups={groups}, x has {channels} channels")
    group_normalization(converter, layer)


def reflection_padding(converter: Converter, layer: Layer) -> None:
    """Height and width, by the same number on every side."""
    x, size = _input(converter, layer), _single(layer.config["padding"])
    around = (0, size, size, 0)
    if x.type.rank != 4:
        raise layer.error(f"x is {list(x.shape)}; it pads images, of rank 4")
    attrs = {"low": around, "high": around, "mode": "reflect"}
    _set(converter, layer, converter.builder.op("PadFrom", [x], attrs))


def unit_length(converter: Converter, layer: Layer) -> None:
    """The last axis of images is scaled to length 1, and each channel by a weight."""
    x, b = _input(converter, layer), converter.builder
    if x.type.rank != 4:
        raise layer.error(f"x is {list(x.shape)}; it scales images, of rank 4")
    _set(converter, layer, l2_normalize(b, x, 3) * _by_channel(converter, layer, "gamma", x, 3))


def scale(converter: Converter, layer: Layer) -> None:
    x = _input(converter, layer)
    axis = layer.config["axis"] % x.type.rank
    gamma, beta = (_by_channel(converter, layer, name, x, axis) for name in ("gamma", "beta"))
    _set(converter, layer, x * gamma + beta)


def _blocks(key: str, move: Callable[[GraphBuilder, Tensor, int], Tensor]) -> LayerHandler:
    def handler(converter: Converter, layer: Layer) -> None:
        x, size = _input(converter, layer), _single(layer.config[key])
        assert size is not None
        _set(converter, layer, move(converter.builder, x, size))

    return handler


def swish(converter: Converter, layer: Layer) -> None:
    x, b = _input(converter, layer), converter.builder
    beta = float(layer.config.get("beta", 1.0))
    _set(converter, layer, x * b.op("Sigmoid", [x * beta]) if beta != 1 else b.op("Silu", [x]))


def _single(value: Any) -> int | None:
    """A positive number, or one for height and width. Copies of these layers differ in the order of
    the two.
    """
    values = [value] if isinstance(value, int) else value
    if not isinstance(values, list) or not all(type(item) is int and item > 0 for item in values):
        return None
    return int(values[0]) if len(values) in (1, 2) and len(set(values)) == 1 else None


def _is_single(key: str) -> Callable[[Mapping[str, Any]], str | None]:
    def against(config: Mapping[str, Any]) -> str | None:
        if config.get("data_format", "channels_last") not in (None, "channels_last"):
            return f"its data_format is {config['data_format']}; only channels_last is known"
        return (
            None
            if _single(config[key]) is not None
            else f"its {key} is {config[key]!r}; one number for height and width is known"
        )

    return against


def _affine(config: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        name for name, option in (("gamma", "scale"), ("beta", "center")) if config.get(option)
    )


def _activation(function: Any) -> tuple[Copy, ...]:
    def handler(converter: Converter, layer: Layer) -> None:
        _set(converter, layer, function(converter.builder, _input(converter, layer)))

    return (Copy(handler),)


def _is_number(config: Mapping[str, Any]) -> str | None:
    number = type(config["beta"]) in (int, float)
    return None if number else f"its beta is {config['beta']!r}; a number is known"


def _is_swish(config: Mapping[str, Any]) -> str | None:
    named = config["activation"] in ("swish", "silu", "Swish")
    return None if named else f"its activation is {config['activation']!r}; swish is known"


_KEYS = frozenset({"axis", "epsilon", "center", "scale"})
_GROUPS = Copy(addons_normalization, _KEYS | {"groups"}, _affine)
_UNIT = tuple(
    Copy(unit_length, frozenset(keys), lambda _: ("gamma",)) for keys in (("gamma_init",), ())
)


def _sized(handler: LayerHandler, key: str) -> tuple[Copy, ...]:
    return tuple(
        Copy(handler, frozenset(keys), states=_is_single(key))
        for keys in ((key,), (key, "data_format"))
    )


COPIES: Mapping[str, tuple[Copy, ...]] = {
    "InstanceNormalization": (Copy(instance_normalization, _KEYS, _affine), _GROUPS),
    "GroupNormalization": (_GROUPS,),
    "ReflectionPadding2D": _sized(reflection_padding, "padding"),
    "Swish": (
        Copy(swish),
        Copy(swish, frozenset({"beta"}), states=_is_number),
        Copy(swish, frozenset({"activation"}), states=_is_swish),
    ),
    "Mish": _activation(mish),
    "HSwish": _activation(hard_silu),
    "HardSwish": _activation(hard_silu),
    "Hswish": _activation(hard_silu),
    "ReLU6": _activation(relu6),
    "Relu6": _activation(relu6),
    "HSigmoid": _activation(unary("HardSigmoid")),
    "FixedDropout": (Copy(identity, frozenset({"rate"})),),
    "PixelShuffler": _sized(_blocks("size", blocks_to_space), "size"),
    "DepthToSpace": _sized(_blocks("block_size", blocks_to_space), "block_size"),
    "SpaceToDepth": _sized(_blocks("block_size", space_to_blocks), "block_size"),
    "L2Normalization": _UNIT,
    "Normalize": _UNIT,
    "Scale": (Copy(scale, frozenset({"axis"}), lambda _: ("gamma", "beta")),),
}
"""The definitions of each class."""
