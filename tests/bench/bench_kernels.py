"""Throughput of convolutions and matrix products in Chromium, compared with the relaxed-SIMD peak
of this machine and between compilers.

    .venv/bin/python -m tests.bench.bench_kernels [--variant simd] [--compilers emcc,zig]

Each round times the peak loop (ten independent relaxed multiply-adds) and then every kernel of
every compiler, each for about 30 ms of processor time of the page's main thread, so that other
programs disturb little. For the first compiler, the table shows the medians over rounds of GFLOP/s
and of the ratio to the peak of the same round. For each other compiler it shows the speed relative
to the first one (the median of the ratios within rounds, and after the slash the ratio of the best
rounds), and the difference of the module sizes, or `same` if the modules are equal. Sizes of
tensors are run-time arguments; the column `kernel` shows which jobs share a kernel.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from math import prod
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from selenium.webdriver.remote.webdriver import WebDriver

from tests.backends.harness import TEMPLATES, Job
from tests.bench.processes import milliseconds
from tests.programs import program, write_code
from webkiln.backends import browsers, toolchain
from webkiln.backends.compilers import COMPILERS, Compiler, usable
from webkiln.backends.server import ISOLATED, Answer, Server
from webkiln.backends.table import REGISTRY
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Type
from webkiln.ops.table import attributes_of, infer
from webkiln.weights.shards import pieces, stored, write

HERE = Path(__file__).parent
NHWC = {
    "x_dims": (0, 3, 1, 2),
    "w_dims": (3, 2, 0, 1),
    "out_dims": (0, 3, 1, 2),
    "dilation": (1, 1),
    "groups": 1,
}
CONVOLUTIONS = [
    # size, input channels, filter, features, stride
    (224, 3, 7, 64, 2),
    (224, 64, 3, 64, 1),
    (112, 128, 3, 128, 1),
    (56, 64, 3, 64, 1),
    (56, 64, 1, 256, 1),
    (28, 128, 3, 128, 1),
    (14, 256, 3, 256, 1),
    (7, 512, 3, 512, 1),
    (7, 2048, 1, 512, 1),
]
DEPTHWISE = [
    (112, 32, 3, 1),
    (112, 96, 3, 2),
    (56, 144, 3, 1),
    (28, 192, 3, 1),
    (14, 576, 3, 1),
    (7, 960, 3, 1),
]
TRANSPOSED = [(64, 128, 4, 64, 2), (16, 512, 4, 256, 2), (32, 256, 2, 128, 2), (56, 64, 3, 64, 2)]
PRODUCTS = [(256, 256, 256), (196, 256, 1024), (49, 512, 512)]


def job(op: str, x: tuple[int, ...], w: tuple[int, ...], attrs: dict[str, object]) -> Job:
    rng = np.random.default_rng(0)
    types = {"x": Type("float32", x), "w": Type("float32", w)}
    node = Node(op, ("x", "w"), ("y",), attributes_of(op, attrs), op)
    types["y"] = infer(node, [types["x"], types["w"]])[0]
    graph = Graph(
        op,
        (node,),
        {name: Variable(name, type_) for name, type_ in types.items()},
        ("x",),
        {"y": "y"},
        frozenset({"w"}),
    )
    return Job(
        graph,
        {"x": rng.standard_normal(x).astype(np.float32)},
        {"w": rng.standard_normal(w).astype(np.float32)},
    )


def jobs() -> dict[str, tuple[Job, float]]:
    """Name -> (job, floating-point operations of a run)."""
    results: dict[str, tuple[Job, float]] = {}
    for size, channels, k, features, stride in CONVOLUTIONS:
        pad = {
            "strides": (stride, stride),
            "pad_low": (k // 2, k // 2),
            "pad_high": (k // 2, k // 2),
        }
        layer_job = job("Conv", (1, size, size, channels), (k, k, channels, features), NHWC | pad)
        results[f"conv {k}x{k}/{stride} {channels}->{features} {size}x{size}"] = (
            layer_job,
            2 * prod(layer_job.graph.type("y").shape) * k * k * channels,
        )
    for size, channels, k, stride in DEPTHWISE:
        pad = {
            "strides": (stride, stride),
            "pad_low": (k // 2, k // 2),
            "pad_high": (k // 2, k // 2),
            "groups": channels,
        }
        layer_job = job("Conv", (1, size, size, channels), (k, k, 1, channels), NHWC | pad)
        results[f"depthwise {k}x{k}/{stride} {channels} {size}x{size}"] = (
            layer_job,
            2 * prod(layer_job.graph.type("y").shape) * k * k,
        )
    for size, channels, k, features, stride in TRANSPOSED:
        low, high = k - 1 - (k - stride) // 2, stride + k - 2 - (k - 1 - (k - stride) // 2)
        spread = {
            "strides": (1, 1),
            "x_dilation": (stride, stride),
            "pad_low": (low, low),
            "pad_high": (high, high),
        }
        layer_job = job(
            "Conv", (1, size, size, channels), (k, k, channels, features), NHWC | spread
        )
        results[f"transposed {k}x{k}/{stride} {channels}->{features} {size}x{size}"] = (
            layer_job,
            2 * size * size * k * k * channels * features,
        )
    for m, k, n in PRODUCTS:
        results[f"gemm {m}x{k}x{n}"] = (job("MatMul", (m, k), (k, n), {}), 2 * m * k * n)
    return results


def write_job(
    layer_job: Job,
    folder: Path,
    variant: str,
    compilers: Mapping[str, Compiler],
) -> tuple[str, dict[str, bytes]]:
    """Write the files with which the page runs a job. Returns the name of the main kernel and the
    module of each compiler.
    """
    layer_program = program(layer_job.graph, REGISTRY["wasm"])
    write_code(layer_program, TEMPLATES, folder)
    sources = [*sorted((folder / "kernels").glob("*.c")), folder / "main.c"]
    objects = [source.with_suffix(".o") for source in sources]
    modules = {}
    for name, compiler in compilers.items():
        module = folder / f"{name}.wasm"
        toolchain.compile_objects(sources, objects, variant, compiler)
        toolchain.link(objects, module, compiler)
        modules[name] = module.read_bytes()
    weights = write(pieces(stored(layer_job.graph), "float32"), layer_job.weights.__getitem__)
    (folder / "weights.bin").write_bytes(next(weights))
    (folder / "x.bin").write_bytes(layer_job.inputs["x"].tobytes())
    first = layer_program["main"][0]
    return str(first.get("kernel") or [step["kernel"] for step in first["steps"]]), modules


def measure(variant: str, rounds: int, compilers: Mapping[str, Compiler]) -> dict[str, Any]:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        rows = []
        for number, (name, (layer_job, flops)) in enumerate(jobs().items()):
            kernel, modules = write_job(layer_job, folder / str(number), variant, compilers)
            digests = {name: sha256(module).hexdigest() for name, module in modules.items()}
            sizes = {name: len(module) for name, module in modules.items()}
            facts = {"kernel": kernel, "bytes": sizes, "digest": digests}
            rows.append({"name": name, "flops": flops, **facts})
        toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
        toolchain.link([folder / "peak.o"], folder / "peak.wasm")
        (folder / "bench.mjs").write_bytes((HERE / "bench_kernels.mjs").read_bytes())
        (folder / "index.html").write_text("<!doctype html><title>bench</title>")
        session = browsers.session("chromium")
        route = partial(clock, session)
        with Server({"/": folder}, headers=ISOLATED, route=route) as server:
            session.get(f"{server.url}/index.html")
            names = [*compilers]
            call(session, "begin")
            for row in rows:
                call(session, "prepare", row["flops"], names)
            shifts = [number % len(names) for number in range(rounds)]
            results = [call(session, "round", names[shift:] + names[:shift]) for shift in shifts]
    return {
        "peak": median(result["peak"] for result in results),
        "rows": [*summarise(rows, results, names)],
    }


SCRIPT = """
const [name, values, done] = arguments;
import('./bench.mjs')
  .then((bench) => bench[name](...values))
  .then(done, (error) => done({ error: String(error) }));
"""


def call(session: WebDriver, name: str, *values: Any) -> Any:
    """Call a function of the page. Returns its result."""
    result = session.execute_async_script(SCRIPT, name, values)
    if isinstance(result, dict) and "error" in result:
        raise RuntimeError(result["error"])
    return result


def summarise(
    rows: Sequence[dict[str, Any]],
    results: Sequence[Mapping[str, Any]],
    names: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Each job with the summary of its rounds."""
    for number, row in enumerate(rows):
        rates = [result["rates"][number] for result in results]
        ours = [rate[names[0]] for rate in rates]
        pairs = {name: [rate[name] / rate[names[0]] for rate in rates] for name in names}
        yield row | {
            "gflops": median(ours),
            "ratio": median(
                rate / result["peak"] for rate, result in zip(ours, results, strict=True)
            ),
            "relative": {name: median(values) for name, values in pairs.items()},
            "best": {name: max(rate[name] for rate in rates) for name in names},
        }


def clock(session: WebDriver, path: str, body: bytes) -> Answer | None:
    """Answer `/clock` with the processor time in milliseconds of the main threads of the browser's
    pages. All pages but the requesting one are idle.
    """
    if path != "/clock":
        return None
    spent = milliseconds(session.service.process.pid, "renderer", main_only=True)
    return 200, "text/plain", str(spent).encode()


def table(result: Mapping[str, Any], compilers: Sequence[str]) -> None:
    first, *others = compilers
    rows = result["rows"]
    print(" " * 80 + "".join(f"{name:>22}" for name in others))
    for row in rows:
        ours = f"{row['gflops']:6.1f} GFLOP/s {100 * row['ratio']:5.1f} % of peak"
        theirs = " ".join(compare(row, name, first) for name in others)
        print(f"{row['name']:36} {ours} {row['bytes'][first]:6} bytes {theirs}   {row['kernel']}")
    for name in others:
        medians = geometric_mean(row["relative"][name] for row in rows)
        best = geometric_mean(row["best"][name] / row["best"][first] for row in rows)
        size = sum(row["bytes"][name] for row in rows) / sum(row["bytes"][first] for row in rows)
        equal = sum(is_equal(row, name, first) for row in rows)
        print(f"{name} / {first}, geometric means: {medians:.3f} (medians), {best:.3f} (the best)")
        print(f"  {size:.3f} in bytes, {equal} of {len(rows)} equal modules")
        for row in rows:
            if abs(row["relative"][name] - 1) > 0.1:
                print(f"  more than 10 % different: {row['name']}, {row['relative'][name]:.3f}")


def compare(row: Mapping[str, Any], name: str, first: str) -> str:
    """A job's code by one compiler, compared with that of the first compiler."""
    difference = f"{row['bytes'][name] - row['bytes'][first]:+6}"
    best = row["best"][name] / row["best"][first]
    size = "  same" if is_equal(row, name, first) else difference
    return f"{row['relative'][name]:7.3f} /{best:6.3f} {size}"


def is_equal(row: Mapping[str, Any], name: str, first: str) -> bool:
    return bool(row["digest"][name] == row["digest"][first])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    parser.add_argument("--variant", choices=sorted(toolchain.VARIANT_FLAGS), default="relaxed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compilers", help="such as emcc,zig; default: all that are installed")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    requested = options.compilers.split(",") if options.compilers else [*COMPILERS]
    if unknown := {*requested} - COMPILERS.keys():
        parser.error(f"no such compiler: {', '.join(sorted(unknown))}")
    available = {
        name: compiler for name in requested if not isinstance(compiler := usable(name), str)
    }
    if options.compilers and available.keys() != {*requested}:
        parser.error(f"not installed: {', '.join(sorted({*requested} - available.keys()))}")
    result = measure(options.variant, options.rounds, available)
    setting = f"Chromium {browsers.version('chromium')}, variant {options.variant}"
    print(
        f"peak {result['peak']:.1f} GFLOP/s, {setting}, {', '.join(map(str, available.values()))}"
    )
    table(result, [*available])
    if options.json:
        options.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
