"""Lower a Graph to a Program: nests over buffers, for nodes outside the constant subgraph."""

from collections.abc import Collection, Iterable, Sequence
from itertools import count

from webkiln.errors import InternalError
from webkiln.ir.graph import Graph, Node
from webkiln.nest.build import Lowering
from webkiln.nest.program import Buffer, Kind, Program, State
from webkiln.nest.steps import NestCall, Step, View, every_step
from webkiln.ops.load_time import load_time_nodes, nodes_after
from webkiln.ops.table import find

VIEWS = frozenset({"Reshape", "Identity"})


def unfused(
    graph: Graph,
    keep: Collection[str] = (),
    stored: Collection[str] | None = None,
    caches: Collection[str] = (),
) -> Program:
    """The program of a graph, operator by operator. Views alias memory and cost nothing. `stored`:
    the constants of a bundle; others that the program reads are computed in `init`. `caches`: what
    lies in memory in its own dtype. Raises InternalError if constants cannot be computed.
    """
    views = {name: View(name, variable.type) for name, variable in graph.variables.items()}
    decoding = load_time_nodes(graph) if stored is None else nodes_after(graph, stored)
    fixed = {node.name for node in graph.constant_subgraph()}
    init = _calls(_steps(graph, decoding, views, _literals(graph), "", 0, is_init=True))
    running = [node for node in graph.nodes if node.name not in fixed]
    steps = _steps(graph, running, views, _literals(graph), "", 0)
    roots = {name: view.name for name, view in views.items()}
    live = {roots[name] for name in (*graph.outputs.values(), *keep)} | {
        roots[name] for state in graph.states for name in (state.initial, state.output)
    }
    kinds: dict[str, Kind] = dict.fromkeys(graph.inputs, "input")
    kinds |= {state.input: "state" for state in graph.states}
    computed = {name for node in (*decoding, *running) for name in node.outputs}
    used = {view.name for step in every_step((*init, *steps)) for view in step.reads} | live
    buffers = {
        name: Buffer(name, graph.type(name), graph.type(name).dtype, kinds.get(name, "constant"))
        for name in dict.fromkeys((*kinds, *graph.variables))
        if name in kinds or (name in used and name not in computed)
    }
    unknown = {name for name, buffer in buffers.items() if buffer.kind == "constant"}
    if stored is not None and (unknown := unknown - set(stored)):
        raise InternalError(f"no bundle contains {', '.join(sorted(unknown))}, which is read")
    aliases = {name: root for name, root in roots.items() if name != root}
    states = tuple(
        State(state.input, roots[state.initial], roots[state.output]) for state in graph.states
    )
    empty = Program(
        graph.name,
        buffers,
        (),
        frozenset(live),
        aliases,
        init,
        states=states,
        caches=frozenset(roots[name] for name in caches if name in roots),
    )
    return empty.with_steps(steps)


def _calls(steps: Iterable[Step]) -> tuple[NestCall, ...]:
    """The steps that decode constants. Raises InternalError for one that is no call of a nest."""
    calls = []
    for step in steps:
        if not isinstance(step, NestCall):
            raise InternalError(f"{step.label} cannot run when a model is loaded")
        calls.append(step)
    return tuple(calls)


def _steps(
    graph: Graph,
    nodes: Iterable[Node],
    views: dict[str, View],
    literals: dict[str, float],
    scope: str,
    depth: int,
    *,
    is_init: bool = False,
) -> list[Step]:
    """The steps of nodes whose operands are `views`. An operator that is a view becomes one."""

    def inline(body: Graph, inputs: Sequence[View], depth: int) -> tuple[list[Step], list[View]]:
        number = next(bodies)
        return _inlined(
            body,
            inputs,
            literals,
            f"{scope}{node.name}:{number}/" if number else f"{scope}{node.name}/",
            depth,
        )

    steps: list[Step] = []
    for node in nodes:
        bodies = count()
        operator = find(node.op)
        if operator.traits.is_view:
            views[node.outputs[0]] = views[node.inputs[0]].reshaped(
                graph.type(node.outputs[0]).shape
            )
            continue
        low = Lowering(
            [views[name] for name in node.inputs],
            [views[name] for name in node.outputs],
            node.layer or node.name,
            literals,
            inline,
            depth,
            is_init=is_init,
        )
        operator.lower(low, node.attrs_as(operator.attributes))
        steps += low.steps
    return steps


def _inlined(
    body: Graph, inputs: Sequence[View], literals: dict[str, float], scope: str, depth: int
) -> tuple[list[Step], list[View]]:
    """The steps of a graph inside a node. The names of its Variables are prefixed by `scope`, and
    its scalars are added to `literals`.
    """
    scalars = _literals(body)
    if wide := sorted(set(body.constants) - set(scalars)):
        raise InternalError(
            f"graph {body.name}: the constants {', '.join(wide)} inside a node have several"
            " elements; only scalars are supported there"
        )
    views = {name: View(scope + name, variable.type) for name, variable in body.variables.items()}
    views |= zip(body.inputs, inputs, strict=True)
    literals.update({scope + name: value for name, value in scalars.items()})
    return _steps(body, body.nodes, views, literals, scope, depth), [
        views[name] for name in body.outputs.values()
    ]


def _literals(graph: Graph) -> dict[str, float]:
    """The scalar constants, which become literals in kernels."""
    return {
        name: constant.values[0] for name, constant in graph.constants.items() if constant.is_scalar
    }
