"""Run many small graphs on a backend in one batch, in Node or a browser, through the real lowering,
printers, compiler and linker.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.backends import shaders
from tests.backends.modules import build
from tests.programs import program, with_target, write_code
from webkiln.backends import frame, pages
from webkiln.backends.compare import relative_error
from webkiln.backends.server import ISOLATED
from webkiln.backends.table import REGISTRY
from webkiln.backends.wasm.printer import Thresholds
from webkiln.codegen import glsl
from webkiln.codegen.device_programs import EMULATED
from webkiln.codegen.templates import Templates
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.notation import size_from_json
from webkiln.ir.solve import solve
from webkiln.ir.types import Array, Type
from webkiln.lower.draws import split_draws
from webkiln.nest.schedule import (
    FragmentSchedule,
    InvocationSchedule,
    LoopSchedule,
    Schedule,
    Tile,
)
from webkiln.nest.steps import NestCall, View
from webkiln.ops.evaluate import constant_values
from webkiln.ops.operator import Case
from webkiln.ops.table import attributes_of, evaluate, infer
from webkiln.plan import kernel as kernels
from webkiln.plan.alignment import VECTOR
from webkiln.plan.arena import Extent
from webkiln.plan.kernel import Kernel
from webkiln.plan.plan_memory import allocator_for
from webkiln.plan.storage import stored_call
from webkiln.plan.texels import draw
from webkiln.plan.tuning import UNTUNED, Tuning
from webkiln.program_builder.entries import split_entry
from webkiln.program_builder.loop_backend import LoopBackend
from webkiln.weights.shards import pieces, stored, write

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = Templates(ROOT)
RUNNER = Path(__file__).with_name("run_node.mjs")
HARNESS = ROOT / "pipeline" / "webkiln" / "backends" / "harness.js"
PAGES = ("webgpu", "webgl")
"""Backends that only a browser has."""
FINEST_THRESHOLDS = Thresholds(shared=0, short=0, turns=1, cold=-1)
"""Thresholds under which even short launches are divided into chunks, and every kernel is first
called without work, which must have no effect.
"""


@dataclass(frozen=True)
class Job:
    """A graph, the values of its slots, its inputs, the `encoding` of the weights, and how
    `products` of 4-bit weights are computed.
    """

    graph: Graph
    inputs: Mapping[str, Array]
    weights: Mapping[str, Array] = field(default_factory=dict)
    encoding: str = "float32"
    products: str = "exact"


def node_job(op: str, case: Case, *, trained: bool) -> Job:
    """A graph of one node. If `trained`, every operand but the first is a slot."""
    names = [f"x{position}" for position in range(len(case.inputs))]
    types = [Type(str(array.dtype), array.shape) for array in case.inputs]
    attrs = attributes_of(op, case.attrs)
    results = infer(Node(op, tuple(names), ("y",), attrs, op), types)
    outputs = tuple(f"y{position}" for position in range(len(results)))
    node = Node(op, tuple(names), outputs, attrs, op)
    variables = {
        name: Variable(name, type_)
        for name, type_ in zip((*names, *outputs), (*types, *results), strict=True)
    }
    slots = frozenset(names[1:]) if trained else frozenset()
    inputs = tuple(name for name in names if name not in slots)
    graph = Graph(op, (node,), variables, inputs, {name: name for name in outputs}, slots)
    values = dict(zip(names, case.inputs, strict=True))
    return Job(
        graph, {name: values[name] for name in inputs}, {name: values[name] for name in slots}
    )


def expected(op: str, case: Case) -> dict[str, Array]:
    results = evaluate(
        Node(
            op,
            tuple(f"x{i}" for i in range(len(case.inputs))),
            ("y",),
            attributes_of(op, case.attrs),
            op,
        ),
        case.inputs,
    )
    return {f"y{position}": result for position, result in enumerate(results)}


@dataclass(frozen=True)
class Prepared:
    """A program with the bytes that it reads."""

    program: dict[str, Any]
    inputs: Mapping[str, Array]
    shards: Sequence[bytes] = ()


def run(
    jobs: Sequence[Job],
    backend: str,
    folder: Path,
    variant: str = "simd",
    browser: str = "",
    tuning: Tuning = UNTUNED,
    hidden: Sequence[str] = (),
    **changes: Any,
) -> list[dict[str, Array]]:
    """The outputs of every job, as returned by `run_programs`. `changes`: other capabilities of the
    target.
    """
    changed = with_target(REGISTRY[backend], **changes)
    prepared = [prepare(job, changed, tuning) for job in jobs]
    return run_programs(prepared, backend, folder, variant, browser, hidden)


def prepare(job: Job, backend: LoopBackend, tuning: Tuning = UNTUNED) -> Prepared:
    compiled = program(job.graph, backend, job.encoding, tuning=tuning, products=job.products)
    values = constant_values(job.graph, job.weights).__getitem__
    shards = list(write(pieces(stored(job.graph), job.encoding), values))
    return Prepared(compiled, job.inputs, shards)


def run_programs(
    prepared: Sequence[Prepared],
    backend: str,
    folder: Path,
    variant: str = "simd",
    browser: str = "",
    hidden: Sequence[str] = (),
    adapter: Mapping[str, str] | None = None,
    float16: bool = False,
) -> list[dict[str, Array]]:
    """Print, compile and run programs in one page of a browser. Without `browser`, use one Node
    process, or Chromium for backends that need a GPU. `hidden`: the language features of WGSL that
    the page hides. `adapter`: what the page tells about its GPU.
    `float16`: variants in float16 are used without measurement.
    """
    for number, item in enumerate(prepared):
        write_program(item.program, folder / str(number) / "code")
    modules: dict[int, str] = {}
    if backend == "wasm":
        modules, broken = build(
            {number: item.program for number, item in enumerate(prepared)}, folder, variant
        )
        assert not broken, broken
    if backend == "webgl":
        parsed = {
            name: kernels.from_json(data)
            for item in prepared
            for name, data in item.program["kernels"].items()
        }
        shaders.validate(
            {name: glsl.print_kernel(kernel, TEMPLATES) for name, kernel in parsed.items()},
            folder / "shaders",
        )
    frames = [frame.encode(frame_arrays(item)) for item in prepared]
    if browser or backend in PAGES:
        request = {
            "backend": backend,
            "modules": [modules.get(number) for number, _ in enumerate(frames)],
            "hidden": list(hidden),
            "adapter": adapter,
            "float16": float16,
        }
        answers = in_page(
            "/repository/tests/backends/run_page.mjs",
            request,
            frames,
            folder,
            280,
            browser or "chromium",
        )
    else:
        answers = _run_in_node(frames, backend, folder, modules)
    return [frame.decode(answer).outputs for answer in answers]


def write_program(program: dict[str, Any], folder: Path) -> None:
    """Write the code of a program. On wasm, all launches are shared and all kernels warmed."""
    options = {"thresholds": FINEST_THRESHOLDS} if program["backend"] == "wasm" else {}
    write_code(program, TEMPLATES, folder, **options)


def in_page(
    script: str,
    request: Mapping[str, Any],
    frames: Sequence[bytes],
    folder: Path,
    seconds: float,
    browser: str,
) -> list[bytes]:
    """The answers of a script for the programs in a folder. Programs of wasm run in a Worker of a
    cross-origin isolated page, so that they can use threads.
    """
    backend = request["backend"]
    scripts = (
        {"script": "/repository/tests/backends/in_worker.mjs", "inWorker": script}
        if backend == "wasm"
        else {"script": script}
    )
    folders = {"/repository/": ROOT, "/programs/": folder}
    emulated = [int(path.parts[-3]) for path in folder.glob(f"*/code/{backend}{EMULATED}.js")]
    return pages.run_page(
        f"{len(frames)} programs of {backend}",
        folders,
        {**request, **scripts, "emulated": emulated},
        frames,
        seconds,
        browser,
        ISOLATED,
    )


def frame_arrays(item: Prepared) -> dict[str, Array]:
    """The inputs of a program in one frame: `placeholders`, `input.<name>`, `shard.<number>`."""
    values = placeholders(item)
    sizes = np.array([values[name] for name in item.program["placeholders"]], np.int32)
    inputs = {
        f"input.{tensor['name']}": item.inputs[tensor["name"]] for tensor in item.program["inputs"]
    }
    shards = {
        f"shard.{number}": np.frombuffer(data, np.uint8) for number, data in enumerate(item.shards)
    }
    return {"placeholders": sizes, **inputs, **shards}


def _run_in_node(
    frames: Sequence[bytes], backend: str, folder: Path, modules: Mapping[int, str]
) -> list[bytes]:
    for number, data in enumerate(frames):
        (folder / str(number) / "in").write_bytes(data)
    (folder / "package.json").write_text('{"type":"module"}')
    shutil.copyfile(HARNESS, folder / "harness.js")
    (folder / "modules.json").write_text(
        json.dumps([modules.get(number) for number, _ in enumerate(frames)])
    )
    command = ["node", "--experimental-wasm-relaxed-simd", str(RUNNER), str(folder), backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [(folder / str(number) / "out").read_bytes() for number in range(len(frames))]


def placeholders(item: Prepared) -> dict[str, int]:
    values: dict[str, int] = {}
    for tensor in item.program["inputs"]:
        array = item.inputs[tensor["name"]]
        solve(map(size_from_json, tensor["shape"]), array.shape, values)
        if "sizes" in tensor:
            solve(map(size_from_json, tensor["sizes"]), map(int, array.ravel()), values)
    return values


SCALAR = Tile()


def schedule_of(backend: str, axis: str, tile: Tile = SCALAR, **fields: Any) -> Schedule:
    """A schedule of one parallel axis, of the kind that a backend runs."""
    target = REGISTRY[backend].target
    if target.draws:
        return FragmentSchedule(tile)
    kind = InvocationSchedule if target.invocations else LoopSchedule
    return kind((axis,), tile, **fields)


def call_program(call: NestCall, schedule: Schedule, backend: str) -> dict[str, Any]:
    """A program of one call whose operands are all inputs or outputs. On a backend with render
    targets, a schedule with lanes stores all of them four elements to a texel.
    """
    target = REGISTRY[backend].target
    stored_nests = stored_call(call, target)
    allocator = allocator_for(target)
    texels = (
        {view.name for view in (*stored_nests.inputs, *stored_nests.outputs)}
        if target.draws and schedule.tile.lanes > 1
        else set()
    )
    for view in (*stored_nests.inputs, *stored_nests.outputs):
        allocator.reserve(
            view.name,
            Extent(view.type.dtype, max(view.type.size, 1), VECTOR if view.name in texels else 1),
        )
    kernels_by_name: dict[str, Kernel] = {}

    def launch(part: NestCall) -> dict[str, Any]:
        kernel = Kernel(part.nest, draw(part, texels).schedule if texels else schedule)
        views = (*part.inputs, *part.outputs)
        kernels_by_name[kernel.name] = kernel
        operands = [allocator.offsets[view.name] for view in views]
        args = kernels.values(kernel, views, part.args)
        return {
            "kernel": kernel.name,
            "layer": "",
            "operands": operands,
            "args": args,
            "flops": 0,
            "bytes": 0,
            **split_entry(part, kernel.schedule),
        }

    def tensor(view: View) -> dict[str, Any]:
        type_, offset = view.type, allocator.offsets[view.name]
        return {
            "name": view.name,
            "dtype": type_.dtype,
            "storage": target.stored(type_.dtype),
            "shape": list(view.shape),
            "order": None,
            "offset": offset,
        }

    return {
        **allocator.to_json(),
        "backend": backend,
        "placeholders": [],
        "divisibility": [],
        "guards": [],
        "states": [],
        "layers": [],
        "init": [],
        "inputs": list(map(tensor, call.inputs)),
        "outputs": list(map(tensor, call.outputs)),
        "main": [
            launch(part)
            for part in (
                split_draws(stored_nests, target.draws.targets) if target.draws else [stored_nests]
            )
        ],
        "kernels": {name: kernels.to_json(kernel) for name, kernel in kernels_by_name.items()},
        "procedures": {},
        "custom_kernels": {},
        "data_dependent": [],
    }


def disagreement(
    outputs: Mapping[str, Array], reference: Mapping[str, Array], tolerance: float
) -> str | dict[str, float]:
    """The outputs whose error exceeds the tolerance, with their errors; empty if they agree."""
    if {name: value.dtype for name, value in outputs.items()} != {
        name: value.dtype for name, value in reference.items()
    }:
        return f"outputs {outputs.keys()} instead of {reference.keys()}, or of other types"
    errors = {name: relative_error(outputs[name], value) for name, value in reference.items()}
    return {name: error for name, error in errors.items() if not error <= tolerance}
