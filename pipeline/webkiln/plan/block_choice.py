"""Decide whether a product multiplies quantized weights as they are stored."""

from collections.abc import Sequence

from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.lower import canonicalize, fuse
from webkiln.lower.block_products import DOT, EXACT, Chooser
from webkiln.lower.block_weights import BlockWeights
from webkiln.lower.lower import unfused
from webkiln.nest.target import Target
from webkiln.ops.block_products import BYTE
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES
from webkiln.plan.cost import expected
from webkiln.plan.schedule import choose


def chooser(target: Target) -> Chooser:
    """How weights are multiplied, without a word in the recipe: by quantized activations if they
    have 4 bits and blocks, because there the rounding of activations adds little to that of the
    weights, and where the cost model expects it to be faster.
    """
    known: dict[tuple[object, ...], str] = {}

    def chooses(weights: BlockWeights, types: Sequence[Type]) -> str:
        if not types or weights.codes.bits == BYTE or not weights.scales.block:
            return EXACT
        x, y = types
        key = (x, y, weights.block, weights.has_offsets)
        if key not in known:
            dot, exact = (
                milliseconds(graph, target)
                for graph in (product_graph(x, y, weights, how) for how in (DOT, EXACT))
            )
            known[key] = DOT if dot < exact else EXACT
        return known[key]

    return chooses


def milliseconds(graph: Graph, target: Target) -> float:
    """The expected time of a graph."""
    program = canonicalize.run(fuse.run(unfused(graph)))
    constants = program.repackable
    return sum(
        expected(call, choose(call, target, constants).schedule, target) for call in program.calls
    )


def product_graph(x: Type, y: Type, weights: BlockWeights, how: str) -> Graph:
    """The product of a factor and codes."""
    b = GraphBuilder(how, RULES)
    columns, depth = y.shape[-1], x.shape[-1]
    parameters = (columns, depth // weights.block if weights.scales.block else 1)
    types = [Type("uint8", (columns, depth * weights.codes.bits // BYTE))]
    types += [Type("float32", parameters)] * (1 + weights.has_offsets)
    slots = [b.slot(f"w{number}", type_) for number, type_ in enumerate(types)]
    rows = [b.input("x", x.dtype, x.shape)]
    if how == DOT:
        rows = list(b.ops("QuantizeBlocks", rows, {"block": weights.block}))
    attrs = {"block": weights.block, "bits": weights.codes.bits}
    return b.graph({"y": b.op("MatMulBlocks", [*rows, *slots], attrs)})
