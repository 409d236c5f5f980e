"""Decide whether a product multiplies quantized weights as they are stored."""

from collections.abc import Callable, Sequence

from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.lower import canonicalize, fuse
from webkiln.lower.block_weights import BlockWeights
from webkiln.lower.lower import unfused
from webkiln.nest.target import Target
from webkiln.ops.block_products import BYTE
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES
from webkiln.plan.cost import expected
from webkiln.plan.schedule import choose


def chooser(target: Target) -> Callable[[BlockWeights, Sequence[Type]], bool]:
    """Whether weights are multiplied as they are stored, without a word in the recipe: those of 4
    bits in blocks, because there the rounding of activations adds little to that of the weights,
    and where the cost model expects it to be faster. The other argument are the types of the
    factor and of the result; rows that are selected from weights have none.
    """
    known: dict[tuple[object, ...], bool] = {}

    def chooses(weights: BlockWeights, types: Sequence[Type]) -> bool:
        if weights.codes.bits == BYTE or not weights.scales.block:
            return False
        if not types:
            return True
        x, y = types
        key = (x, y, weights.block, weights.has_offsets)
        if key not in known:
            dot, exact = (
                milliseconds(graph, target)
                for graph in (dot_graph(x, y, weights), exact_graph(x, y))
            )
            known[key] = dot < exact
        return known[key]

    return chooses


def milliseconds(graph: Graph, target: Target) -> float:
    """The expected time of a graph."""
    program = canonicalize.run(fuse.run(unfused(graph)))
    constants = program.repackable
    return sum(
        expected(call, choose(call, target, constants).schedule, target) for call in program.calls
    )


def exact_graph(x: Type, y: Type) -> Graph:
    """A product with float weights."""
    b = GraphBuilder("exact", RULES)
    w = b.slot("w", Type("float32", (y.shape[-1], x.shape[-1])))
    factor = b.input("x", x.dtype, x.shape)
    return b.graph({"y": b.op("MatMul", [factor, w], {"transpose_b": True})})


def dot_graph(x: Type, y: Type, weights: BlockWeights) -> Graph:
    """The product of a factor that is quantized in blocks."""
    b = GraphBuilder("dot", RULES)
    columns, depth = y.shape[-1], x.shape[-1]
    parameters = (columns, depth // weights.block if weights.scales.block else 1)
    types = [Type("uint8", (columns, depth * weights.codes.bits // BYTE))]
    types += [Type("float32", parameters)] * (1 + weights.has_offsets)
    slots = [b.slot(f"w{number}", type_) for number, type_ in enumerate(types)]
    factor = b.input("x", x.dtype, x.shape)
    quantized = b.ops("QuantizeBlocks", [factor], {"block": weights.block})
    attrs = {"block": weights.block, "bits": weights.codes.bits}
    return b.graph({"y": b.op("MatMulBlocks", [*quantized, *slots], attrs)})
