"""Translate removed and renamed classes to current ones."""

from collections.abc import Callable, Mapping
from typing import Any

RENAMED: Mapping[str, str] = {
    "AtrousConvolution1D": "Conv1D",
    "AtrousConvolution2D": "Conv2D",
    "BatchNormalizationV1": "BatchNormalization",
    "BatchNormalizationV2": "BatchNormalization",
    "Container": "Model",
    "Convolution1D": "Conv1D",
    "Convolution2D": "Conv2D",
    "Convolution3D": "Conv3D",
    "Convolution2DTranspose": "Conv2DTranspose",
    "Deconvolution2D": "Conv2DTranspose",
    "Deconvolution3D": "Conv3DTranspose",
    "SeparableConvolution1D": "SeparableConv1D",
    "SeparableConvolution2D": "SeparableConv2D",
    "TimeDistributedDense": "Dense",
    "UnifiedGRU": "GRU",
    "UnifiedLSTM": "LSTM",
}
"""Classes that were only renamed."""

NORMALIZATIONS = {
    0: "BatchNormalization",
    1: "SamplewiseNormalization",
    2: "BatchwiseNormalization",
}
MERGES = {
    "sum": "Add",
    "mul": "Multiply",
    "ave": "Average",
    "max": "Maximum",
    "concat": "Concatenate",
    "dot": "Dot",
    "cos": "CosineMerge",
}
CUDNN = {"activation": "tanh", "recurrent_activation": "sigmoid", "use_bias": True}
"""The fixed arguments of cuDNN's recurrent layers."""


def _normalization(config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    mode = config.pop("mode", 0)
    return NORMALIZATIONS.get(mode, f"BatchNormalization of mode {mode}"), config


def _gated(config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Before `reset_after` was an argument, the reset gate was applied before the product."""
    return "GRU", {"reset_after": False, **config}


def _merge(config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A merge with a user-defined function becomes a Lambda layer."""
    if config.get("mode_type", "raw") != "raw":
        return "Lambda", config
    mode = str(config.get("mode", "sum"))
    kept = {key: value for key, value in config.items() if key in {"name", "trainable", "layers"}}
    options = {
        "concat": {"axis": config.get("concat_axis", -1)},
        "dot": {"axes": config.get("dot_axes", -1), "normalize": False},
    }
    options["cos"] = {"axes": config.get("dot_axes", -1)}
    return MERGES.get(mode, f"Merge of mode {mode}"), kept | options.get(mode, {})


MADE: Mapping[str, Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "BatchNormalization": _normalization,
    "CuDNNGRU": lambda config: ("GRU", {**config, **CUDNN, "reset_after": True}),
    "CuDNNLSTM": lambda config: ("LSTM", {**config, **CUDNN}),
    "GRU": _gated,
    "GRUCell": lambda config: ("GRUCell", {"reset_after": False, **config}),
    "Merge": _merge,
    "ThresholdedReLU": lambda config: (
        "ReLU",
        {
            **{key: value for key, value in config.items() if key != "theta"},
            "threshold": config.get("theta", 1.0),
        },
    ),
}
"""Classes whose config changed."""


def modern(class_name: str, config: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The current class of a layer, and its config."""
    class_name = RENAMED.get(class_name, class_name)
    return MADE[class_name](config) if class_name in MADE else (class_name, config)
