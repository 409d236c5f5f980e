"""The values of the slots of a quantized graph."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.evaluate import ConstantValues
from webkiln.quantize.blocks import Blocks, Codes, dequantize, quantize
from webkiln.quantize.weights import Encoded, Weight

SCHEMA = "webkiln.quantized/1"


def to_json(kept: Sequence[str], encoded: Sequence[Encoded]) -> dict[str, Any]:
    """The document slots.json (docs/formats.md). `kept`: the slots of the model that the quantized
    graph has too.
    """
    return {
        "schema": SCHEMA,
        "kept": sorted(kept),
        "weights": [
            {
                "name": item.weight.name,
                "layer": item.weight.layer,
                "shape": list(item.weight.shape),
                "rows": list(item.weight.rows),
                "bits": item.form.bits,
                "block": item.form.block,
                "minima": item.form.has_minima,
            }
            for item in encoded
        ],
    }


def from_json(document: Mapping[str, Any]) -> tuple[Encoded, ...]:
    """The encoded weights of slots.json."""
    return tuple(
        Encoded(
            Weight(row["name"], row["layer"], tuple(row["shape"]), tuple(row["rows"])),
            Blocks(row["bits"], row["block"], row["minima"]),
        )
        for row in document["weights"]
    )


def encoded_slots(
    graph: Graph, encoded: Sequence[Encoded], load_slot: Callable[[str], Array]
) -> Iterator[tuple[str, Array]]:
    """The names and values of the slots of encoded weights. `graph`: the one that is not
    quantized, whose slots `load_slot` returns.
    """
    values = ConstantValues(graph, load_slot, [item.weight.name for item in encoded])
    for item in encoded:
        codes = codes_of(item, values(item.weight.name))
        yield item.codes, codes.codes
        yield item.scales, codes.scales
        if codes.minima is not None:
            yield item.minima, codes.minima


def codes_of(item: Encoded, values: Array) -> Codes:
    weight = item.weight
    rows = values.transpose(weight.perm).reshape(weight.count, weight.depth)
    return quantize(rows, item.form, f"weight {weight.name} of {weight.layer}")


def rounded(item: Encoded, values: Array) -> Array:
    """What a program computes with in place of the values of a weight."""
    weight = item.weight
    rows = dequantize(codes_of(item, values), item.form, weight.depth)
    moved = rows.reshape([weight.shape[axis] for axis in weight.perm])
    return moved.transpose([weight.perm.index(axis) for axis in range(len(weight.perm))])
