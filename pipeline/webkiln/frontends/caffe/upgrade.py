"""Upgrade definitions of older versions of Caffe to the current one, like Caffe's
`upgrade_net_proto`.
"""

from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.caffe.schema import V1_TYPES, messages

MOST_AXES = 32
V0_TYPES = {
    "conv": "CONVOLUTION",
    "innerproduct": "INNER_PRODUCT",
    "pool": "POOLING",
    "images": "IMAGE_DATA",
    **{
        name: name.upper()
        for name in (
            "accuracy",
            "bnll",
            "concat",
            "data",
            "dropout",
            "euclidean_loss",
            "flatten",
            "hdf5_data",
            "hdf5_output",
            "im2col",
            "infogain_loss",
            "lrn",
            "multinomial_logistic_loss",
            "relu",
            "sigmoid",
            "softmax",
            "softmax_loss",
            "split",
            "tanh",
            "window_data",
        )
    },
}
V0_DATA = {
    "data": "data_param",
    "hdf5_data": "hdf5_data_param",
    "images": "image_data_param",
    "window_data": "window_data_param",
}
V0_FIELDS = {
    "num_output": {"conv": "num_output", "innerproduct": "num_output"},
    "biasterm": {"conv": "bias_term", "innerproduct": "bias_term"},
    "pad": {"conv": "pad", "pool": "pad"},
    "kernelsize": {"conv": "kernel_size", "pool": "kernel_size"},
    "group": {"conv": "group"},
    "stride": {"conv": "stride", "pool": "stride"},
    "pool": {"pool": "pool"},
    "local_size": {"lrn": "local_size"},
    "alpha": {"lrn": "alpha"},
    "beta": {"lrn": "beta"},
    "k": {"lrn": "k"},
    "batchsize": dict.fromkeys(V0_DATA, "batch_size"),
    "new_height": {"images": "new_height"},
    "new_width": {"images": "new_width"},
    "concat_dim": {"concat": "concat_dim"},
}
"""A field of the V0 format -> its name in the parameter of each layer type."""
V0_PARAMETERS = {
    "conv": "convolution_param",
    "innerproduct": "inner_product_param",
    "pool": "pooling_param",
    "lrn": "lrn_param",
    "concat": "concat_param",
    **V0_DATA,
}
TRANSFORMED = {
    "scale": "scale",
    "meanfile": "mean_file",
    "cropsize": "crop_size",
    "mirror": "mirror",
}
"""Fields that moved to transform_param: V0 names, and those that data layers had."""

V2_TYPES = {
    "ABSVAL": "AbsVal",
    "ARGMAX": "ArgMax",
    "BNLL": "BNLL",
    "HDF5_DATA": "HDF5Data",
    "HDF5_OUTPUT": "HDF5Output",
    "LRN": "LRN",
    "MVN": "MVN",
    "RELU": "ReLU",
    "TANH": "TanH",
    "IM2COL": "Im2col",
    "SOFTMAX_LOSS": "SoftmaxWithLoss",
    "NONE": "",
}


def upgraded(net: Any, name: str) -> Any:
    """The net with `layer` fields only, and inputs as a layer. Raises SourceError if versions are
    mixed.
    """
    if net.layers:
        if net.layer:
            raise SourceError(
                f"{name}: has layers of two versions of Caffe (layer, layers); use one of them"
            )
        numbers = {number: label for label, number in V1_TYPES.items()}
        older = (
            _without_padding(net.layers, name)
            if any(layer.HasField("layer") for layer in net.layers)
            else net.layers
        )
        net.layer.extend(_second(layer, numbers) for layer in map(_first, older))
        net.ClearField("layers")
    if net.input:
        _make_input_layer(net, name)
    for layer in net.layer:
        for field, older in (("concat_param", "concat_dim"), ("slice_param", "slice_dim")):
            if layer.HasField(field) and getattr(layer, field).HasField(older):
                axis = getattr(getattr(layer, field), older)
                if axis >= MOST_AXES:
                    raise SourceError(
                        f"{name}: {layer.name} ({layer.type}): its {older} is {axis}; blobs may"
                        f" have at most {MOST_AXES} axes"
                    )
                getattr(layer, field).axis = axis
                getattr(layer, field).ClearField(older)
    return net


def _without_padding(layers: Any, name: str) -> list[Any]:
    """Remove layers of type `padding`; their sizes move to the next convolution or pooling."""
    makers: dict[str, Any] = {}
    retained = []
    for layer in layers:
        copy = type(layer)()
        copy.CopyFrom(layer)
        for index, bottom in enumerate(layer.bottom):
            maker = makers.get(bottom)
            if maker is None or maker.layer.type != "padding":
                continue
            if (
                layer.layer.type not in ("conv", "pool")
                or len(layer.bottom) != 1
                or len(maker.bottom) != 1
            ):
                raise SourceError(
                    f"{name}: the layer {layer.layer.name} reads a padding layer, which only"
                    " convolution and pooling support"
                )
            copy.layer.pad = maker.layer.pad
            copy.bottom[index] = maker.bottom[0]
        if layer.layer.type != "padding":
            retained.append(copy)
        makers |= dict.fromkeys(layer.top, layer)
    return retained


def _first(layer: Any) -> Any:
    """Upgrade a V0 layer to V1; a V1 layer is returned as it is."""
    if not layer.HasField("layer"):
        return layer
    old = layer.layer
    upgraded_layer = messages()["V1LayerParameter"](
        name=old.name, bottom=layer.bottom, top=layer.top, blobs=old.blobs
    )
    upgraded_layer.type = V1_TYPES[V0_TYPES.get(old.type, "NONE")]
    for field, _ in old.ListFields():
        if field.name in V0_FIELDS and old.type in V0_FIELDS[field.name]:
            _put(
                getattr(upgraded_layer, V0_PARAMETERS[old.type]),
                V0_FIELDS[field.name][old.type],
                getattr(old, field.name),
            )
        elif field.name in TRANSFORMED:
            setattr(
                upgraded_layer.transform_param, TRANSFORMED[field.name], getattr(old, field.name)
            )
    return upgraded_layer


def _put(message: Any, name: str, value: Any) -> None:
    if message.DESCRIPTOR.fields_by_name[name].is_repeated:
        getattr(message, name).append(value)
    else:
        setattr(message, name, value)


def _second(layer: Any, numbers: dict[int, str]) -> Any:
    """Upgrade a V1 layer to the current format. Fields keep their names."""
    label = numbers[layer.type]
    upgraded_layer = messages()["LayerParameter"](
        type=V2_TYPES.get(label, label.title().replace("_", ""))
    )
    for field, value in layer.ListFields():
        if field.name == "param":
            upgraded_layer.param.extend(messages()["ParamSpec"](name=item) for item in value)
        elif field.name in upgraded_layer.DESCRIPTOR.fields_by_name and field.name != "type":
            if field.is_repeated:
                getattr(upgraded_layer, field.name).extend(value)
            elif field.message_type is not None:
                getattr(upgraded_layer, field.name).CopyFrom(value)
            else:
                setattr(upgraded_layer, field.name, value)
    for data in V0_DATA.values():
        if layer.DESCRIPTOR.fields_by_name.get(data) is not None and layer.HasField(data):
            for name in TRANSFORMED.values():
                parameter = getattr(layer, data)
                if parameter.DESCRIPTOR.fields_by_name.get(name) is not None and parameter.HasField(
                    name
                ):
                    setattr(upgraded_layer.transform_param, name, getattr(parameter, name))
    return upgraded_layer


def _make_input_layer(net: Any, name: str) -> None:
    """The `input` fields and their shapes as a layer. Without shapes, they are only the names in
    weight files.
    """
    layer = messages()["LayerParameter"](name="input", type="Input", top=net.input)
    if net.input_shape and len(net.input_shape) == len(net.input):
        layer.input_param.shape.extend(net.input_shape)
    elif net.input_dim and len(net.input_dim) == 4 * len(net.input):
        for index in range(len(net.input)):
            layer.input_param.shape.add(dim=net.input_dim[4 * index : 4 * index + 4])
    elif net.input_shape or net.input_dim:
        raise SourceError(
            f"{name}: has {len(net.input)} inputs, and shapes of"
            f" {len(net.input_shape) or len(net.input_dim) / 4:g}"
        )
    layers = [layer, *net.layer]
    net.ClearField("layer")
    net.layer.extend(layers)
    for field in ("input", "input_shape", "input_dim"):
        net.ClearField(field)
