"""Translate Keras 1's arguments of layers, and some of their values."""

from collections.abc import Mapping
from typing import Any

NAMES: Mapping[str, str] = {
    "atrous_rate": "dilation_rate",
    "bias": "use_bias",
    "border_mode": "padding",
    "dim_ordering": "data_format",
    "filter_length": "kernel_size",
    "inner_activation": "recurrent_activation",
    "length": "size",
    "nb_filter": "filters",
    "output_dim": "units",
    "p": "rate",
    "pool_length": "pool_size",
    "sigma": "stddev",
    "stride": "strides",
    "subsample": "strides",
    "subsample_length": "strides",
}
"""Keras 1's name -> the current name."""

KEPT: Mapping[str, frozenset[str]] = {"Embedding": frozenset({"output_dim"})}
"""Arguments that were not renamed in some classes."""

JOINED: Mapping[tuple[str, ...], str] = {
    ("nb_row", "nb_col"): "kernel_size",
    ("kernel_dim1", "kernel_dim2", "kernel_dim3"): "kernel_size",
}
"""Numbers that are now one argument."""

ORDERINGS = {"th": "channels_first", "tf": "channels_last", "default": "channels_last"}
INTEGERS = ("int", "uint", "bool")
"""Prefixes of dtypes to which layers of Keras 2 do not cast their inputs; those of Keras 3 do."""
SIDES = ("top_pad", "bottom_pad", "left_pad", "right_pad")

DROPPED = frozenset(
    {
        "W_constraint",
        "W_regularizer",
        "U_regularizer",
        "activity_regularizer",
        "b_constraint",
        "b_regularizer",
        "beta_regularizer",
        "depthwise_constraint",
        "depthwise_regularizer",
        "dropout_U",
        "dropout_W",
        "forget_bias_init",
        "gamma_regularizer",
        "init",
        "inner_init",
        "input_length",
        "pointwise_constraint",
        "pointwise_regularizer",
    }
)
"""Arguments for training only."""


def modern(class_name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """A layer's config with current names."""
    kept = KEPT.get(class_name, frozenset())
    arguments = {
        key if key in kept else NAMES.get(key, key): value
        for key, value in config.items()
        if key not in DROPPED
    }
    for names, name in JOINED.items():
        if all(key in arguments for key in names):
            arguments[name] = [arguments.pop(key) for key in names]
    if "data_format" in arguments:
        arguments["data_format"] = ORDERINGS.get(
            str(arguments["data_format"]), arguments["data_format"]
        )
    if class_name != "InputLayer" and str(arguments.get("dtype")).startswith(INTEGERS):
        arguments["dtype"] = "float32"
    if class_name.startswith("ZeroPadding"):
        arguments["padding"] = _pairs(arguments.get("padding"), int(class_name[-2]))
    return arguments


def _pairs(padding: Any, rank: int) -> Any:
    """(before, after) for each axis, from one number per axis, or from names of sides."""
    if isinstance(padding, Mapping):
        sides = SIDES if rank == 2 else SIDES[2:]
        padding = [padding.get(side, 0) for side in sides]
    elif isinstance(padding, int):
        padding = [padding] * rank
    if (
        isinstance(padding, list)
        and len(padding) == rank != 1
        and all(isinstance(item, int) for item in padding)
    ):
        padding = [[item, item] for item in padding]
    if isinstance(padding, list) and len(padding) == 2 * rank == 4:
        padding = [padding[:2], padding[2:]]
    if rank == 1 and isinstance(padding, list) and len(padding) == 1:
        padding = padding * 2
    return padding
