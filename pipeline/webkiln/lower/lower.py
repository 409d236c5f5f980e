"""Lower a Graph to steps: nests applied to Variables, for nodes outside the constant subgraph."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby

from webkiln.errors import InternalError
from webkiln.ir.graph import Graph, Node
from webkiln.lower.canonicalize import canonicalize
from webkiln.lower.concat_in_place import concat_in_place
from webkiln.lower.defer_softmax import defer_softmax
from webkiln.lower.draws import split_draws
from webkiln.lower.factor_layout import relayout_factors
from webkiln.lower.fuse import fuse
from webkiln.lower.row_tiles import tile_rows
from webkiln.lower.tiled_products import tile_products
from webkiln.nest.build import Lowering
from webkiln.nest.steps import NestCall, Step, View, calls, map_blocks, nested_blocks, reads, writes
from webkiln.nest.target import Target
from webkiln.ops.table import complete, find

Rewrite = Callable[[NestCall], Sequence[Step] | None]
VIEWS = frozenset({"Reshape", "Identity"})


@dataclass(frozen=True, slots=True)
class Lowered:
    """Steps in execution order. `roots` maps every Variable to the one whose memory it aliases."""

    steps: tuple[Step, ...]
    roots: Mapping[str, str]

    @property
    def calls(self) -> tuple[NestCall, ...]:
        return tuple(calls(self.steps))


def lower(
    graph: Graph,
    keep: Collection[str] = (),
    target: Target | None = None,
    rewrite: Rewrite = lambda call: None,
) -> Lowered:
    """Return the steps of all nodes outside the constant subgraph, fused. Reshapes alias memory and
    cost nothing.

    Variables in `keep` are computed even where fusion could eliminate them. Without a `target`,
    calls are only fused. `rewrite` returns the steps that replace a fused call, or None to keep the
    call.
    """
    views = {name: View(name, variable.type) for name, variable in graph.variables.items()}
    fixed = {node.name for node in graph.constant_subgraph()}
    steps = _steps(
        graph,
        [node for node in graph.nodes if node.name not in fixed],
        views,
        _literals(graph),
        "",
        0,
    )
    roots = {name: view.name for name, view in views.items()}
    live_out = {roots[name] for name in (*graph.outputs.values(), *keep)} | {
        roots[state.output] for state in graph.states
    }
    fused = _Fusion(live_out | _shared_variables(steps), rewrite, target).steps(steps)
    return Lowered(
        _split_all(fused, target.render_targets)
        if target is not None and target.render_targets
        else fused,
        roots,
    )


def _steps(
    graph: Graph,
    nodes: Iterable[Node],
    views: dict[str, View],
    literals: dict[str, float],
    scope: str,
    depth: int,
) -> list[Step]:
    """The steps of nodes whose operands are `views`. A reshape becomes a view of its operand."""

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
        if node.op in VIEWS:
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
        )
        find(node.op).lower(low, complete(node))
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


def _runs(steps: Iterable[Step]) -> Iterator[tuple[list[NestCall], list[Step]]]:
    """Each run of neighbouring calls, which fusion may combine, and the other steps after it."""
    for _, group in groupby(steps, lambda step: isinstance(step, NestCall)):
        group_steps = list(group)
        yield (
            [step for step in group_steps if isinstance(step, NestCall)],
            [step for step in group_steps if not isinstance(step, NestCall)],
        )


def _shared_variables(steps: Iterable[Step]) -> set[str]:
    """The Variables that more than one run of calls, or another step, mentions."""
    shared: set[str] = set()
    earlier: set[str] = set()

    def visit(steps: Iterable[Step]) -> None:
        for run, between in _runs(steps):
            mentioned = {view.name for call in run for view in (*call.inputs, *call.outputs)}
            shared.update(mentioned & earlier)
            earlier.update(mentioned)
            for step in between:
                shared.update(view.name for view in (*reads(step), *writes(step)))
                for block in nested_blocks(step):
                    visit(block)

    visit(steps)
    return shared


@dataclass(frozen=True, slots=True)
class _Fusion:
    """Fuses each run of calls, with the arguments of `lower`."""

    live_out: set[str]
    rewrite: Rewrite
    target: Target | None

    def steps(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        no_self_reads = self.target is not None and self.target.render_targets > 0
        for run, between in _runs(steps):
            result += self.rewritten(
                self.restructured(
                    concat_in_place(
                        fuse(run, self.live_out), self.live_out, no_self_reads=no_self_reads
                    )
                )
            )
            result += (map_blocks(step, self.steps) for step in between)
        return tuple(result)

    def restructured(self, calls: Sequence[NestCall]) -> Sequence[Step]:
        """The calls after the transforms that the backend enables."""
        if self.target is None:
            return calls
        calls = defer_softmax(calls, self.live_out)
        steps = tile_products(
            relayout_factors(calls, self.live_out) if self.target.loops else calls,
            self.live_out,
            self.target.tiled_product_bytes,
        )
        return tile_rows(steps, self.live_out, self.target.row_tile_bytes)

    def rewritten(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            result += (
                (self.rewrite(step) or [canonicalize(step)])
                if isinstance(step, NestCall)
                else [map_blocks(step, self.rewritten)]
            )
        return tuple(result)


def _split_all(steps: Iterable[Step], targets: int) -> tuple[Step, ...]:
    result: list[Step] = []
    for step in steps:
        result += (
            split_draws(step, targets)
            if isinstance(step, NestCall)
            else [map_blocks(step, lambda block: _split_all(block, targets))]
        )
    return tuple(result)


def _literals(graph: Graph) -> dict[str, float]:
    """The scalar constants, which become literals in kernels."""
    return {
        name: constant.values[0] for name, constant in graph.constants.items() if constant.is_scalar
    }
