"""A definition and its weights -> spec and weight blobs. Files are untrusted: inconsistencies raise
SourceError.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.caffe.net import CaffeNet, NetInput, NetLayer, attributes, net_of
from webkiln.frontends.caffe.schema import PYTHON
from webkiln.frontends.caffe.signatures import is_text
from webkiln.frontends.caffe.subgraph import cut_net
from webkiln.frontends.caffe.text import Unknown, read_text
from webkiln.frontends.caffe.upgrade import upgraded
from webkiln.frontends.caffe.weights import WeightFile
from webkiln.frontends.core.arrays import Blobs, Literal, Weight
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.nodes.reading import StoredWeights
from webkiln.frontends.nodes.sizes import Shapes
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.ir.types import Array

WEIGHTED = frozenset(
    {
        "Convolution",
        "Deconvolution",
        "ConvolutionDepthwise",
        "DepthwiseConvolution",
        "InnerProduct",
        "Embed",
        "BatchNorm",
        "PReLU",
        "LSTM",
        "RNN",
        "Normalize",
        "Parameter",
    }
)
"""Layer types that need weights."""
ROLES = {
    "BatchNorm": ("mean", "variance", "factor"),
    "Scale": ("scale", "bias"),
    "Bias": ("bias",),
    "PReLU": ("slope",),
    "Normalize": ("scale",),
    "Parameter": ("value",),
}


def read_model(
    path: Path,
    companion: Path | None = None,
    shapes: Shapes | None = None,
    cut: Subgraph = ENTIRE_MODEL,
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a definition or weight file and its `companion`, or of the
    subgraph `cut`. `shapes` override the input shapes of the file.
    """
    return described(read_net(path, companion, shapes, cut), path.stem)


def read_net(
    path: Path,
    companion: Path | None = None,
    shapes: Shapes | None = None,
    cut: Subgraph = ENTIRE_MODEL,
) -> CaffeNet:
    texts = [item for item in (path, companion) if item is not None and _is_text(item)]
    weights = [item for item in (path, companion) if item is not None and item not in texts]
    if len(texts) > 1 or len(weights) > 1:
        kind = "definitions" if len(texts) > 1 else "weight files"
        raise SourceError(
            f"{path.name}: the file and its companion are both {kind}; pass one definition"
            " (.prototxt) and one weight file (.caffemodel)"
        )
    file = WeightFile(weights[0]) if weights else None
    arrays = _by_layer(file) if file is not None else {}
    if texts:
        definition = read_text(texts[0].read_bytes(), path.name)
        message = definition.net
        labels = [layer.name for layer in (*message.layer, *message.layers)]
        unknown = {labels[index]: fields for index, fields in definition.unknown.items()}
    else:
        assert file is not None
        message = file.net
        if not any(layer.top for layer in (*message.layer, *message.layers)):
            raise SourceError(
                f"{path.name}: contains weights without a definition; put the .prototxt next to it,"
                " with the same name, or build the .prototxt"
            )
        for layer in (*message.layer, *message.layers):
            layer.ClearField("include")
            layer.ClearField("exclude")
        unknown = {
            layer.name: extra
            for layer in (*message.layer, *message.layers)
            if (extra := _numbered(layer))
        }
    net = net_of(upgraded(message, path.name), arrays, unknown, path.name)
    if file is None and (needy := [layer for layer in net.layers if layer.type in WEIGHTED]):
        raise SourceError(
            f"{path.name}: its layer {needy[0].name} ({needy[0].type})"
            " needs weights, but there are none; put the .caffemodel next"
            " to it, with the same name, or add --weights FILE.caffemodel"
        )
    if (
        file is not None
        and not any(layer.blobs for layer in net.layers)
        and any(layer.type in WEIGHTED for layer in net.layers)
    ):
        raise SourceError(
            f"{path.name}: none of its layers has the name of one in {weights[0].name}; use the"
            " weights of this net"
        )
    return _reshaped(cut_net(net, cut, path.name), shapes or {}, path.name)


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        return is_text(file.read(4096))


def _by_layer(file: WeightFile) -> dict[str, list[Array]]:
    names = [layer.name for layer in file.net.layer] or [
        layer.layer.name or layer.name for layer in file.net.layers
    ]
    return {names[index]: blobs for index, blobs in file.blobs.items()}


def _numbered(message: Any, path: str = "") -> Unknown:
    """Fields that Caffe does not have. In a binary file, they are only numbers."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    fields: Unknown = {f"{path}field {item.field_number}": "" for item in UnknownFieldSet(message)}
    for field, value in message.ListFields():
        if field.message_type is not None and not field.is_repeated:
            fields |= _numbered(value, f"{path}{field.name} ")
    return fields


def _reshaped(net: CaffeNet, shapes: Shapes, name: str) -> CaffeNet:
    """Check overriding shapes. Sizes may differ from the definition, ranks may not."""
    names = [item.name for item in net.inputs.values()]
    if unknown := sorted(set(shapes) - {*names, ""}):
        raise SourceError(
            f"{name}: there is no input {', '.join(unknown)}; inputs are {', '.join(names)}"
        )
    inputs: dict[str, NetInput] = {}
    for tensor, item in net.inputs.items():
        requested = shapes.get(item.name, shapes.get("") if len(names) == 1 else None)
        if requested is not None and item.shape is not None and len(requested) != len(item.shape):
            raise SourceError(
                f"{name}: the input {item.name} has {len(item.shape)} axes, {list(item.shape)}; got"
                f" {list(requested)}"
            )
        inputs[tensor] = item if requested is None else replace(item, shape=tuple(requested))
    return replace(net, inputs=inputs)


def described(net: CaffeNet, stem: str) -> tuple[NodeModel, Blobs]:
    """Number the tensors in the order of their definition."""
    names = {
        item: f"t{number}"
        for number, item in enumerate(
            [*net.inputs, *(top for layer in net.layers for top in layer.tops)]
        )
    }
    weights = StoredWeights()
    tensors: dict[str, Weight | Literal] = {}
    nodes = [_node(layer, names, weights, tensors) for layer in net.layers]
    inputs = tuple(
        Declared(item.name, names[tensor], "float32", item.shape)
        for tensor, item in net.inputs.items()
    )
    outputs = tuple(
        Declared(blob, names[tensor], "float32", None) for blob, tensor in net.outputs.items()
    )
    graph = GraphSpec(inputs, outputs, tensors, tuple(nodes))
    opsets = {"": 1, **({PYTHON: 1} if any(node.domain for node in nodes) else {})}
    return NodeModel(stem, opsets, graph), weights.blobs


def _node(
    layer: NetLayer,
    names: Mapping[str, str],
    weights: StoredWeights,
    tensors: dict[str, Weight | Literal],
) -> NodeSpec:
    roles = ROLES.get(layer.type, ("weight", "bias"))
    slots = []
    for index, blob in enumerate(layer.blobs):
        role = roles[index] if index < len(roles) else f"blob{index}"
        slots.append(f"t{len(names) + len(tensors)}")
        tensors[slots[-1]] = weights.store(f"{layer.name}/{role}", blob)
    attrs = {**attributes(layer), "blobs": len(slots)}
    domain, op = (
        (PYTHON, layer.message.python_param.layer) if layer.type == "Python" else ("", layer.type)
    )
    inputs = (*(names[bottom] for bottom in layer.bottoms), *slots)
    return NodeSpec(layer.name, op, domain, inputs, tuple(names[top] for top in layer.tops), attrs)
