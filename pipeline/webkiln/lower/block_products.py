"""Multiply 4-bit weights as they are stored, by activations that are quantized in blocks.

Results change: an activation keeps 8 bits, relative to the largest one of its block. Backends that
have fast products of blocks rewrite graphs this way before they lower them, if the recipe says so.

The rows of a table that is also such a weight, as a tied embedding is, are decoded after they are
selected. Weights that a bundle contains as floats stay: codes would save too little.

before:
    graph g
    input x: float32[1,64]
    slot p: uint8[32,32]
    slot s: float32[32,2]
    const eight: float32[] = [8.0]
    codes: uint8[32,64] = UnpackBits(p) {"bits":4,"signed":false} @w
    real: float32[32,64] = Cast(codes) {"dtype":"float32"} @w
    moved: float32[32,64] = Sub(real, eight) @w
    scales: float32[32,64] = Repeat(s) {"axis":1,"size":64,"times":32} @w
    w: float32[32,64] = Mul(moved, scales) @w
    y: float32[1,32] = MatMul(x, w) {"transpose_a":false,"transpose_b":true} @dense
    output out = y

after:
    graph g
    input x: float32[1,64]
    slot p: uint8[32,32]
    slot s: float32[32,2]
    y/codes: int8[1,64]; y/scales: float32[1,2] = QuantizeBlocks(x) {"block":32} @dense
    y: float32[1,32] = MatMulBlocks(y/codes, y/scales, p, s) {"block":32,"center":8} @dense
    output out = y
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.block_products import MASK, MatMulBlocks, QuantizeBlocks
from webkiln.ops.codes import Repeat, UnpackBits
from webkiln.ops.linear import MatMul
from webkiln.ops.load_time import load_time_nodes
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Gather

ROWWISE = ("Add", "Sub", "Mul", "Cast", "Repeat", "UnpackBits")
"""The operators that decode rows independently of each other."""
GROUP = 8
"""Blocks consist of groups of so many neighbours."""


@dataclass(frozen=True, slots=True)
class Weights:
    """w[n, k] = (codes[n, k] - zero) * scales[n, k // block] + minima[n, k // block], where the
    zero point is the number `center`, or else `points`[n, k // block].
    """

    packed: str
    block: int
    scales: str
    center: int = 0
    points: str | None = None
    minima: str | None = None


def run(graph: Graph) -> Graph:
    decoded = frozenset(name for node in load_time_nodes(graph) for name in node.outputs)
    multiply = partial(multiply_blocks, decoded=decoded, quantized={})
    rewritten = rewrite.apply(graph, multiply)
    return rewrite.apply(rewritten, partial(decode_rows, decoded=decoded))


def multiply_blocks(
    view: GraphView,
    node: Node,
    decoded: Collection[str],
    quantized: dict[tuple[str, int], tuple[str, ...]],
) -> Edit | None:
    """The product of a quantized factor. `decoded`: what is computed when the model is loaded, of
    what a bundle contains. `quantized`: the codes and scales of what has been quantized, by its
    name and the length of blocks; products share them.
    """
    if node.op != "MatMul" or view.type(node.name).dtype != "float32":
        return None
    attrs, name = node.attrs_as(MatMul), node.inputs[1]
    if name not in decoded:
        return None
    in_rows, turned = attrs.transpose_b, view.producer(name, "Transpose", only_use=False)
    if turned is not None and view.type(name).rank == 2:
        (name,), in_rows = turned.inputs, not in_rows
    weights = match_weights(view, name)
    if weights is None or attrs.transpose_a or not in_rows:
        return None
    made = Replacement(view, node)
    key = node.inputs[0], weights.block
    if key not in quantized:
        by_block = QuantizeBlocks(weights.block)
        quantized[key] = made.add_all(("codes", "scales"), "QuantizeBlocks", key[:1], by_block)
    offsets = [] if weights.minima is None else [weights.minima]
    if weights.points is not None:
        products = made.add("products", "Mul", [weights.points, weights.scales])
        offsets = [made.add("offsets", "Neg", [products])]
    return made.finish(
        "MatMulBlocks",
        [*quantized[key], weights.packed, weights.scales, *offsets],
        MatMulBlocks(weights.block, weights.center),
    )


def decode_rows(view: GraphView, node: Node, decoded: Collection[str]) -> Edit | None:
    """Decode the rows that are selected from weights, instead of all rows."""
    if node.op != "Gather" or node.attrs_as(Gather).axis != 0:
        return None
    table, indices = node.inputs
    if table not in decoded or indices in view.constant_names:
        return None
    if match_weights(view, table) is None:
        return None
    made = Replacement(view, node)
    shift = view.type(indices).rank - 1

    def rows(name: str) -> str:
        """The selected rows of a constant, computed of those of its operands."""
        if view.scalar(name) is not None:
            return name
        producer = view.any_producer(name)
        if producer is None or producer.op not in ROWWISE:
            return made.add(f"{name}/rows", "Gather", [name, indices], node.attrs)
        attrs = producer.attrs
        if isinstance(attrs, Repeat):
            attrs = replace(attrs, axis=attrs.axis + shift)
        return made.add(f"{name}/decoded", producer.op, list(map(rows, producer.inputs)), attrs)

    return made.finish("Identity", [rows(table)])


def match_weights(view: GraphView, name: str) -> Weights | None:
    """The codes, scales and zero points of a constant [n, k], if these are blocks of 4 bits."""
    minima = None
    total = view.producer(name, "Add", only_use=False)
    if total is not None:
        name, minima = total.inputs
    product = view.producer(name, "Mul", only_use=False)
    if product is None:
        return None
    shifted, repeated = product.inputs
    scales = _repeated(view, repeated)
    codes, center, points = _without_zero(view, shifted)
    packed = _packed(view, codes)
    if scales is None or packed is None or center is None:
        return None
    parts = [_repeated(view, item) for item in (points, minima) if item is not None]
    if len(parts) > 1 or any(item is None or item[1] != scales[1] for item in parts):
        return None
    other = next((item[0] for item in parts if item is not None), None)
    return Weights(
        packed,
        scales[1],
        scales[0],
        center,
        points=None if points is None else other,
        minima=None if minima is None else other,
    )


def _repeated(view: GraphView, name: str) -> tuple[str, int] | None:
    """What is repeated in blocks along the last axis of a matrix, and the length of the blocks."""
    node = view.producer(name, "Repeat", only_use=False)
    if node is None or view.type(name).rank != 2:
        return None
    attrs = node.attrs_as(Repeat)
    whole = view.type(name).shape[1] % attrs.times == 0 and attrs.times % GROUP == 0
    return (node.inputs[0], attrs.times) if attrs.axis == 1 and whole else None


def _without_zero(view: GraphView, name: str) -> tuple[str, int | None, str | None]:
    """A name, or what it is the difference of: codes, the zero point that is a number (None if no
    code can be one), and the one that is not.
    """
    node = view.producer(name, "Sub", only_use=False)
    if node is None:
        return name, 0, None
    codes, zero = node.inputs
    number = view.scalar(zero)
    if number is None:
        return codes, 0, zero
    return codes, int(number) if number in range(MASK + 1) else None, None


def _packed(view: GraphView, name: str) -> str | None:
    """The bytes of which the codes are unpacked."""
    real = view.producer(name, "Cast", only_use=False)
    codes = real and view.producer(real.inputs[0], "UnpackBits", only_use=False)
    if codes is None or codes.attrs_as(UnpackBits) != UnpackBits(4):
        return None
    return codes.inputs[0] if codes.inputs[0] in view.constant_names else None
