"""The layers of a Keras 2 model in Keras 1.2: names of arguments, and weights."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Array = np.ndarray
Config = dict[str, Any]
MERGES = {
    "Add": "sum",
    "Multiply": "mul",
    "Average": "ave",
    "Maximum": "max",
    "Concatenate": "concat",
    "Dot": "dot",
}
CLASSES = {
    "Conv1D": "Convolution1D",
    "Conv2D": "Convolution2D",
    "Conv3D": "Convolution3D",
    "Conv2DTranspose": "Deconvolution2D",
    "SeparableConv2D": "SeparableConvolution2D",
    **dict.fromkeys(MERGES, "Merge"),
}
CONV = {
    "filters": "nb_filter",
    "padding": "border_mode",
    "strides": "subsample",
    "use_bias": "bias",
    "dilation_rate": "atrous_rate",
}
RECURRENT = {"units": "output_dim", "recurrent_activation": "inner_activation"}
POOL = {"padding": "border_mode"}
POOL_1D = {**POOL, "pool_size": "pool_length", "strides": "stride"}
NAMES: Mapping[str, Mapping[str, str]] = {
    "Dense": {"units": "output_dim", "use_bias": "bias"},
    "Conv1D": {**CONV, "kernel_size": "filter_length", "strides": "subsample_length"},
    **dict.fromkeys(
        ["Conv2D", "Conv3D", "Conv2DTranspose", "SeparableConv2D", "LocallyConnected2D"], CONV
    ),
    "LocallyConnected1D": {**CONV, "kernel_size": "filter_length", "strides": "subsample_length"},
    "ConvLSTM2D": {**CONV, "recurrent_activation": "inner_activation"},
    **dict.fromkeys(["LSTM", "GRU", "SimpleRNN"], RECURRENT),
    **dict.fromkeys(["MaxPooling1D", "AveragePooling1D"], POOL_1D),
    **dict.fromkeys(["MaxPooling2D", "AveragePooling2D", "MaxPooling3D"], POOL),
    "Dropout": {"rate": "p"},
    "GaussianNoise": {"stddev": "sigma"},
    "UpSampling1D": {"size": "length"},
}
KERNEL_SIZES = {2: ("nb_row", "nb_col"), 3: ("kernel_dim1", "kernel_dim2", "kernel_dim3")}
PLAIN = frozenset(
    {
        "name",
        "trainable",
        "activation",
        "epsilon",
        "axis",
        "mask_value",
        "mask_zero",
        "input_dim",
        "output_dim",
        "input_length",
        "target_shape",
        "dims",
        "n",
        "pool_size",
        "size",
        "cropping",
        "alpha",
        "theta",
        "return_sequences",
        "go_backwards",
        "stateful",
        "unroll",
        "merge_mode",
        "depth_multiplier",
        "batch_input_shape",
        "layer",
        "strides",
    }
)
"""Arguments with the same name in both versions."""


def entry(class_name: str, config: Config, *, first: bool) -> dict[str, Any]:
    """A layer with its config. `first`: in Theano's order of axes."""
    if class_name == "InputLayer":
        return {
            "class_name": class_name,
            "config": {key: config[key] for key in ("name", "batch_input_shape")}
            | {"input_dtype": "float32", "sparse": False},
        }
    if class_name in MERGES:
        return {"class_name": "Merge", "config": _merge(class_name, config)}
    names = NAMES.get(class_name, {})
    found = {
        names.get(key, key): value for key, value in config.items() if key in names or key in PLAIN
    }
    rank = (
        int(class_name[-2])
        if class_name[-1:] == "D" and class_name[-2].isdigit()
        else 2
        if "2D" in class_name
        else 0
    )
    if rank > 1 and class_name != "SpatialDropout1D":
        found["dim_ordering"] = "th" if first else "tf"
    if "kernel_size" in config and rank > 1:
        found |= dict(zip(KERNEL_SIZES[rank], config["kernel_size"], strict=True))
    for name in ("filter_length", "subsample_length", "pool_length", "stride"):
        if name in found:
            found[name] = found[name][0]
    dilated = np.ravel(found.pop("atrous_rate", 1)).max() > 1
    if dilated:
        found["atrous_rate"] = config["dilation_rate"][0] if rank == 1 else config["dilation_rate"]
    if class_name == "ZeroPadding2D":
        found["padding"] = [pair[0] for pair in config["padding"]]
    if class_name == "ZeroPadding1D":
        found["padding"] = 1
    if class_name in {"LSTM", "GRU", "SimpleRNN"}:
        found |= {
            "consume_less": "cpu",
            "inner_init": "orthogonal",
            "forget_bias_init": "one",
            "dropout_W": 0.0,
            "dropout_U": 0.0,
            "W_regularizer": None,
        }
    if class_name == "BatchNormalization":
        axis = config["axis"]
        found |= {
            "mode": 0,
            "axis": axis[0] if isinstance(axis, list) else axis,
            "gamma_regularizer": None,
        }
    if class_name in {"TimeDistributed", "Bidirectional"}:
        inner = config["layer"]
        found["layer"] = entry(inner["class_name"], inner["config"], first=first)
    found |= (
        {"init": "glorot_uniform", "input_dtype": "float32"} if "batch_input_shape" in found else {}
    )
    return {
        "class_name": ("Atrous" if dilated else "") + CLASSES.get(class_name, class_name),
        "config": found,
    }


def _merge(class_name: str, config: Config) -> Config:
    axes = config.get("axes", -1)
    return {
        "name": config["name"],
        "mode": MERGES[class_name],
        "mode_type": "raw",
        "concat_axis": config.get("axis", -1),
        "dot_axes": [axes, axes] if class_name == "Dot" and isinstance(axes, int) else axes,
        "output_shape": None,
        "output_shape_type": "raw",
        "output_mask": None,
        "output_mask_type": "raw",
        "arguments": {},
    }


def weights(
    class_name: str, config: Config, arrays: list[Array], *, first: bool, theano: bool
) -> list[tuple[str, Array]]:
    """The weights in the layout of Keras 1, with the suffixes of their names."""
    if class_name in {"TimeDistributed", "Bidirectional"}:
        inner = config["layer"]
        directions = (
            np.array_split(np.arange(len(arrays)), 2)
            if class_name == "Bidirectional"
            else [np.arange(len(arrays))]
        )
        return [
            item
            for half in directions
            for item in weights(
                inner["class_name"],
                inner["config"],
                [arrays[n] for n in half],
                first=first,
                theano=theano,
            )
        ]
    if class_name == "BatchNormalization":
        return list(zip(("gamma", "beta", "running_mean", "running_std"), arrays, strict=True))
    if class_name in GATES:
        return _gates(class_name, arrays, first=first, theano=theano)
    kernel, *rest = arrays
    rotate = theano and "Conv" in class_name
    if rotate:
        kernel = kernel[(slice(None, None, -1),) * (kernel.ndim - 2)]
    if (class_name, first) in MOVED:
        kernel = MOVED[class_name, first](kernel)
    if class_name == "SeparableConv2D":
        rest = [item.transpose(3, 2, 0, 1) if first and item.ndim == 4 else item for item in rest]
        return list(
            zip(("depthwise_kernel", "pointwise_kernel", "b"), [kernel, *rest], strict=False)
        )
    if class_name == "LocallyConnected2D" and first:
        places, size, filters = kernel.shape
        window = int(np.prod(config["kernel_size"]))
        kernel = (
            kernel.reshape(places, window, -1, filters)
            .transpose(0, 2, 1, 3)
            .reshape(places, size, filters)
        )
        rest = [item.transpose(2, 0, 1).reshape(item.shape) for item in rest]
    names = {"PReLU": ("alphas",), "SimpleRNN": ("W", "U", "b")}.get(class_name, ("W", "b"))
    return list(zip(names, [kernel, *rest], strict=False))


MOVED: Mapping[tuple[str, bool], Callable[[Array], Array]] = {
    ("Conv1D", False): lambda kernel: kernel[:, None],
    ("Conv1D", True): lambda kernel: kernel[:, None],
    ("Conv2D", True): lambda kernel: kernel.transpose(3, 2, 0, 1),
    ("Conv3D", True): lambda kernel: kernel.transpose(4, 3, 0, 1, 2),
    ("SeparableConv2D", True): lambda kernel: kernel.transpose(3, 2, 0, 1),
    ("Conv2DTranspose", True): lambda kernel: kernel.transpose(2, 3, 0, 1),
    ("Conv2DTranspose", False): lambda kernel: kernel.transpose(0, 1, 3, 2),
}
GATES = {"LSTM": "icfo", "GRU": "zrh", "ConvLSTM2D": "icfo"}
OURS = {"LSTM": "ifco", "GRU": "zrh", "ConvLSTM2D": "ifco"}


def _gates(
    class_name: str, arrays: list[Array], *, first: bool, theano: bool
) -> list[tuple[str, Array]]:
    split = [
        dict(zip(OURS[class_name], np.split(array, len(OURS[class_name]), -1), strict=True))
        for array in arrays
    ]
    found = []
    for gate in GATES[class_name]:
        for part, kind in zip(split, "WUb", strict=True):
            array = part[gate]
            if class_name == "ConvLSTM2D" and array.ndim == 4:
                array = array[::-1, ::-1] if theano else array
                array = array.transpose(3, 2, 0, 1) if first else array
            found.append((f"{kind}_{gate}", array))
    return found
