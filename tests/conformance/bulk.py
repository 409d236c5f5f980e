"""Run very many small programs in one page of a browser."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

from tests.backends.harness import Prepared, frame_arrays, in_page, write_program
from tests.backends.modules import build
from tests.programs import program
from webkiln.backends import frame
from webkiln.backends.table import REGISTRY
from webkiln.errors import WebkilnError
from webkiln.ir.graph import Graph
from webkiln.ir.verify import verify
from webkiln.ops.budget import limited
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import infer
from webkiln.passes.pipeline import PASSES
from webkiln.weights.shards import pieces, stored, write

VARIANT = "simd"
PATIENCE_SECONDS = 3600


@dataclass(frozen=True)
class Failed:
    """The reason why a graph has no outputs."""

    message: str


@dataclass(frozen=True)
class Ran:
    """The outputs of a graph, and whether the program used procedures of the CPU."""

    outputs: Mapping[str, np.ndarray]
    host: bool


Outcome = Ran | Failed


def optimised(graph: Graph) -> Graph:
    """The graph after all passes, as in a build."""

    def change(part: Graph, name: str) -> Graph:
        return import_module(f"webkiln.passes.{name}").run(
            part.map_subgraphs(lambda inner: change(inner, name))
        )  # type: ignore[no-any-return]

    with limited():
        for name in PASSES:
            graph = change(graph, name)
    verify(graph, infer)
    return graph


def run_graphs(
    graphs: Sequence[Graph],
    inputs: Sequence[Mapping[str, np.ndarray]],
    backend: str,
    folder: Path,
    browser: str = "chromium",
    variant: str = VARIANT,
    adapter: Mapping[str, str] | None = None,
) -> list[Outcome]:
    """The outputs of every graph, or why there are none. `variant`: that of wasm. `adapter`: what
    the page tells about its GPU.
    """
    outcomes: list[Outcome | None] = [None] * len(graphs)
    prepared: dict[int, Prepared] = {}
    for number, (graph, values) in enumerate(zip(graphs, inputs, strict=True)):
        try:
            changed = optimised(graph)
            code = program(changed, REGISTRY[backend], "float32")
            write_program(code, folder / str(number) / "code")
            shards = list(
                write(
                    pieces(stored(changed), "float32"),
                    constant_values(changed, graph.weights).__getitem__,
                )
            )
            prepared[number] = Prepared(code, values, shards)
        except (
            WebkilnError,
            ArithmeticError,
            LookupError,
            TypeError,
            ValueError,
            AssertionError,
        ) as error:
            outcomes[number] = Failed(f"{type(error).__name__}: {error}")
    modules: dict[int, str] = {}
    if backend == "wasm":
        modules, broken = build(
            {number: item.program for number, item in prepared.items()}, folder, variant
        )
        for number, reason in broken.items():
            outcomes[number] = Failed(reason)
            del prepared[number]
    request = {
        "backend": backend,
        "programs": [[number, modules.get(number)] for number in prepared],
        "adapter": adapter,
    }
    frames = [frame.encode(frame_arrays(item)) for item in prepared.values()]
    script = "/repository/tests/conformance/run_models.mjs"
    answers = in_page(script, request, frames, folder, PATIENCE_SECONDS, browser) if frames else []
    for number, answer in zip(prepared, answers, strict=True):
        failure = json.loads(answer) if answer[:2] == b'{"' else None
        host = bool(prepared[number].program["procedures"])
        outcomes[number] = (
            Failed(failure["error"]) if failure else Ran(frame.decode(answer).outputs, host)
        )
    return [outcome if outcome is not None else Failed("no answer") for outcome in outcomes]
