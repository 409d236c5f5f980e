"""Time each kernel template for products against the loops that it replaces, in Node, in one
process.

    .venv/bin/python -m tests.bench.bench_templates [--variant simd] [--rounds 20]

Rows have random integers. The table shows 10^9 multiplications and additions per second.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.backends.harness import HARNESS, Prepared, build, frame_arrays, node_job, write_program
from tests.programs import program, with_target
from webkiln.backends import frame
from webkiln.backends.table import REGISTRY
from webkiln.build.table import table
from webkiln.nest.kernel_template import Template, templates
from webkiln.ops.evaluate import constant_values
from webkiln.ops.operator import Case
from webkiln.weights.shards import pieces, stored, write

SIZES = ((2, 1024, 1024), (49, 960, 160), (128, 384, 1536), (196, 576, 96), (256, 256, 256))
"""Rows, length of the sum, columns."""
SCRIPT = Path(__file__).with_name("time_programs.mjs")


def prepared(case: Case, chosen: tuple[Template, ...]) -> Prepared:
    """The program with these templates, as if they were fast enough to be used everywhere."""
    fast = tuple(replace(item, gops=1e6) for item in chosen)
    backend = with_target(REGISTRY["wasm"], templates=fast)
    job = node_job("MatMulInteger", case, trained=True)
    values = constant_values(job.graph, job.weights).__getitem__
    shards = list(write(pieces(stored(job.graph), "float32"), values))
    return Prepared(program(job.graph, backend), job.inputs, shards)


def measure(items: list[Prepared], folder: Path, variant: str, rounds: int) -> list[float]:
    for number, item in enumerate(items):
        write_program(item.program, folder / str(number) / "code")
        (folder / str(number) / "in").write_bytes(frame.encode(frame_arrays(item)))
    modules, broken = build(dict(enumerate(item.program for item in items)), folder, variant)
    assert not broken, broken
    (folder / "package.json").write_text('{"type":"module"}')
    shutil.copyfile(HARNESS, folder / "harness.js")
    (folder / "modules.json").write_text(json.dumps([modules[n] for n in range(len(items))]))
    command = ["node", "--experimental-wasm-relaxed-simd", str(SCRIPT), str(folder), str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    times: list[float] = json.loads(done.stdout)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", default="simd")
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    rows = []
    for template in (item for item in templates("wasm") if item.step == "product"):
        for m, k, n in SIZES:
            operands = (
                rng.integers(0, 256, (m, k), np.uint8),
                rng.integers(-128, 128, (k, n), np.int8),
                np.array(120, np.uint8),
                np.array(0, np.int8),
            )
            pair = [prepared(Case(operands), chosen) for chosen in ((template,), ())]
            with tempfile.TemporaryDirectory() as temporary:
                fast, loops = measure(pair, Path(temporary), options.variant, options.rounds)
            speeds = [2 * m * k * n / (ms * 1e6) for ms in (fast, loops)]
            ratio = f"{fast / loops:.2f}"
            rows.append((template.name, f"{m}x{k}x{n}", *(f"{s:.0f}" for s in speeds), ratio))
    head = ("template", "size", "GOP/s", "loops", "time / loops")
    print(table(f"kernel templates, wasm {options.variant}", head, rows))


if __name__ == "__main__":
    main()
