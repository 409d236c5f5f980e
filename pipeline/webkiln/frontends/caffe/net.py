"""The inference net of a definition: its layers in order, with weights, inputs and outputs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.caffe.schema import LAYER_PARAMETERS, messages
from webkiln.frontends.caffe.text import Unknown
from webkiln.frontends.nodes.reading import DistinctNames
from webkiln.ir.types import Array

MAX_LAYERS = 1 << 16
DATA = {
    "Data": "data_param",
    "ImageData": "image_data_param",
    "MemoryData": "memory_data_param",
    "DummyData": "dummy_data_param",
    "HDF5Data": "hdf5_data_param",
    "WindowData": "window_data_param",
    "Input": "input_param",
    "AnnotatedData": "data_param",
    "VideoData": "data_param",
}
"""Layer types that read data -> the field of their parameters."""
LOSSES = {
    "SoftmaxWithLoss": "Softmax",
    "SigmoidCrossEntropyLoss": "Sigmoid",
    "InfogainLoss": "Softmax",
    "EuclideanLoss": "",
    "HingeLoss": "",
    "ContrastiveLoss": "",
    "MultinomialLogisticLoss": "",
    "SmoothL1Loss": "",
}
"""Loss layers -> the function that they apply to their first bottom before the comparison, or "".
"""
ENDS = ("Accuracy", "HDF5Output", "DetectionEvaluate")
"""Layers without outputs, which are removed."""


@dataclass(frozen=True)
class NetLayer:
    """A layer. Each tensor in `bottoms` and `tops` is written once; `unknown` are fields that
    Caffe's layers do not have.
    """

    name: str
    type: str
    bottoms: tuple[str, ...]
    tops: tuple[str, ...]
    message: Any
    blobs: tuple[Array, ...] = ()
    unknown: Unknown | None = None


@dataclass(frozen=True)
class NetInput:
    """An input blob. Without a shape, its rank is unknown."""

    name: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class CaffeNet:
    """A net. `inputs` are by tensor; `outputs` map names of blobs to tensors; `blobs` map tensors
    to the names that they had.
    """

    name: str
    inputs: Mapping[str, NetInput]
    layers: tuple[NetLayer, ...]
    outputs: Mapping[str, str]
    blobs: Mapping[str, str]


def net_of(
    message: Any, weights: Mapping[str, Sequence[Array]], unknown: Mapping[str, Unknown], name: str
) -> CaffeNet:
    """The net of an upgraded definition, for phase TEST. `weights` and `unknown` are by layer."""
    if len(message.layer) > MAX_LAYERS:
        raise SourceError(
            f"{name}: has {len(message.layer)} layers; a net has at most {MAX_LAYERS}"
        )
    reader = _Reader(name)
    for layer in message.layer:
        if _is_included(layer, message.state):
            reader.read(layer, unknown.get(layer.name))
    return reader.net(message.name, weights)


def _is_included(layer: Any, state: Any) -> bool:
    if layer.include:
        return any(_meets(state, rule) for rule in layer.include)
    return not any(_meets(state, rule) for rule in layer.exclude)


def _meets(state: Any, rule: Any) -> bool:
    """Whether a rule matches phase TEST and the net's level and stages."""
    test, stages = messages()["NetState"]().phase, set(state.stage)
    return not (
        (rule.HasField("phase") and rule.phase != test)
        or (rule.HasField("min_level") and state.level < rule.min_level)
        or (rule.HasField("max_level") and state.level > rule.max_level)
        or set(rule.stage) - stages
        or set(rule.not_stage) & stages
    )


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: dict[str, NetInput] = {}
        self.data: set[str] = set()
        self.layers: list[NetLayer] = []
        self.current: dict[str, str] = {}
        self.read_: set[str] = set()
        self.order: list[str] = []
        self.tensors = DistinctNames()
        self.labels = DistinctNames()

    def read(self, message: Any, unknown: Unknown | None) -> None:
        if message.type in DATA:
            self.read_data(message)
            return
        bottoms = []
        for bottom in message.bottom:
            if bottom not in self.current:
                raise SourceError(
                    f"{self.name}: the layer {message.name} ({message.type}) reads {bottom}, which"
                    " no earlier layer writes"
                )
            bottoms.append(self.current[bottom])
        if message.type in ENDS:
            return
        if message.type == "Silence":
            self.read_.update(bottoms)
            return
        if message.type in LOSSES:
            self.read_loss(message, bottoms)
            return
        self.read_.update(bottoms)
        label = self.labels.distinct(message.name or message.type.lower() or "layer")
        tops = [self.written_tensor(top) for top in message.top]
        self.layers.append(
            NetLayer(label, message.type, tuple(bottoms), tuple(tops), message, (), unknown)
        )

    def read_loss(self, message: Any, bottoms: Sequence[str]) -> None:
        """A loss's first bottom becomes an output, under the name of the loss's second top if it
        has one.
        """
        kind = LOSSES[message.type]
        if not kind or not bottoms:
            return
        self.read_.add(bottoms[0])
        label = self.labels.distinct(message.name)
        top = message.top[1] if len(message.top) > 1 else message.top[0] if message.top else label
        layer = messages()["LayerParameter"](
            name=message.name, type=kind, bottom=message.bottom[:1], top=[top]
        )
        if kind == "Softmax":
            layer.softmax_param.CopyFrom(message.softmax_param)
        self.layers.append(NetLayer(label, kind, (bottoms[0],), (self.written_tensor(top),), layer))

    def read_data(self, message: Any) -> None:
        shapes = _shapes(message)
        for index, top in enumerate(message.top):
            tensor = self.written_tensor(top)
            shape = (
                shapes[min(index, len(shapes) - 1)]
                if shapes and (index < len(shapes) or message.type == "Input")
                else None
            )
            self.inputs[tensor] = NetInput(top, shape)
            if index and message.type != "Input":
                self.data.add(tensor)
            if shape is not None and any(
                not 0 < size < 1 << 31 for size in shape if size is not None
            ):
                raise SourceError(
                    f"{self.name}: the input {top} has the shape {list(shape)}; sizes are from 1 to"
                    f" {(1 << 31) - 1}"
                )

    def written_tensor(self, blob: str) -> str:
        if not blob:
            raise SourceError(f"{self.name}: a layer writes a blob without a name")
        self.current[blob] = self.tensors.distinct(blob)
        self.order.append(blob)
        return self.current[blob]

    def net(self, name: str, weights: Mapping[str, Sequence[Array]]) -> CaffeNet:
        used = {tensor for layer in self.layers for tensor in layer.bottoms}
        inputs = {tensor: item for tensor, item in self.inputs.items() if tensor in used} or dict(
            list(self.inputs.items())[:1]
        )
        written = {tensor for layer in self.layers for tensor in layer.tops}
        outputs = {blob: self.current[blob] for blob in dict.fromkeys(self.order)}
        outputs = {
            blob: tensor
            for blob, tensor in outputs.items()
            if tensor in written and tensor not in self.read_
        }
        if not outputs:
            raise SourceError(f"{self.name}: has no layers in phase TEST")
        layers = tuple(
            replace(layer, blobs=blobs)
            for layer, blobs in zip(self.layers, _shared_weights(self.layers, weights), strict=True)
        )
        return CaffeNet(name, inputs, layers, outputs, dict(self.current))


def _shared_weights(
    layers: Sequence[NetLayer], weights: Mapping[str, Sequence[Array]]
) -> list[tuple[Array, ...]]:
    """The weights of each layer. Shared weights belong to the first layer that names them."""
    shared: dict[str, Array] = {}
    by_layer = []
    for layer in layers:
        blobs = list(weights.get(layer.message.name, ()))
        names = [item.name for item in layer.message.param]
        while len(blobs) < len(names) and names[len(blobs)] in shared:
            blobs.append(shared[names[len(blobs)]])
        for label, blob in zip(names, blobs, strict=False):
            if label:
                shared.setdefault(label, blob)
        by_layer.append(tuple(blobs))
    return by_layer


def _shapes(message: Any) -> list[tuple[int | None, ...]]:
    """The known shapes of a data layer's tops. Labels have none."""
    field = DATA[message.type]
    param = getattr(message, field)
    match message.type:
        case "Input":
            return [tuple(shape.dim) for shape in param.shape]
        case "MemoryData":
            return [(param.batch_size, param.channels, param.height, param.width)]
        case "DummyData":
            older = zip(param.num, param.channels, param.height, param.width, strict=False)
            return [tuple(shape.dim) for shape in param.shape] or list(older)
        case "HDF5Data":
            return []
    crop = message.transform_param.crop_size
    height, width = (
        crop or getattr(param, "new_height", 0),
        crop or getattr(param, "new_width", 0),
    )
    return [
        (
            param.batch_size or None,
            None if message.type != "ImageData" else 3 if param.is_color else 1,
            height or None,
            width or None,
        )
    ]


def attributes(layer: NetLayer) -> dict[str, Any]:
    """A layer's parameters as a flat table with defaults. Fields of nested messages have dotted
    names.
    """
    attrs: dict[str, Any] = {}
    parameter = parameter_of(layer.type)
    for number, name in LAYER_PARAMETERS.items():
        field = f"{name}_param"
        if name == parameter:
            _flatten(getattr(layer.message, field), "", attrs)
        elif layer.message.HasField(field) and parameter is None and number >= 103:
            _flatten(getattr(layer.message, field), f"{field}.", attrs)
    extra: dict[str, Any] = {}
    for name, value in (layer.unknown or {}).items():
        if not HARMLESS.search(name):
            _flatten_unknown(name, value, extra)
    if invalid := next((name for name, value in attrs.items() if not _is_finite(value)), None):
        raise SourceError(
            f"{layer.name} ({layer.type}): its {invalid} is {attrs[invalid]}, expected a number"
        )
    return {**attrs, **extra, **({UNKNOWN: tuple(extra)} if extra else {})}


def _is_finite(value: Any) -> bool:
    return all(
        isfinite(item)
        for item in (value if isinstance(value, tuple) else (value,))
        if isinstance(item, float)
    )


UNKNOWN = "unknown"
"""The attribute that lists the fields of forks."""
HARMLESS = re.compile(
    r"^(param|transform_param|loss_param|include|exclude|propagate_down|.*filler)$"
)
"""Fields that do not affect inference."""
SAME = {
    "Deconvolution": "convolution",
    "ConvolutionDepthwise": "convolution",
    "DepthwiseConvolution": "convolution",
    "Im2col": "convolution",
    "LSTM": "recurrent",
    "RNN": "recurrent",
    "Normalize": "norm",
    "InnerProduct": "inner_product",
    "BatchNorm": "batch_norm",
    "PriorBox": "prior_box",
    "DetectionOutput": "detection_output",
    "ShuffleChannel": "shuffle_channel",
    "BatchReindex": None,
}
"""Layer types whose parameter has a different name."""


def parameter_of(type_: str) -> str | None:
    """The name of a layer type's parameter, without its suffix."""
    lower = SAME.get(type_, type_.lower())
    return lower if lower in LAYER_PARAMETERS.values() else None


def _flatten(message: Any, prefix: str, attrs: dict[str, Any]) -> None:
    for field in message.DESCRIPTOR.fields:
        if field.message_type is not None:
            if field.name.endswith("filler") or field.name == "save_output_param":
                continue
            if field.message_type.name == "BlobShape" and not field.is_repeated:
                if message.HasField(field.name):
                    attrs[f"{prefix}{field.name}"] = tuple(getattr(message, field.name).dim)
            elif not field.is_repeated:
                _flatten(getattr(message, field.name), f"{prefix}{field.name}.", attrs)
            continue
        if field.name == "engine":
            continue
        value = getattr(message, field.name)
        if field.is_repeated:
            if value:
                attrs[f"{prefix}{field.name}"] = tuple(value)
        elif field.has_default_value or message.HasField(field.name):
            attrs[f"{prefix}{field.name}"] = (
                field.enum_type.values_by_number[value].name
                if field.enum_type is not None
                else value
            )


def _flatten_unknown(name: str, value: Any, attrs: dict[str, Any]) -> None:
    if isinstance(value, dict):
        for inner, item in value.items():
            _flatten_unknown(f"{name}.{inner}", item, attrs)
    elif isinstance(value, tuple) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            _flatten_unknown(f"{name}.{index}", item, attrs)
    elif not HARMLESS.search(name.rpartition(".")[2]):
        attrs[name] = value
