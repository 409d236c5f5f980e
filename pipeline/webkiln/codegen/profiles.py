"""The module of a bundle that times launches, with what each is called and costs. Only pages that
profile a model fetch it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from webkiln.codegen.scripts import DECLARATION, flatten
from webkiln.codegen.steps import BLOCKS, data_dependent, literal, parameters, sites
from webkiln.codegen.templates import Templates
from webkiln.ir import symbols
from webkiln.ir.notation import size_from_json

MODULE = "profile"


def profile_module(
    programs: Mapping[str, dict[str, Any]], templates: Templates, runtime: Path
) -> str:
    """`programs` by backend; `runtime` has the modules of the runtime."""
    launches = {backend: _launches(program) for backend, program in programs.items()}
    script = DECLARATION.sub("", flatten(runtime, ["profiler"], {}))
    return templates.render("profile.js", launches=launches, script=script, lines=launches.values())


def _launches(program: Mapping[str, Any]) -> str:
    """A JavaScript function of sizes that gives a row for each step: layer, kernel, operations,
    bytes.
    """
    known = {*program["placeholders"], *program["data_dependent"]}
    rows = [
        [layer, *_cost(step, known)]
        for layer, step in zip(_layers(program["main"], ""), sites(program["main"]), strict=True)
    ]
    return (
        f"({', '.join([*parameters(dict(program)), *data_dependent(dict(program))])}) =>"
        f" {literal(rows)}"
    )


def _layers(items: Iterable[dict[str, Any]], around: str) -> Iterator[str]:
    """The layer of each step; a copy belongs to the layer whose loop it is in, if that is of one."""
    for step in items:
        if not any(block in step for block in BLOCKS):
            yield step.get("layer") or around
        for block in BLOCKS:
            inner = step.get(block, ())
            names = {found["layer"] for found in sites(inner) if "layer" in found}
            yield from _layers(inner, names.pop() if len(names) == 1 else around)


def _cost(step: Mapping[str, Any], known: set[str]) -> list[Any]:
    if "copy" in step:
        return ["copy", 0, _told(2 * size_from_json(step["copy"]), known)]
    if "host" in step:
        return [step["host"], None, None]
    return [
        step["kernel"],
        *(_told(size_from_json(step[key]), known) for key in ("flops", "bytes")),
    ]


def _told(size: int, known: set[str]) -> int | None:
    """A size, unless it depends on the turn of a loop."""
    return None if symbols.names([size]) - known else size
