"""The scales of quantized tables, which encodings leave as they are: the program selects rows of
codes and of scales, and multiplies them.
"""

from collections.abc import Collection

from webkiln.ir.graph import Graph, Node
from webkiln.ops.table import find

CODES = frozenset({"int8", "uint8", "int16", "uint16"})


def scales_of_codes(graph: Graph, fixed: Collection[str]) -> set[str]:
    """The constants of floats, of those in `fixed`, by which the program multiplies or divides the
    values of constants of integers.
    """
    sources = {name: name for name in fixed}
    codes = {name for name in fixed if graph.type(name).dtype in CODES}
    found: set[str] = set()
    for node in graph.nodes:
        if sources.keys() & set(node.outputs):
            continue
        if _moves(node) and node.inputs[0] in sources:
            sources |= dict.fromkeys(node.outputs, sources[node.inputs[0]])
        are_codes = [name in codes for name in node.inputs]
        if any(are_codes[:1] if _moves(node) else are_codes if node.op == "Sub" else ()):
            codes.update(node.outputs)
        if node.op in ("Mul", "Div") and any(are_codes):
            found |= {sources[name] for name in node.inputs if name in sources}
    return found - codes


def _moves(node: Node) -> bool:
    """Whether a node selects, moves or converts elements of its first operand."""
    traits = find(node.op).traits
    return bool(node.inputs) and (traits.is_view or traits.decodes or node.op == "Cast")
