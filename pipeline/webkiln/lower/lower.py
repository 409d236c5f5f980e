"""Graph -> calls: every node that runs in the browser becomes nests applied to Variables."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from webkiln.errors import UnsupportedError
from webkiln.ir.graph import Graph, Node
from webkiln.lower.fuse import fuse
from webkiln.lower.tidy import tidy
from webkiln.nest.build import Call, Lowering, View
from webkiln.nest.nest import COMPUTE
from webkiln.ops.table import complete, find

VIEWS = frozenset({"Reshape", "Identity"})


@dataclass(frozen=True, slots=True)
class Lowered:
    """Calls in an order in which they can run. `roots` names, for every Variable, the one whose memory it shares."""

    calls: tuple[Call, ...]
    roots: Mapping[str, str]


def lower(graph: Graph, keep: Collection[str] = ()) -> Lowered:
    """Write the calls of all nodes outside the fixed part, fused; reshapes share memory and cost nothing.

    Variables in `keep` are computed even where fusion could do without them.
    """
    _check_dtypes(graph)
    fixed = {node.name for node in graph.fixed_part()}
    roots = {name: name for name in graph.variables}
    literals = _literals(graph)
    calls: list[Call] = []
    for node in graph.nodes:
        if node.name in fixed:
            continue
        if node.op in VIEWS:
            roots[node.outputs[0]] = roots[node.inputs[0]]
        else:
            calls += _calls(graph, node, roots, literals)
    kept = {roots[name] for name in (*graph.outputs.values(), *keep)} | {roots[state.output] for state in graph.states}
    return Lowered(tuple(tidy(call) for call in fuse(calls, kept)), roots)


def _calls(graph: Graph, node: Node, roots: Mapping[str, str], literals: Mapping[str, float]) -> list[Call]:
    low = Lowering(
        [View(roots[name], graph.type(name)) for name in node.inputs],
        [View(name, graph.type(name)) for name in node.outputs],
        node.layer or node.name,
        literals,
    )
    find(node.op).lower(low, complete(node))
    return low.calls


def _literals(graph: Graph) -> dict[str, float]:
    """Scalars of the structure are written into the kernels."""
    return {name: constant.values[0] for name, constant in graph.constants.items() if len(constant.values) == 1}


def _check_dtypes(graph: Graph) -> None:
    """Every dtype that reaches the browser has a storage form in kernels."""
    items = []
    for node in graph.nodes:
        for name in (*node.inputs, *node.outputs):
            dtype = graph.type(name).dtype
            if dtype not in COMPUTE:
                items.append((node.layer or node.name, f"{node.op} works on {dtype}", f"Cast to one of {', '.join(COMPUTE)}."))
    if items:
        raise UnsupportedError(graph.name, sorted(set(items)))
