"""Run many small graphs on a backend in one Node process, through the real lowering, printers, compiler and linker."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.backends import toolchain
from webkiln.backends.program import program
from webkiln.backends.table import FACTS
from webkiln.codegen.program import write_code
from webkiln.codegen.templates import Templates
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Type
from webkiln.ops.operator import Array, Case, evaluate, infer
from webkiln.weights.shards import pieces, stored, write

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Templates(ROOT / "kernels")
RUNNER = Path(__file__).with_name("run_programs.mjs")


@dataclass(frozen=True)
class Job:
    """A graph, the values of its slots, and inputs; `encoding` of the weights."""

    graph: Graph
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array] = field(default_factory=dict)
    encoding: str = "float32"


def node_job(op: str, case: Case, *, trained: bool) -> Job:
    """A graph of one node; `trained`: every operand but the first is a slot."""
    names = [f"x{position}" for position in range(len(case.inputs))]
    types = [Type(str(array.dtype), array.shape) for array in case.inputs]
    made = Node(op, tuple(names), ("y",), dict(case.attrs), op)
    variables = {name: Variable(name, type_) for name, type_ in zip(names, types, strict=True)}
    variables["y"] = Variable("y", infer(made, types)[0])
    slots = frozenset(names[1:]) if trained else frozenset()
    inputs = tuple(name for name in names if name not in slots)
    graph = Graph(op, (made,), variables, inputs, {"y": "y"}, slots)
    values = dict(zip(names, case.inputs, strict=True))
    return Job(graph, {name: values[name] for name in inputs}, {name: values[name] for name in slots})


def expected(op: str, case: Case) -> Array:
    return evaluate(Node(op, tuple(f"x{i}" for i in range(len(case.inputs))), ("y",), dict(case.attrs), op), case.inputs)[0]


def run(jobs: Sequence[Job], backend: str, folder: Path, variant: str = "simd") -> list[dict[str, Array]]:
    """The outputs of every job."""
    programs = []
    for number, job in enumerate(jobs):
        made = program(job.graph, FACTS[backend], job.encoding)
        programs.append(made)
        home = folder / str(number)
        write_code(made, TEMPLATES, home / "code")
        shards = write(pieces(stored(job.graph), job.encoding), job.weights)
        for position, data in enumerate(shards):
            (home / f"{position}.shard").write_bytes(data)
        for item in made["inputs"]:
            (home / f"{item['name']}.in").write_bytes(np.ascontiguousarray(job.inputs[item["name"]]).tobytes())
    if backend == "wasm":
        _compile(programs, folder, variant)
    (folder / "jobs.json").write_text(json.dumps({"count": len(jobs), "backend": backend}))
    done = subprocess.run(["node", "--experimental-wasm-relaxed-simd", str(RUNNER), str(folder)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [_read(folder / str(number), made) for number, made in enumerate(programs)]


def _compile(programs: Sequence[dict[str, Any]], folder: Path, variant: str) -> None:
    objects: dict[str, Path] = {}
    sources: list[Path] = []
    for number in range(len(programs)):
        code = folder / str(number) / "code"
        for source in sorted((code / "kernels").glob("*.c")):
            if source.stem not in objects:
                objects[source.stem] = folder / f"{source.stem}.o"
                sources.append(source)
    mains = [folder / str(number) / "code" / "main.c" for number in range(len(programs))]
    made = [*objects.values(), *(path.with_suffix(".o") for path in mains)]
    toolchain.compile_objects([*sources, *mains], made, variant)
    for number, (program_, main) in enumerate(zip(programs, mains, strict=True)):
        needed = [objects[name] for name in sorted(program_["kernels"])]
        toolchain.link([*needed, main.with_suffix(".o")], folder / str(number) / "model.wasm", program_["memory"])


def _read(home: Path, made: dict[str, Any]) -> dict[str, Array]:
    result = {}
    for item in made["outputs"]:
        data = (home / f"{item['name']}.out").read_bytes()
        result[item["name"]] = np.frombuffer(data, item["dtype"]).reshape(item["shape"])
    return result


def error(got: Array, reference: Array) -> float:
    """max|got - ref| / max(max|ref|, 1e-6); infinite where non-finite values differ."""
    if got.size == 0:
        return 0.0 if got.shape == reference.shape else np.inf
    finite = np.isfinite(reference)
    if not np.array_equal(np.where(finite, 0, reference), np.where(finite, 0, got), equal_nan=True):
        return np.inf
    wide, exact = got.astype(np.float64), reference.astype(np.float64)
    scale = max(float(np.max(np.abs(exact[finite]), initial=0)), 1e-6)
    return float(np.max(np.abs(wide[finite] - exact[finite]), initial=0)) / scale
