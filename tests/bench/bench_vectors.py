"""Time products of few rows and a matrix on webgpu, by kernel templates and by loops, which decode
codes when the model is loaded, in one page of Chromium.

    .venv/bin/python -m tests.bench.bench_vectors [--rounds 5] [ROWSxDEPTHxCOLUMNS ...]
    .venv/bin/python -m tests.bench.bench_vectors step transformer [--weights "float32,4 bits"]

`step` are the products of a step of four layers with 576 columns and of a head with 16,384 words,
`transformer` those of six layers with 384 columns, of 128 rows; each with a tanh and a sum. By the
weights "4 bits dot", templates multiply rounded rows.

The table shows milliseconds of processor time of the GPU process, the least of the rounds, which
is the work of a software GPU, the megabytes of weights in GPU memory, and the launches of a run.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from selenium.webdriver.remote.webdriver import WebDriver

from tests.backends.harness import ROOT, TEMPLATES
from tests.bench.bench_blocks import BLOCK, FLOAT32, FORMS
from tests.bench.bench_kernels import call as call_page
from tests.bench.processes import milliseconds
from tests.programs import with_target, write_code
from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Answer, Server
from webkiln.backends.table import REGISTRY
from webkiln.build.table import table
from webkiln.codegen.device_programs import EMULATED
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.nest.kernel_template import templates
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import RULES
from webkiln.program_builder.backend import Options
from webkiln.program_builder.loop_backend import UNCHANGED, LoopBackend
from webkiln.weights.shards import pieces, stored, write

SIZES = ("1x768x768", "1x3072x768", "1x2048x1000", "1x576x49152", "4x2048x2048", "128x384x1536")
BACKEND = REGISTRY["webgpu"]
NETWORKS = {
    "step": (1, [*(576, 576, 192, 576, 576, 1536, 576) * 4, 16384]),
    "transformer": (128, [*(384, 1152, 384, 384, 1536) * 6, 384]),
}
"""Rows, and the columns between which products lie."""
INTEGERS = tuple(item for item in templates("webgpu") if item.step == "product")
LOOPS = replace(with_target(BACKEND, templates=INTEGERS), prepare=UNCHANGED)
HERE = Path(__file__).parent


def graph_of(form: str, size: str) -> tuple[Graph, dict[str, Array]]:
    """A product, or a chain of products."""
    if size in NETWORKS:
        rows, sizes = NETWORKS[size]
    else:
        rows, *sizes = map(int, size.split("x"))
    b = GraphBuilder("g", RULES)
    y, values = b.input("x", "float32", (rows, sizes[0])), dict[str, Array]()
    for number, (depth, columns) in enumerate(pairwise(sizes)):
        x = y if number == 0 else b.op("Tanh", [y])
        y = product_of(b, x, form, (depth, columns), f"{number}", values)
        if depth == columns:
            y = b.op("Add", [x, y])
    return b.graph({"y": y}), values


def product_of(
    b: GraphBuilder, x: str, form: str, size: tuple[int, int], name: str, values: dict[str, Array]
) -> str:
    """A product with a matrix [columns, depth] of codes, or [depth, columns] of floats."""
    depth, columns = size
    rng = np.random.default_rng(0)
    if form == FLOAT32:
        values[f"w{name}"] = rng.standard_normal(size, np.float32)
        return b.op("MatMul", [x, b.slot(f"w{name}", values[f"w{name}"])])
    bits, blocks = int(form[0]), 1 if "column" in form else depth // BLOCK
    packed = (columns, depth * bits // 8)
    own = {
        f"codes{name}": rng.integers(0, 255, packed, np.uint8, endpoint=True),
        f"scales{name}": rng.uniform(0.01, 0.1, (columns, blocks)).astype(np.float32),
    }
    values |= own
    codes, scales = (b.slot(key, value) for key, value in own.items())
    if bits < 8:
        codes = b.op("UnpackBits", [codes], {"bits": bits})
    real, center = b.op("Cast", [codes], {"dtype": "float32"}), 1 << (bits - 1)
    moved = b.op("Sub", [real, b.constant(center, "float32")])
    if blocks > 1:
        scales = b.op("Repeat", [scales], {"axis": 1, "times": BLOCK, "size": depth})
    return b.op("MatMul", [x, b.op("Mul", [moved, scales])], {"transpose_b": True})


def write_program(
    graph: Graph, weights: dict[str, Array], backend: LoopBackend, products: str, folder: Path
) -> tuple[float, int]:
    """Write the files with which the page runs a graph. Returns the megabytes of its weights, and
    the launches of a run.
    """
    options = Options(products=products)
    document = backend.compile(graph, options)
    write_code(document, TEMPLATES, folder)
    emulated = folder / f"webgpu{EMULATED}.js"
    if emulated.exists():
        emulated.replace(folder / "webgpu.js")
    values = constant_values(graph, weights).__getitem__
    for number, shard in enumerate(write(pieces(stored(graph), FLOAT32), values)):
        (folder / f"{number}.bin").write_bytes(shard)
    x = np.random.default_rng(1).standard_normal(graph.type("x").shape, np.float32)
    (folder / "x.bin").write_bytes(x.tobytes())
    program = backend.configured(options).plan(graph)
    read = {view.name for call in program.calls for view in call.inputs} & program.constants
    sizes = {"uint8": 1, "int8": 1, "float16": 2}
    bytes_ = sum(
        program.buffers[name].type.size * sizes.get(program.buffers[name].storage, 4)
        for name in read
    )
    return bytes_ / 1e6, len(document["main"])


def clock(session: WebDriver, path: str, body: bytes) -> Answer | None:
    """Answer `/clock` with the processor time in milliseconds of the GPU process."""
    if path != "/clock":
        return None
    spent = milliseconds(session.service.process.pid, "gpu-process")
    return 200, "text/plain", str(spent).encode()


def measure(size: str, forms: Sequence[str], rounds: int) -> list[tuple[str, ...]]:
    """The rows of the table for a size."""
    found = []
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number, form in enumerate(forms):
            for other, backend in enumerate((LOOPS, BACKEND)):
                home = folder / str(2 * number + other)
                products = "dot" if form.endswith("dot") else "exact"
                found.append(write_program(*graph_of(form, size), backend, products, home))
        (folder / "bench.mjs").write_bytes((HERE / "bench_vectors.mjs").read_bytes())
        (folder / "index.html").write_text("<!doctype html><title>bench</title>")
        session = browsers.session("chromium")
        session.set_script_timeout(600)
        folders = {"/": folder, "/repository/": ROOT}
        with Server(folders, headers=ISOLATED, route=partial(clock, session)) as server:
            session.get(f"{server.url}/index.html")
            for number in range(len(found)):
                call_page(session, "prepare", number)
            results = [call_page(session, "round") for _ in range(rounds)]
            session.get("about:blank")
    times = [min(each) for each in zip(*results, strict=True)]
    lines = []
    for number, form in enumerate(forms):
        (loops, ours), each = times[2 * number : 2 * number + 2], found[2 * number : 2 * number + 2]
        numbers = (loops, ours, ours / loops, *(megabytes for megabytes, _ in each))
        launches = " / ".join(str(count) for _, count in each)
        lines.append((size, form, *(f"{item:.2f}" for item in numbers), launches))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="*", default=SIZES, metavar="ROWSxDEPTHxCOLUMNS")
    parser.add_argument("--weights", default=",".join((FLOAT32, *FORMS)))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    ways = ("loops", "templates", "ratio", "MB, loops", "MB, templates", "launches")
    forms = options.weights.split(",")
    rows = [row for size in options.sizes for row in measure(size, forms, options.rounds)]
    print(table("products of few rows, webgpu", ("size", "weights", *ways), rows))


if __name__ == "__main__":
    main()
