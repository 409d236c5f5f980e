"""The values of the slots of a quantized graph."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from webkiln.errors import InternalError
from webkiln.ir.dim import known
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.conv_loops import Conv
from webkiln.ops.evaluate import ConstantValues
from webkiln.ops.linear import MatMul
from webkiln.quantize.activations import Product, Site
from webkiln.quantize.blocks import Blocks, Codes, dequantize, quantize
from webkiln.quantize.weights import Encoded, Weight

SCHEMA = "webkiln.quantized/1"
LoadSlot = Callable[[str], Array]


@dataclass(frozen=True, slots=True)
class Slots:
    """The slots of a quantized graph: those of the model that it has too, codes of weights, ranges
    of sites, and corrections of products. `simulates`: the ranges have switches.
    """

    kept: tuple[str, ...]
    weights: tuple[Encoded, ...] = ()
    sites: tuple[str, ...] = ()
    corrections: tuple[Product, ...] = ()
    simulates: bool = False

    def to_json(self) -> dict[str, Any]:
        """The document slots.json (docs/formats.md)."""
        return {
            "schema": SCHEMA,
            "kept": sorted(self.kept),
            "weights": [
                {**asdict(item.weight), "form": asdict(item.form)} for item in self.weights
            ],
            "sites": list(self.sites),
            "corrections": [asdict(product) for product in self.corrections],
            "simulates": self.simulates,
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Slots":
        return cls(
            tuple(document["kept"]),
            tuple(map(_encoded, document["weights"])),
            tuple(document["sites"]),
            tuple(Product(**row) for row in document["corrections"]),
            document["simulates"],
        )


def _encoded(row: Mapping[str, Any]) -> Encoded:
    return Encoded(
        Weight(row["name"], row["layer"], tuple(row["shape"]), tuple(row["rows"])),
        Blocks(**row["form"]),
    )


@dataclass(frozen=True, slots=True)
class Calibration:
    """What samples tell: for each site, its scale and zero point; for each product, the means of
    the channels that it sums over.
    """

    sites: Mapping[str, tuple[float, int]]
    means: Mapping[str, Array]

    def to_json(self) -> dict[str, Any]:
        """The document calibration.json (docs/formats.md)."""
        return {
            "schema": "webkiln.calibration/1",
            "sites": {name: list(pair) for name, pair in self.sites.items()},
            "means": {name: value.tolist() for name, value in self.means.items()},
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Calibration":
        return cls(
            {name: (scale, zero) for name, (scale, zero) in document["sites"].items()},
            {name: np.array(value, np.float32) for name, value in document["means"].items()},
        )


def slot_values(
    graph: Graph, slots: Slots, load_slot: LoadSlot, calibration: Calibration | None = None
) -> Iterator[tuple[str, Array]]:
    """The names and values of the slots that the model lacks. `graph` is that of the model, whose
    slots `load_slot` returns. A simulation rounds nothing.
    """
    corrected = {product.weight: product for product in slots.corrections}
    encoded = {item.weight.name: item for item in slots.weights}
    values = ConstantValues(graph, load_slot, [*encoded])
    for name, item in encoded.items():
        exact = values(name)
        codes = codes_of(item, exact)
        if item.in_place:
            yield item.codes, _unfolded(item.weight, codes.codes)
            yield item.scales, codes.scales.reshape(item.scale_shape)
        else:
            yield item.codes, codes.codes
            yield item.scales, codes.scales
            if codes.minima is not None:
                yield item.minima, codes.minima
        if name in corrected:
            assert calibration is not None
            change = exact - _decoded(item, codes)
            for product in slots.corrections:
                if product.weight == name:
                    yield product.correction, correction(graph, product, change, calibration)
    if slots.simulates:
        yield from _without_effect(graph, slots)
    elif slots.sites:
        assert calibration is not None
        for name in slots.sites:
            scale, zero = calibration.sites[name]
            yield from range_values(Site(name), scale, zero)


def _without_effect(graph: Graph, slots: Slots) -> Iterator[tuple[str, Array]]:
    for name in slots.sites:
        yield from range_values(Site(name), 1.0, 0)
        yield Site(name).switch, np.zeros((), np.bool_)
    for product in slots.corrections:
        count = known(graph.type(product.node).shape[product.out_axis], product.node)
        yield product.correction, np.zeros(count, np.float32)


def range_values(site: Site, scale: float, zero: int) -> Iterable[tuple[str, Array]]:
    return (site.scale, np.array(scale, np.float32)), (site.zero, np.array(zero, np.int32))


def codes_of(item: Encoded, values: Array) -> Codes:
    weight = item.weight
    rows = values.transpose(weight.perm).reshape(weight.count, weight.depth)
    return quantize(rows, item.form, f"weight {weight.name} of {weight.layer}")


def rounded(item: Encoded, values: Array) -> Array:
    """What a program computes with in place of the values of a weight."""
    return _decoded(item, codes_of(item, values))


def _decoded(item: Encoded, codes: Codes) -> Array:
    return _unfolded(item.weight, dequantize(codes, item.form, item.weight.depth))


def _unfolded(weight: Weight, rows: Array) -> Array:
    """A matrix of rows with the axes of the weight."""
    moved = rows.reshape([weight.shape[axis] for axis in weight.perm])
    return moved.transpose([weight.perm.index(axis) for axis in range(len(weight.perm))])


def correction(graph: Graph, product: Product, change: Array, calibration: Calibration) -> Array:
    """What the result of a product lacks in the mean, if its weight lacks `change`: one number for
    each channel of the result. Padding counts as the mean.
    """
    node = next((node for node in graph.nodes if node.name == product.node), None)
    if node is None:
        raise InternalError(f"there is no product {product.node}")
    means = calibration.means[product.node].astype(np.float64)
    if node.op == "MatMul":
        columns = change.T if node.attrs_as(MatMul).transpose_b else change
        return np.asarray(means @ columns, np.float32)
    conv = node.attrs_as(Conv)
    by_channel = change.transpose(conv.w_dims).sum(tuple(range(2, change.ndim)), dtype=np.float64)
    groups = len(means) // by_channel.shape[1]
    grouped = by_channel.reshape(groups, -1, by_channel.shape[1])
    return np.asarray(
        np.einsum("gok,gk->go", grouped, means.reshape(groups, -1)).ravel(), np.float32
    )
