"""How close convolutions and matrix products come to the relaxed-SIMD peak of this machine, in
Chromium, side by side in one run, by each compiler.

    .venv/bin/python -m tests.bench.bench_kernels [--variant simd] [--compilers emcc,zig]

Each round times the peak loop (ten independent relaxed multiply-adds) and then every kernel of
every compiler, for about 30 ms each of the time that the page's thread has a processor, so that
other programs disturb little. The table shows medians over rounds of GFLOP/s and of the ratio to
the peak of the same round, for the first compiler. Of the others it shows how fast their code is,
1 being as fast as that of the first: the median of the ratios of the same round, behind the slash
the ratio of the best rounds, and how much larger their modules are, or that they are the same.
Sizes of tensors are run-time arguments: the column `kernel` shows what is shared.
"""

import argparse
import contextlib
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
from tests.bench.watched import family
from webkiln.backends import browsers, toolchain
from webkiln.backends.compilers import COMPILERS, Compiler, usable
from webkiln.backends.server import ISOLATED, Answer, Server
from webkiln.backends.wasm import TARGET
from webkiln.codegen.program import write_code
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import Type
from webkiln.ops.table import infer
from webkiln.program import program
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
    node = Node(op, ("x", "w"), ("y",), attrs, op)
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
    found: dict[str, tuple[Job, float]] = {}
    for size, channels, k, features, stride in CONVOLUTIONS:
        pad = {
            "strides": (stride, stride),
            "pad_low": (k // 2, k // 2),
            "pad_high": (k // 2, k // 2),
        }
        made = job("Conv", (1, size, size, channels), (k, k, channels, features), NHWC | pad)
        found[f"conv {k}x{k}/{stride} {channels}->{features} {size}x{size}"] = (
            made,
            2 * prod(made.graph.type("y").shape) * k * k * channels,
        )
    for size, channels, k, stride in DEPTHWISE:
        pad = {
            "strides": (stride, stride),
            "pad_low": (k // 2, k // 2),
            "pad_high": (k // 2, k // 2),
            "groups": channels,
        }
        made = job("Conv", (1, size, size, channels), (k, k, 1, channels), NHWC | pad)
        found[f"depthwise {k}x{k}/{stride} {channels} {size}x{size}"] = (
            made,
            2 * prod(made.graph.type("y").shape) * k * k,
        )
    for size, channels, k, features, stride in TRANSPOSED:
        low, high = k - 1 - (k - stride) // 2, stride + k - 2 - (k - 1 - (k - stride) // 2)
        spread = {
            "strides": (1, 1),
            "x_dilation": (stride, stride),
            "pad_low": (low, low),
            "pad_high": (high, high),
        }
        made = job("Conv", (1, size, size, channels), (k, k, channels, features), NHWC | spread)
        found[f"transposed {k}x{k}/{stride} {channels}->{features} {size}x{size}"] = (
            made,
            2 * size * size * k * k * channels * features,
        )
    for m, k, n in PRODUCTS:
        found[f"gemm {m}x{k}x{n}"] = (job("MatMul", (m, k), (k, n), {}), 2 * m * k * n)
    return found


def write_job(
    made: Job,
    folder: Path,
    variant: str,
    compilers: Mapping[str, Compiler],
) -> tuple[str, dict[str, bytes]]:
    """Everything the page needs to run one job; the main kernel's name, and the modules."""
    described = program(made.graph, TARGET, "float32")
    write_code(described, TEMPLATES, folder)
    sources = [*sorted((folder / "kernels").glob("*.c")), folder / "main.c"]
    objects = [source.with_suffix(".o") for source in sources]
    modules = {}
    for name, compiler in compilers.items():
        module = folder / f"{name}.wasm"
        toolchain.compile_objects(sources, objects, variant, compiler)
        toolchain.link(objects, module, compiler)
        modules[name] = module.read_bytes()
    weights = write(pieces(stored(made.graph), "float32"), made.weights.__getitem__)
    (folder / "weights.bin").write_bytes(next(weights))
    (folder / "x.bin").write_bytes(made.inputs["x"].tobytes())
    first = described["main"][0]
    return str(first.get("kernel") or [step["kernel"] for step in first["steps"]]), modules


def measure(variant: str, rounds: int, compilers: Mapping[str, Compiler]) -> dict[str, Any]:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        listed = []
        for number, (name, (made, flops)) in enumerate(jobs().items()):
            kernel, modules = write_job(made, folder / str(number), variant, compilers)
            digests = {name: sha256(module).hexdigest() for name, module in modules.items()}
            sizes = {name: len(module) for name, module in modules.items()}
            facts = {"kernel": kernel, "bytes": sizes, "digest": digests}
            listed.append({"name": name, "flops": flops, **facts})
        toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
        toolchain.link([folder / "peak.o"], folder / "peak.wasm")
        (folder / "bench.mjs").write_bytes((HERE / "bench_kernels.mjs").read_bytes())
        (folder / "index.html").write_text("<!doctype html><title>bench</title>")
        session = browsers.session("chromium")
        route = partial(clock, session)
        with Server({"/": folder}, headers=ISOLATED, route=route) as server:
            session.get(f"{server.url}/index.html")
            names = [*compilers]
            asked(session, "begin")
            for row in listed:
                asked(session, "prepare", row["flops"], names)
            turns = [number % len(names) for number in range(rounds)]
            found = [asked(session, "round", names[turn:] + names[:turn]) for turn in turns]
    return {"peak": median(one["peak"] for one in found), "rows": [*judged(listed, found, names)]}


SCRIPT = """
const [name, values, done] = arguments;
import('./bench.mjs')
  .then((bench) => bench[name](...values))
  .then(done, (error) => done({ error: String(error) }));
"""


def asked(session: WebDriver, name: str, *values: Any) -> Any:
    """What a function of the page returns."""
    result = session.execute_async_script(SCRIPT, name, values)
    if isinstance(result, dict) and "error" in result:
        raise RuntimeError(result["error"])
    return result


def judged(
    listed: Sequence[dict[str, Any]],
    found: Sequence[Mapping[str, Any]],
    names: Sequence[str],
) -> Iterator[dict[str, Any]]:
    """Each job with what its rounds come to."""
    for number, row in enumerate(listed):
        rates = [one["rates"][number] for one in found]
        ours = [rate[names[0]] for rate in rates]
        pairs = {name: [rate[name] / rate[names[0]] for rate in rates] for name in names}
        yield row | {
            "gflops": median(ours),
            "ratio": median(mine / one["peak"] for mine, one in zip(ours, found, strict=True)),
            "relative": {name: median(values) for name, values in pairs.items()},
            "best": {name: max(rate[name] for rate in rates) for name in names},
        }


def clock(session: WebDriver, path: str, body: bytes) -> Answer | None:
    """Milliseconds of a processor that the main threads of a browser's pages have had: all but the
    one that asks wait."""
    if path != "/clock":
        return None
    nanoseconds = 0
    for process in family(session.service.process.pid):
        place = Path(f"/proc/{process}")
        with contextlib.suppress(OSError):
            if b"--type=renderer" in (place / "cmdline").read_bytes():
                schedule = (place / "task" / str(process) / "schedstat").read_text()
                nanoseconds += int(schedule.split()[0])
    return 200, "text/plain", str(nanoseconds / 1e6).encode()


def table(result: Mapping[str, Any], compilers: Sequence[str]) -> None:
    first, *others = compilers
    rows = result["rows"]
    print(" " * 80 + "".join(f"{name:>22}" for name in others))
    for row in rows:
        ours = f"{row['gflops']:6.1f} GFLOP/s {100 * row['ratio']:5.1f} % of peak"
        theirs = " ".join(compared(row, name, first) for name in others)
        print(f"{row['name']:36} {ours} {row['bytes'][first]:6} bytes {theirs}   {row['kernel']}")
    for name in others:
        medians = geometric_mean(row["relative"][name] for row in rows)
        best = geometric_mean(row["best"][name] / row["best"][first] for row in rows)
        size = sum(row["bytes"][name] for row in rows) / sum(row["bytes"][first] for row in rows)
        same = sum(is_same(row, name, first) for row in rows)
        print(f"{name} / {first}, geometric means: {medians:.3f} (medians), {best:.3f} (the best)")
        print(f"  {size:.3f} in bytes, {same} of {len(rows)} modules the same")
        for row in rows:
            if abs(row["relative"][name] - 1) > 0.1:
                print(f"  more than 10 % apart: {row['name']}, {row['relative'][name]:.3f}")


def compared(row: Mapping[str, Any], name: str, first: str) -> str:
    """A job's code by one compiler beside that of the first."""
    more = f"{row['bytes'][name] - row['bytes'][first]:+6}"
    best = row["best"][name] / row["best"][first]
    size = "  same" if is_same(row, name, first) else more
    return f"{row['relative'][name]:7.3f} /{best:6.3f} {size}"


def is_same(row: Mapping[str, Any], name: str, first: str) -> bool:
    return bool(row["digest"][name] == row["digest"][first])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )  # fmt: skip
    parser.add_argument("--variant", choices=sorted(toolchain.VARIANT_FLAGS), default="relaxed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compilers", help="those compared, such as emcc,zig; default: all here")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    wanted = options.compilers.split(",") if options.compilers else [*COMPILERS]
    if unknown := {*wanted} - COMPILERS.keys():
        parser.error(f"no such compiler: {', '.join(sorted(unknown))}")
    here = {name: found for name in wanted if not isinstance(found := usable(name), str)}
    if options.compilers and here.keys() != {*wanted}:
        parser.error(f"not here: {', '.join(sorted({*wanted} - here.keys()))}")
    result = measure(options.variant, options.rounds, here)
    place = f"Chromium {browsers.version('chromium')}, variant {options.variant}"
    print(f"peak {result['peak']:.1f} GFLOP/s, {place}, {', '.join(map(str, here.values()))}")
    table(result, [*here])
    if options.json:
        options.json.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
