"""Run very many small programs in one page of a browser: kernels compiled once each and together, a hundred programs to a wasm module."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from tests.backends.harness import ROOT, TEMPLATES, Prepared, _given
from webkiln.backends import frame, pages, toolchain
from webkiln.backends.table import TARGETS
from webkiln.codegen.program import write_code
from webkiln.errors import ToolError, WebkilnError
from webkiln.ir.graph import Graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import fixed_values
from webkiln.ops.table import infer
from webkiln.passes.pipeline import PASSES
from webkiln.program import program
from webkiln.weights.shards import pieces, stored, write

INSTANTIATED = "const { exports } = await WebAssembly.instantiate(module);"
RENAMED = """const { exports: all } = await WebAssembly.instantiate(module);
  const exports = Object.fromEntries(Object.entries(all).map(([name, value]) => [name.replace(/_NUMBER$/, ''), value]));"""
"""How the code of a program finds its own functions among those of a module."""
TOGETHER = 100
"""Programs of one module, and kernels of one file."""
VARIANT = "simd"
PATIENCE_SECONDS = 3600
OBJECTS = user_cache_path("webkiln") / "conformance"


@dataclass(frozen=True)
class Failed:
    """Why a graph gave no outputs."""

    message: str


@dataclass(frozen=True)
class Ran:
    """What a graph gave; whether procedures of the CPU were part of it."""

    outputs: Mapping[str, np.ndarray]
    host: bool


Outcome = Ran | Failed


def optimised(graph: Graph) -> Graph:
    """The graph after all passes, as it is built."""

    def change(part: Graph, name: str) -> Graph:
        return import_module(f"webkiln.passes.{name}").run(part.map_inside(lambda inner: change(inner, name)))  # type: ignore[no-any-return]

    for name in PASSES:
        graph = change(graph, name)
    verify(graph, infer)
    return graph


def run_graphs(
    graphs: Sequence[Graph], inputs: Sequence[Mapping[str, np.ndarray]], backend: str, folder: Path, browser: str = "chromium"
) -> list[Outcome]:
    """The outputs of every graph, or why there are none."""
    outcomes: list[Outcome | None] = [None] * len(graphs)
    made: dict[int, Prepared] = {}
    for number, (graph, given) in enumerate(zip(graphs, inputs, strict=True)):
        try:
            changed = optimised(graph)
            code = program(changed, TARGETS[backend], "float32")
            write_code(code, TEMPLATES, folder / str(number) / "code")
            shards = write(pieces(stored(changed), "float32"), fixed_values(changed, graph.weights))
            made[number] = Prepared(code, given, shards)
        except (WebkilnError, ArithmeticError, LookupError, TypeError, ValueError, AssertionError) as error:
            outcomes[number] = Failed(f"{type(error).__name__}: {error}")
    modules: dict[int, str] = {}
    if backend == "wasm":
        numbers = list(made)
        for start in range(0, len(numbers), TOGETHER):
            part = numbers[start : start + TOGETHER]
            for number, reason in _module(part, made, folder, f"{start}.wasm"):
                outcomes[number] = Failed(reason)
                del made[number]
            modules |= dict.fromkeys((number for number in part if number in made), f"/programs/{start}.wasm")
    request = {
        "script": "/repository/tests/conformance/run_models.mjs", "backend": backend,
        "programs": [[number, modules.get(number)] for number in made],
    }  # fmt: skip
    frames = [frame.encode(_given(item)) for item in made.values()]
    folders = {"/repository/": ROOT, "/programs/": folder}
    answers = pages.run_page(f"{len(frames)} programs of {backend}", folders, request, frames, PATIENCE_SECONDS, browser) if frames else []
    for number, answer in zip(made, answers, strict=True):
        failure = json.loads(answer) if answer[:1] == b"{" else None
        host = bool(made[number].program["procedures"])
        outcomes[number] = Failed(failure["error"]) if failure else Ran(frame.decode(answer).outputs, host)
    return [outcome if outcome is not None else Failed("no answer") for outcome in outcomes]


def _module(numbers: Sequence[int], made: Mapping[int, Prepared], folder: Path, name: str) -> Iterator[tuple[int, str]]:
    """Compile and link the programs of these numbers into one module; those that do not compile, with the reason."""
    kernels: dict[str, str] = {}
    for number in numbers:
        for path in sorted((folder / str(number) / "code" / "kernels").glob("*.c")):
            kernels.setdefault(path.stem, path.read_text())
    names = list(kernels)
    parts = [names[start : start + TOGETHER] for start in range(0, len(names), TOGETHER)]
    try:
        objects, broken = _objects([joined([kernels[item] for item in part]) for part in parts]), {}
    except ToolError:
        objects, broken = _one_by_one(kernels)
    wanted = {number: [*made[number].program["kernels"], *made[number].program["procedures"]] for number in numbers}
    sound = [number for number in numbers if not broken.keys() & set(wanted[number])]
    mains = [_numbered((folder / str(number) / "code" / "main.c").read_text(), number) for number in sound]
    for number in sound:
        path = folder / str(number) / "code" / "wasm.js"
        text = path.read_text()
        assert text.count(INSTANTIATED) == 1
        path.write_text(text.replace(INSTANTIATED, RENAMED.replace("NUMBER", str(number))))
    loaded = max((made[number].program["loaded"] for number in sound), default=0)
    toolchain.link([*objects, *_objects([joined(mains)])], folder / name, loaded)
    for number in numbers:
        if number not in sound:
            yield number, next(broken[kernel] for kernel in wanted[number] if kernel in broken)


def _one_by_one(kernels: Mapping[str, str]) -> tuple[list[Path], dict[str, str]]:
    objects, broken = [], {}
    for name, text in kernels.items():
        try:
            objects += _objects([text])
        except ToolError as error:
            broken[name] = str(error)
    return objects, broken


def _objects(sources: Sequence[str]) -> list[Path]:
    """The objects of these C files; what was compiled before is kept."""
    OBJECTS.mkdir(parents=True, exist_ok=True)
    digests = [hashlib.sha256("\0".join([*toolchain.FLAGS, VARIANT, text]).encode()).hexdigest() for text in sources]
    missing = {digest: text for digest, text in zip(digests, sources, strict=True) if not (OBJECTS / f"{digest}.o").exists()}
    paths = []
    for digest, text in missing.items():
        paths.append(OBJECTS / f"{digest}.c")
        paths[-1].write_text(text)
    toolchain.compile_objects(paths, [path.with_suffix(".o") for path in paths], VARIANT)
    for path in paths:
        path.unlink()
    return [OBJECTS / f"{digest}.o" for digest in digests]


def joined(files: Sequence[str]) -> str:
    """C files as one: equal paragraphs stand once, and arrays that are read outside of operands belong to one function each."""
    paragraphs: dict[str, None] = {}
    for number, text in enumerate(files):
        *helpers, last = text.strip().split("\n\n")
        paragraphs |= dict.fromkeys(helpers)
        paragraphs[re.sub(r"\boutside_\w+", lambda found, number=number: f"{found.group()}_{number}", last)] = None
    return "\n\n".join(paragraphs) + "\n"


def _numbered(main: str, number: int) -> str:
    """A program's functions under names of its own."""
    return re.sub(r"\b(?:(base|init|run|late)(?=\(|\"\))|(found)\b)", rf"\1\2_{number}", main)
