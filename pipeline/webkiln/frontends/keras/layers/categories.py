"""Layers that map numbers to categories, and categories to vectors."""

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.hashing import buckets_of
from webkiln.frontends.keras.layers.vectors import encoded
from webkiln.frontends.keras.texts import NOWHERE, mask_token
from webkiln.ir.types import Array, is_float
from webkiln.ops.builder import GraphBuilder, Tensor


def category_encoding(converter: Converter, layer: Layer) -> None:
    x, *weights = map(converter.get_variable, converter.get_input_tensor(layer))
    mode = {"binary": "multi_hot"}.get(layer.config["output_mode"], layer.config["output_mode"])
    dtype = x.dtype if not is_float(x.dtype) and x.dtype != "bool" else "int32"
    x = converter.cast(x, dtype)
    y = encoded(
        converter.builder,
        layer,
        x,
        mode,
        layer.config["num_tokens"],
        weights[0] if weights else None,
    )
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def discretization(converter: Converter, layer: Layer) -> None:
    """The number of boundaries that do not exceed x; all of them for NaN."""
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    boundaries = layer.config.get("bin_boundaries")
    if boundaries is None:
        raise layer.error("has no bin_boundaries; adapt it before the model is saved")
    x = converter.cast(x, "float32")
    y = counted_up(converter.builder, x, np.asarray(boundaries, "float32"))
    y = encoded(converter.builder, layer, y, layer.config["output_mode"], len(boundaries) + 1)
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def integer_lookup(converter: Converter, layer: Layer) -> None:
    """Indices in a vocabulary, after those for masks and unknown elements; with `invert`, the
    elements at indices.
    """
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    config, b = layer.config, converter.builder
    if config.get("vocabulary") is None:
        raise layer.error(
            "the file has no vocabulary; pass one or adapt the layer, and save the model again"
        )
    tokens = np.asarray(config["vocabulary"], "int64").reshape(-1)
    mode, unknown, mask = (
        config["output_mode"],
        int(config.get("num_oov_indices", 1)),
        config.get("mask_token"),
    )
    first = 1 if mask is not None and mode == "int" else 0
    x = converter.cast(x, "int64")
    if config.get("invert"):
        table = np.array(
            [*([mask] if first else []), *[config["oov_token"]] * (unknown + 1), *tokens], "int64"
        )
        table = np.append(np.delete(table, first + unknown), config["oov_token"])
        in_range = b.op(
            "And", [b.binary("GreaterEqual", x, 0), b.binary("Less", x, len(table) - 1)]
        )
        index = b.op("Where", [in_range, x, b.constant(len(table) - 1, "int64")])
        converter.set_variable(
            converter.get_output_tensor(layer)[0],
            b.op("Gather", [b.constant(table), index], {"axis": 0}),
        )
        return
    y = _looked_up(b, layer, x, tokens, first, unknown)
    if mask is not None:
        y = b.op(
            "Where",
            [b.binary("Equal", x, int(mask)), b.constant(0 if first else NOWHERE, "int64"), y],
        )
    converter.set_variable(
        converter.get_output_tensor(layer)[0],
        _count_encoded(b, layer, y, first + unknown + len(tokens)),
    )


def string_lookup(converter: Converter, layer: Layer) -> None:
    """Indices in a vocabulary of strings, which are looked up before the model runs."""
    config = layer.config
    y = converter.cast(converter.get_variable(converter.get_input_tensor(layer)[0]), "int64")
    first = int(config.get("num_oov_indices", 1)) + int(
        mask_token(config) is not None and config["output_mode"] == "int"
    )
    y = _count_encoded(converter.builder, layer, y, first + len(config["vocabulary"]))
    converter.set_variable(converter.get_output_tensor(layer)[0], y)


def _count_encoded(b: GraphBuilder, layer: Layer, y: Tensor, size: int) -> Tensor:
    """Indices below `size`, or vectors."""
    config, mode = layer.config, layer.config["output_mode"]
    depth = config["max_tokens"] if config.get("pad_to_max_tokens") else size
    counted = encoded(b, layer, y, "count" if mode == "tf_idf" else mode, depth)
    if mode == "tf_idf":
        weights = np.asarray(config["idf_weights"], "float32")
        if weights.shape != (depth,):
            raise layer.error(
                f"idf_weights are {list(weights.shape)}, the vocabulary with its special tokens has"
                f" {depth}"
            )
        counted = b.op("Mul", [counted, b.constant(weights)])
    return counted


def _looked_up(
    b: GraphBuilder, layer: Layer, x: Tensor, tokens: Array, first: int, unknown: int
) -> Tensor:
    """The index of each element of x among tokens, which follow `unknown` indices for other
    elements.
    """
    order = np.argsort(tokens, kind="stable")
    if unknown > 1 and layer.config.get("oov_method", "floormod") == "farmhash":
        other = b.op(
            "Cast", [buckets_of(b, layer, x, unknown, layer.config.get("salt"))], {"dtype": "int64"}
        )
    else:
        other = b.binary("Mod", x, max(unknown, 1))
    other = (
        b.binary("Add", other, first)
        if unknown
        else b.binary("Add", b.binary("Mul", x, 0), NOWHERE)
    )
    if not len(tokens):
        return other
    keys = b.constant(tokens[order])
    index = b.op(
        "Cast",
        [b.binary("Max", b.binary("Sub", counted_up(b, x, tokens[order]), 1), 0)],
        {"dtype": "int32"},
    )
    matches = b.op("Equal", [b.op("Gather", [keys, index], {"axis": 0}), x])
    return b.op(
        "Where",
        [
            matches,
            b.op(
                "Gather", [b.constant(order.astype("int64") + first + unknown), index], {"axis": 0}
            ),
            other,
        ],
    )


def counted_up(b: GraphBuilder, x: Tensor, bounds: Array) -> Tensor:
    """The number of sorted bounds that do not exceed each element of x, int32, by binary search."""
    table, count = b.constant(bounds), len(bounds)
    low = b.op("Broadcast", [b.constant(0, "int32")], {"shape": x.shape})
    for power in reversed(range(count.bit_length())):
        ahead = b.binary("Add", low, 1 << power)
        inside = b.binary("LessEqual", ahead, count)
        bound = b.op(
            "Gather", [table, b.binary("Sub", b.binary("Min", ahead, count), 1)], {"axis": 0}
        )
        passed = b.op("And", [inside, b.op("Not", [b.op("Less", [x, bound])])])
        low = b.op("Where", [passed, ahead, low])
    return low
