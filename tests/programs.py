"""Programs of graphs on backends, for tests of single passes and of code."""

from collections.abc import Collection
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln.codegen.templates import Templates
from webkiln.ir.graph import Graph
from webkiln.lower import canonicalize, concat_in_place, fuse
from webkiln.lower.lower import unfused
from webkiln.nest.program import Program
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.program_builder.backend import Options, Settings
from webkiln.program_builder.loop_backend import LoopBackend


def with_target(backend: LoopBackend, **changes: Any) -> LoopBackend:
    """A backend with other capabilities; a dictionary changes fields of a record."""
    target = backend.target
    fields = {
        name: replace(getattr(target, name), **change) if isinstance(change, dict) else change
        for name, change in changes.items()
    }
    return replace(backend, target=replace(target, **fields))


def program(
    graph: Graph,
    backend: LoopBackend,
    encoding: str = "float32",
    keep_layers: bool = False,
    tuning: Tuning = UNTUNED,
    products: str = "exact",
) -> dict[str, Any]:
    """The document program.json."""
    target = backend.target
    options = Options(
        encoding,
        keep_layers,
        tuning,
        target.winograd,
        target.precision,
        products=products,
        matrices=target.invocations is not None and target.invocations.matrices,
    )
    return backend.compile(graph, options)


def lower(graph: Graph, keep: Collection[str] = ()) -> Program:
    """The program of a graph, fused, for no particular backend. Variables in `keep` are computed
    even where fusion could eliminate them.
    """
    return canonicalize.run(concat_in_place.run(fuse.run(unfused(graph, keep))))


def rewritten(
    graph: Graph,
    backend: LoopBackend,
    without: tuple[str, ...] = ("fast_convolutions", "copy_padding", "storage", "merge_pixels"),
) -> Program:
    """The program of a graph after the passes that change what is computed, but for some."""
    result = unfused(graph)
    for item in backend.rewriting(Settings(backend.target)):
        if item.name not in without:
            result = item.run(result)
    return result


def write_code(program: dict[str, Any], templates: Templates, folder: Path, **options: Any) -> None:
    """Write the sources of a program. `options` are those of the printer."""
    folder.mkdir(parents=True, exist_ok=True)
    printer = import_module(f"webkiln.backends.{program['backend']}.printer")
    printer.write(program, templates, folder, **options)
