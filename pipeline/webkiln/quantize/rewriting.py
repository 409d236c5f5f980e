"""Graphs of an encoding, from a choice for each weight."""

from collections.abc import Iterable, Mapping

from webkiln.ir.graph import Graph
from webkiln.quantize.activations import (
    Product,
    products_of,
    simulated,
    with_corrections,
    with_integers,
)
from webkiln.quantize.encode import Slots
from webkiln.quantize.weights import FLOAT16, FLOAT32, STATIC, quantized, weights_of


def integer_products(graph: Graph, products: Iterable[Product]) -> dict[str, tuple[Product, ...]]:
    """By name of the weight: those of the products of a graph whose activations may be rounded. A
    weight that something else reads has none.
    """
    found: dict[str, tuple[Product, ...]] = {}
    for product in products:
        found[product.weight] = (*found.get(product.weight, ()), product)
    fixed = {node.name for node in graph.constant_subgraph()}
    reads = [name for node in graph.nodes if node.name not in fixed for name in node.inputs]
    return {name: items for name, items in found.items() if reads.count(name) == len(items)}


def simulation(graph: Graph) -> tuple[Graph, Slots]:
    """The graph that can round the activations of all products, and correct their results."""
    products = products_of(graph, weights_of(graph))
    changed = simulated(with_corrections(graph, products), products)
    sites = tuple(dict.fromkeys(product.site for product in products))
    kept = tuple(changed.slots & graph.slots)
    return changed, Slots(kept, (), sites, products, simulates=True)


def rewritten(
    graph: Graph, choice: Mapping[str, str], *, corrects: bool = False
) -> tuple[Graph, Slots]:
    """The graph in the encodings of a choice, by name of the weight, and its slots. `corrects`: add
    to the result of each product what rounding its weight changes in the mean.
    """
    products = products_of(graph, weights_of(graph))
    by_weight = integer_products(graph, products)
    chosen = {name for name, encoding in choice.items() if encoding != FLOAT32}
    static = {name for name in chosen if choice[name] == STATIC}
    integers = tuple(item for name in static if name in by_weight for item in by_weight[name])
    corrections = tuple(
        item
        for item in products
        if corrects and item.weight in chosen and choice[item.weight] != FLOAT16
    )
    encodings = {name: "int8" if choice[name] == STATIC else choice[name] for name in chosen}
    changed = with_integers(with_corrections(graph, corrections), integers)
    changed, encoded = quantized(changed, encodings)
    sites = tuple(dict.fromkeys(item.site for item in integers))
    kept = tuple(changed.slots & graph.slots)
    return changed, Slots(kept, encoded, sites, corrections)
