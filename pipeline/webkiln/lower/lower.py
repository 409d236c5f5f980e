"""Graph -> steps: every node that runs in the browser becomes nests applied to Variables."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby

from webkiln.errors import InternalError
from webkiln.ir.graph import Graph, Node
from webkiln.lower.canonicalize import tidy
from webkiln.lower.columns import columned
from webkiln.lower.concat_in_place import join
from webkiln.lower.defer_softmax import deferred
from webkiln.lower.draws import draws
from webkiln.lower.fuse import fuse
from webkiln.lower.row_tiles import stripped
from webkiln.lower.tiled_products import chained
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
    """Write the steps of all nodes outside the fixed part, fused; reshapes share memory and cost
    nothing.

    Variables in `keep` are computed even where fusion could do without them. Without a `target`,
    calls are only fused. `rewrite` gives the steps that take the place of a fused call, if any.
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
    kept = {roots[name] for name in (*graph.outputs.values(), *keep)} | {
        roots[state.output] for state in graph.states
    }
    fused = _Fusion(kept | _crossing(steps), rewrite, target).steps(steps)
    return Lowered(
        _drawn(fused, target.render_targets)
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
    """The steps of nodes, whose operands are seen as `views`; a reshape becomes a view of its
    operand.
    """

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
) -> tuple[list[Step], list[View]]:  # fmt: skip
    """The steps of a graph inside a node; its Variables are named after that node and its number
    there, and its scalars join `literals`.
    """
    own = _literals(body)
    if wide := sorted(set(body.constants) - set(own)):
        raise InternalError(
            f"graph {body.name}: constants {', '.join(wide)} of several elements stand inside a"
            " node"
        )
    views = {name: View(scope + name, variable.type) for name, variable in body.variables.items()}
    views |= zip(body.inputs, inputs, strict=True)
    literals.update({scope + name: value for name, value in own.items()})
    return _steps(body, body.nodes, views, literals, scope, depth), [
        views[name] for name in body.outputs.values()
    ]


def _runs(steps: Iterable[Step]) -> Iterator[tuple[list[NestCall], list[Step]]]:
    """Neighbouring calls, which fusion may join, or what stands between them."""
    for _, group in groupby(steps, lambda step: isinstance(step, NestCall)):
        members = list(group)
        yield (
            [step for step in members if isinstance(step, NestCall)],
            [step for step in members if not isinstance(step, NestCall)],
        )


def _crossing(steps: Iterable[Step]) -> set[str]:
    """The Variables that more than one run of calls, or another step, mentions."""
    found: set[str] = set()
    seen: set[str] = set()

    def visit(steps: Iterable[Step]) -> None:
        for run, between in _runs(steps):
            mentioned = {view.name for call in run for view in (*call.inputs, *call.outputs)}
            found.update(mentioned & seen)
            seen.update(mentioned)
            for step in between:
                found.update(view.name for view in (*reads(step), *writes(step)))
                for block in nested_blocks(step):
                    visit(block)

    visit(steps)
    return found


@dataclass(frozen=True, slots=True)
class _Fusion:
    """Fuses each run of calls; what `lower` is given."""

    kept: set[str]
    rewrite: Rewrite
    target: Target | None

    def steps(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        apart = self.target is not None and self.target.render_targets > 0
        for run, between in _runs(steps):
            result += self.written(
                self.arranged(join(fuse(run, self.kept), self.kept, apart=apart))
            )
            result += (map_blocks(step, self.steps) for step in between)
        return tuple(result)

    def arranged(self, calls: Sequence[NestCall]) -> Sequence[Step]:
        """The calls as a backend computes them best."""
        if self.target is None:
            return calls
        calls = deferred(calls, self.kept)
        steps = chained(
            columned(calls, self.kept) if self.target.loops else calls,
            self.kept,
            self.target.tiled_product_bytes,
        )
        return stripped(steps, self.kept, self.target.row_tile_bytes)

    def written(self, steps: Iterable[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            result += (
                (self.rewrite(step) or [tidy(step)])
                if isinstance(step, NestCall)
                else [map_blocks(step, self.written)]
            )
        return tuple(result)


def _drawn(steps: Iterable[Step], targets: int) -> tuple[Step, ...]:
    result: list[Step] = []
    for step in steps:
        result += (
            draws(step, targets)
            if isinstance(step, NestCall)
            else [map_blocks(step, lambda block: _drawn(block, targets))]
        )
    return tuple(result)


def _literals(graph: Graph) -> dict[str, float]:
    """Scalars of the structure are written into the kernels."""
    return {
        name: constant.values[0] for name, constant in graph.constants.items() if constant.is_scalar
    }
