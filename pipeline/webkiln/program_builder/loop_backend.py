"""Backends that print loop nests."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webkiln.ir.graph import Graph
from webkiln.lower import narrow_caches
from webkiln.lower.lower import unfused
from webkiln.lower.narrow_caches import Narrowed
from webkiln.lower.passes import GraphPass, Pass, marked
from webkiln.nest.program import Program
from webkiln.nest.target import Target
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.program_builder.backend import Options, Settings, Weights, weights_of
from webkiln.program_builder.document import document, layer_outputs

FIRST = "lower"
"""The name of the program before the first pass."""
UNCHANGED = GraphPass("unchanged", lambda graph, target: graph)


@dataclass(frozen=True, slots=True)
class Prepared:
    """The graph that is lowered, and the one with narrow caches that it was made of."""

    graph: Graph
    narrowed: Narrowed


@dataclass(frozen=True, slots=True)
class LoopBackend:
    """`rewriting` are the passes that change what is computed, which keep results in any order;
    `scheduling` are those that decide how and where. `prepare` rewrites a graph for the target
    before it is lowered.
    """

    target: Target
    rewriting: Callable[[Settings], Sequence[Pass]]
    scheduling: Callable[[Settings], Sequence[Pass]]
    prepare: GraphPass = UNCHANGED

    @property
    def name(self) -> str:
        return self.target.backend

    def passes(self, tuning: Tuning = UNTUNED, weights: Weights | None = None) -> list[Pass]:
        """All passes, in order. Without `weights`, none is decoded when the model is loaded."""
        settings = Settings(self.target, tuning, weights or Weights({}, ()))
        return [*self.rewriting(settings), *self.scheduling(settings)]

    def plan(
        self,
        graph: Graph,
        keep: Sequence[str] = (),
        weights: Weights | None = None,
        tuning: Tuning = UNTUNED,
    ) -> Program:
        """The program of a graph, scheduled, and with the addresses of its buffers. Variables in
        `keep` are computed even where fusion could eliminate them, and stay readable after a run.
        `weights`: how they arrive; default: unencoded.
        """
        return _last(self.programs(graph, keep, weights, tuning))

    def programs(
        self,
        graph: Graph,
        keep: Sequence[str] = (),
        weights: Weights | None = None,
        tuning: Tuning = UNTUNED,
    ) -> Iterator[tuple[str, Program]]:
        """Yield the program of `plan` before the first pass, named `FIRST`, and after each one."""
        prepared = self.prepared(graph)
        return self.programs_of(graph, prepared, keep, weights or weights_of(graph), tuning)

    def prepared(self, graph: Graph) -> Prepared:
        """What is lowered in place of a graph."""
        narrowed = narrow_caches.run(graph, self.target.memory.caches)
        return Prepared(self.prepare.rewrite(narrowed.graph, self.target), narrowed)

    def programs_of(
        self,
        graph: Graph,
        prepared: Prepared,
        keep: Sequence[str],
        weights: Weights,
        tuning: Tuning,
    ) -> Iterator[tuple[str, Program]]:
        """The programs of a graph that is prepared already."""
        narrowed = prepared.narrowed
        program = unfused(prepared.graph, keep, weights.types, narrowed.elements)
        program = marked("narrow_caches", program, graph, narrowed.graph)
        program = marked(self.prepare.name, program, narrowed.graph, prepared.graph)
        yield FIRST, program
        for item in self.passes(tuning, weights):
            program = item.run(program)
            yield item.name, program

    def configured(self, options: Options) -> "LoopBackend":
        """The backend with the options of a recipe."""
        target = self.target.configured(
            options.winograd,
            options.precision,
            options.rounds_float16,
            options.products,
            options.caches,
            options.matrices,
        )
        return replace(self, target=target)

    def compile(self, graph: Graph, options: Options) -> dict[str, Any]:
        """The document program.json (docs/formats.md)."""
        configured = self.configured(options)
        weights, prepared = weights_of(graph, options.encoding), configured.prepared(graph)
        narrowed = prepared.narrowed
        layers = layer_outputs(graph) if options.keep_layers else {}
        layers = {key: name for key, name in layers.items() if name in narrowed.graph.variables}
        programs = configured.programs_of(
            graph, prepared, tuple(layers.values()), weights, options.tuning
        )
        program = document(
            narrowed.graph, _last(programs), configured.target, weights.pieces, layers
        )
        quantizes = any(
            node.op == "MatMulBlocks" and prepared.graph.type(node.inputs[0]).dtype == "int8"
            for node in prepared.graph.nodes
        )
        return (
            program
            | ({"products": "dot"} if quantizes else {})
            | ({"caches": options.caches} if narrowed.elements else {})
        )


def _last(programs: Iterator[tuple[str, Program]]) -> Program:
    ((_, last),) = deque(programs, maxlen=1)
    return last
