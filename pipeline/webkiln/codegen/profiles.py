"""The module of a bundle that profiles launches, with the name and cost of each. Only pages that
profile a model load it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from webkiln.codegen.scripts import DECLARATION, flatten
from webkiln.codegen.steps import BLOCKS, data_dependent, literal, parameters, sites
from webkiln.codegen.templates import Templates
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.notation import size_from_json

MODULE = "profile"


def profile_module(
    programs: Mapping[str, dict[str, Any]], templates: Templates, runtime: Path
) -> str:
    """`programs` by backend. `runtime` contains the modules of the runtime."""
    launches = {backend: _launches(program) for backend, program in programs.items()}
    script = DECLARATION.sub("", flatten(runtime, ["profiler"], {}))
    return templates.render("profile.js", launches=launches, script=script, lines=launches.values())


def _launches(program: Mapping[str, Any]) -> str:
    """A JavaScript function from sizes to a row for each step: layer, kernel, operations, bytes."""
    run_constants = {*program["placeholders"], *program["data_dependent"]}
    rows = [
        [layer, *_cost(step, run_constants)]
        for layer, step in zip(_layers(program["main"], ""), sites(program["main"]), strict=True)
    ]
    return (
        f"({', '.join([*parameters(dict(program)), *data_dependent(dict(program))])}) =>"
        f" {literal(rows)}"
    )


def _layers(items: Iterable[dict[str, Any]], around: str) -> Iterator[str]:
    """The layer of each step. A copy belongs to the layer of its loop, if the loop belongs to a
    single layer.
    """
    for step in items:
        if not any(block in step for block in BLOCKS):
            yield step.get("layer") or around
        for block in BLOCKS:
            inner = step.get(block, ())
            names = {site["layer"] for site in sites(inner) if "layer" in site}
            yield from _layers(inner, names.pop() if len(names) == 1 else around)


def _cost(step: Mapping[str, Any], run_constants: set[str]) -> list[Any]:
    if "copy" in step:
        return ["copy", 0, _run_constant(2 * size_from_json(step["copy"]), run_constants)]
    if "host" in step:
        return [step["host"], None, None]
    return [
        step["kernel"],
        *(_run_constant(size_from_json(step[key]), run_constants) for key in ("flops", "bytes")),
    ]


def _run_constant(size: Size, run_constants: set[str]) -> Size | None:
    """A size, or None if it depends on the iteration of a loop."""
    return None if symbols.names([size]) - run_constants else size
