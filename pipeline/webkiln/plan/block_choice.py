"""Decide whether a product multiplies quantized weights as they are stored."""

from collections.abc import Sequence
from math import prod

from webkiln.ir.dim import is_symbolic, known_shape
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
from webkiln.plan.vector_products import MOST_CODED_ROWS

LEAST_CODES = 1 << 24
"""The bytes of 4-bit codes from which one row is rounded without a word in the recipe. Prototypes
took, on an H100 in Chromium 156, with one launch of 2.5 us that rounds the row, 12.7 us for 768 x
50,304 (19 MB), and 16.1 exactly; 5.8 us for 2,048 x 1,000, and 4.7 exactly.
"""


def chooser(target: Target, products: str) -> Chooser:
    """How a backend multiplies weights, by the option `products` of a recipe: exactly, or by
    quantized activations. GPUs quantize a few rows at most: for more, decoded codes are shared.
    """
    if target.invocations is not None:
        return _for_gpus(products)
    return _by_cost(target) if products == "auto" else lambda weights, types: products


def _for_gpus(products: str) -> Chooser:
    """Without a word in the recipe, products read weights whose codes of 4 bits, in blocks, take
    longer to read than a launch.
    """

    def chooses(weights: BlockWeights, types: Sequence[Type]) -> str:
        if products == EXACT or not types or not has_few_rows(types[1]):
            return EXACT
        if products == DOT:
            return DOT
        x, y = (known_shape(item.shape, "the product") for item in types)
        large = x[-1] * y[-1] * weights.codes.bits // BYTE >= LEAST_CODES
        return DOT if large and _is_coarse(weights) and prod(y[:-1]) == 1 else EXACT

    return chooses


def has_few_rows(product: Type) -> bool:
    """Whether a GPU multiplies the rows of a product one by one."""
    rows = prod(product.shape[:-1])
    return not is_symbolic(rows) and rows <= MOST_CODED_ROWS


def _is_coarse(weights: BlockWeights) -> bool:
    """Whether weights have 4 bits, in blocks: the rounding of activations adds little to theirs."""
    return weights.codes.bits < BYTE and weights.scales.block > 0


def _by_cost(target: Target) -> Chooser:
    """Quantize activations where weights are coarse and the cost model expects it to be faster."""
    known: dict[tuple[object, ...], str] = {}

    def chooses(weights: BlockWeights, types: Sequence[Type]) -> str:
        if not types or not _is_coarse(weights):
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
