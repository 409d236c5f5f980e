"""Time products with weights of 4 and 8 bits as they are stored, exactly (`exact`) and by
activations rounded to 8 bits (`dot`), beside those with float32 weights, in one thread of Chromium.

    .venv/bin/python -m tests.bench.bench_blocks [--variant simd] [--rounds 5] [--size 2048]

The table shows milliseconds of processor time, the least of the rounds. The weights stay in the
caches, as they do not in a model.
"""

import argparse
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.backends.harness import TEMPLATES
from tests.bench.bench_kernels import call as call_page
from tests.bench.bench_kernels import clock
from tests.programs import write_code
from webkiln.backends import browsers, toolchain
from webkiln.backends.server import ISOLATED, Server
from webkiln.backends.table import REGISTRY
from webkiln.build.table import table
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import RULES
from webkiln.program_builder.backend import Options
from webkiln.recipe.values import VARIANTS
from webkiln.weights.shards import pieces, stored, write

ROWS = (1, 2, 4, 8, 16, 32, 64, 128)
BLOCK = 32
FORMS = ("4 bits", "8 bits", "8 bits by column")
FLOAT32 = "float32"
WAYS = (FLOAT32, "exact", "dot")
HERE = Path(__file__).parent


def graph_of(form: str, rows: int, size: int) -> tuple[Graph, dict[str, Array]]:
    """A product with a matrix [size, size] of codes, or of floats."""
    rng = np.random.default_rng(0)
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (rows, size))
    if form == FLOAT32:
        w = rng.standard_normal((size, size)).astype(np.float32)
        y = b.op("MatMul", [x, b.slot("w", w)], {"transpose_b": True})
        return b.graph({"y": y}), {"w": w}
    bits, blocks = int(form[0]), 1 if form.endswith("column") else size // BLOCK
    values = {
        "codes": rng.integers(0, 255, (size, size * bits // 8), np.uint8, endpoint=True),
        "scales": rng.uniform(0.01, 0.1, (size, blocks)).astype(np.float32),
    }
    codes, scales = (b.slot(name, value) for name, value in values.items())
    if bits < 8:
        codes = b.op("UnpackBits", [codes], {"bits": bits})
    real = b.op("Cast", [codes], {"dtype": "float32"})
    moved = b.op("Sub", [real, b.constant(1 << (bits - 1), "float32")])
    if blocks > 1:
        scales = b.op("Repeat", [scales], {"axis": 1, "times": BLOCK, "size": size})
    y = b.op("MatMul", [x, b.op("Mul", [moved, scales])], {"transpose_b": True})
    return b.graph({"y": y}), values


def write_program(
    graph: Graph, weights: dict[str, Array], how: str, folder: Path, variant: str
) -> None:
    """Write the files with which the page runs a graph."""
    document = REGISTRY["wasm"].compile(graph, Options(products=how))
    write_code(document, TEMPLATES, folder)
    sources = [*sorted((folder / "kernels").glob("*.c")), folder / "main.c"]
    objects = [source.with_suffix(".o") for source in sources]
    toolchain.compile_objects(sources, objects, variant)
    toolchain.link(objects, folder / "model.wasm")
    values = constant_values(graph, weights).__getitem__
    for number, shard in enumerate(write(pieces(stored(graph), "float32"), values)):
        (folder / f"{number}.bin").write_bytes(shard)
    shape = graph.type("x").shape
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    (folder / "x.bin").write_bytes(x.tobytes())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--variant", choices=VARIANTS["wasm"], default="relaxed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=int, default=2048)
    options = parser.parse_args()
    cases = [(form, rows) for form in FORMS for rows in ROWS]
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        programs = [(*case, how) for case in cases for how in WAYS]
        for number, (form, rows, how) in enumerate(programs):
            graph, weights = graph_of(FLOAT32 if how == FLOAT32 else form, rows, options.size)
            products = "exact" if how == FLOAT32 else how
            write_program(graph, weights, products, folder / str(number), options.variant)
        (folder / "bench.mjs").write_bytes((HERE / "bench_blocks.mjs").read_bytes())
        (folder / "index.html").write_text("<!doctype html><title>bench</title>")
        session = browsers.session("chromium")
        session.set_script_timeout(600)
        with Server({"/": folder}, headers=ISOLATED, route=partial(clock, session)) as server:
            session.get(f"{server.url}/index.html")
            for number in range(len(programs)):
                call_page(session, "prepare", number)
            results = [call_page(session, "round") for _ in range(options.rounds)]
        session.quit()
    times = [min(found) for found in zip(*results, strict=True)]
    lines = []
    for (form, rows), *ways in zip(
        cases, *(times[n :: len(WAYS)] for n in range(len(WAYS))), strict=True
    ):
        ratios = (f"{way / ways[0]:.2f}" for way in ways[1:])
        lines.append((form, str(rows), *(f"{way:.2f}" for way in ways), *ratios))
    head = ("weights", "rows", *WAYS, *(f"{way} / {FLOAT32}" for way in WAYS[1:]))
    print(
        table(f"products of {options.size} by {options.size}, wasm {options.variant}", head, lines)
    )


if __name__ == "__main__":
    main()
