"""Multiply by weights of 4 and 8 bits as they are stored, by codes and scales.

A product is one of decoded weights, or of activations that are quantized in blocks. The latter
changes results: an activation keeps 8 bits, relative to the largest one of its block. Backends that
have fast products of blocks rewrite graphs this way before they lower them.

The rows of a table that is also such a weight, as a tied embedding is, are decoded after they are
selected.

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

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ir.types import Type
from webkiln.lower.block_weights import BlockWeights, find_weights
from webkiln.ops.block_products import MatMulBlocks, QuantizeBlocks
from webkiln.ops.codes import Repeat
from webkiln.ops.linear import MatMul
from webkiln.ops.load_time import loaded_constants
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Gather

ROWWISE = ("Add", "Sub", "Mul", "Cast", "Repeat", "UnpackBits")
"""The operators that decode rows independently of each other."""


Chooser = Callable[[BlockWeights, Sequence[Type]], str | None]
"""How to multiply by weights, given the types of the factor and of the product, or to decode rows
that are selected from weights, given none: `DOT`, `EXACT`, or not at all.
"""
DOT, EXACT = "dot", "exact"


def run(graph: Graph, chooses: Chooser = lambda weights, types: DOT) -> Graph:
    loaded = loaded_constants(graph)
    quantized: dict[tuple[str, int], tuple[str, ...]] = {}
    multiply = partial(multiply_blocks, chooses=chooses, loaded=loaded, quantized=quantized)
    select = partial(decode_rows, chooses=chooses, loaded=loaded)
    rewritten = rewrite.apply(rewrite.apply(graph, multiply), select)
    # Layers that are kept stay, though no node reads them, where nothing is replaced.
    known = graph.producers()
    same = all(known.get(node.name) == node for node in rewritten.nodes)
    return graph if same else rewritten


def multiply_blocks(
    view: GraphView,
    node: Node,
    chooses: Chooser,
    loaded: frozenset[str],
    quantized: dict[tuple[str, int], tuple[str, ...]],
) -> Edit | None:
    """The product of a factor and weights as they are stored. `loaded`: the constants that programs
    may read. `quantized`: the codes and scales of what has been quantized, by its name and the
    length of blocks; products share them.
    """
    weights = weights_of(view, node, loaded)
    if weights is None:
        return None
    how = chooses(weights, (view.type(node.inputs[0]), view.type(node.name)))
    if how is None:
        return None
    made = Replacement(view, node)
    key = node.inputs[0], weights.block
    if how == DOT and key not in quantized:
        by_block = QuantizeBlocks(weights.block)
        quantized[key] = made.add_all(("codes", "scales"), "QuantizeBlocks", key[:1], by_block)
    rows = quantized[key] if how == DOT else key[:1]
    return made.finish(
        "MatMulBlocks",
        [*rows, *weights.operands(made)],
        MatMulBlocks(weights.block, weights.center, weights.codes.bits, weights.transposed),
    )


def weights_of(view: GraphView, node: Node, loaded: frozenset[str]) -> BlockWeights | None:
    """The weights of a product, if they can be multiplied in blocks."""
    if node.op != "MatMul" or view.type(node.name).dtype != "float32":
        return None
    attrs, name = node.attrs_as(MatMul), node.inputs[1]
    in_rows, turned = attrs.transpose_b, view.producer(name, "Transpose", only_use=False)
    if turned is not None and view.type(name).rank == 2:
        (name,), in_rows = turned.inputs, not in_rows
    if attrs.transpose_a:
        return None
    return find_weights(view, name, loaded, transposed=not in_rows)


def decode_rows(
    view: GraphView, node: Node, chooses: Chooser, loaded: frozenset[str]
) -> Edit | None:
    """Decode the rows that are selected from weights, instead of all rows."""
    if node.op != "Gather" or node.attrs_as(Gather).axis != 0:
        return None
    table, indices = node.inputs
    if indices in view.constant_names:
        return None
    weights = find_weights(view, table, loaded)
    if weights is None or chooses(weights, ()) is None:
        return None
    made = Replacement(view, node)
    shift, count = view.type(indices).rank - 1, view.type(table).shape[0]

    def rows(name: str) -> str:
        """The selected rows of a constant, computed of those of its operands."""
        if view.type(name).rank < 2 or view.type(name).shape[0] != count:
            return name
        producer = view.any_producer(name)
        if (
            producer is None
            or producer.op not in ROWWISE
            or not loaded.issuperset(item for item in producer.inputs if view.scalar(item) is None)
        ):
            return made.add(f"{name}/rows", "Gather", [name, indices], node.attrs)
        attrs = producer.attrs
        if isinstance(attrs, Repeat):
            attrs = replace(attrs, axis=attrs.axis + shift)
        return made.add(f"{name}/decoded", producer.op, list(map(rows, producer.inputs)), attrs)

    return made.finish("Identity", [rows(table)])
