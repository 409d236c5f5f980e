"""Compares networks with onnxruntime-web, LiteRT.js and TensorFlow.js, and writes
docs/benchmarks.md: `make bench`.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.benchmarks [resnet50 ...] [--rounds 6] [--threads 1,2]

The page contains only measurements of this run: medians of rounds in which the engines alternate in
one page of headless Chromium, and of visits to fresh pages (tests/bench/bench_first.py).
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.bench import bench_first
from tests.bench.bench_memory import renderer_peak
from tests.bench.bench_networks import (
    COMPARABLE,
    RIVALS,
    bench_page,
    errors,
    measure,
    prepare,
    run_page,
)
from tests.bench.bench_sizes import BUNDLE, sizes
from tests.bench.benchmarks_page import (
    EMPTY,
    FEWER,
    ORDER,
    OTHERS,
    PAGE,
    WEIGHTS,
    Result,
    completed_engines,
    draw,
    page,
    speedup,
)
from webkiln.backends import browsers

ON_ALL_BACKENDS = ("mobilenetv2", "transformer")
"""Networks that are also measured on other backends than wasm, in fewer rounds."""
VISITED = ("webkiln", *RIVALS, "waterfall", "bytes")


def measure_network(name: str, threads: Sequence[int], rounds: int, visits: int) -> Result:
    """All measurements of one network."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = prepare(name, ("wasm",), RIVALS, folder)
        runs = {}
        for count in threads:
            run = require_complete(
                measure(folder, {"backend": "wasm", "threads": count}, RIVALS, rounds)
            )
            runs[count] = {
                "times": run["times"],
                "peak": float(np.median(run["peaks"])),
                "errors": errors(name, run, reference),
            }
        memory = {engine: peak_memory(folder, engine) for engine in ("webkiln", *RIVALS, EMPTY)}
        shards = json.loads((folder / "bundle" / "manifest.json").read_text())["shards"]
        data = {"webkiln": sum(shard["bytes"] for shard in shards)} | {
            engine: (folder / file).stat().st_size for engine, file in WEIGHTS.items()
        }
        _, code = sizes([folder / "bundle" / file for file in BUNDLE["wasm"]])
        return {
            "runs": runs,
            "operations": json.loads((folder / "operations.json").read_text()),
            "data": data,
            "code": code,
            "memory": memory,
            "visits": bench_first.measure(folder, VISITED, None, visits),
        }


def require_complete(run: Result) -> Result:
    """Return the result. Raises RuntimeError if an engine did not run."""
    if run["refused"]:
        raise RuntimeError(
            "; ".join(f"{engine}: {reason}" for engine, reason in run["refused"].items())
        )
    return run


def measure_other_backends(name: str, rounds: int) -> dict[str, Result]:
    """The times of one network on each backend other than wasm."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = prepare(name, OTHERS, RIVALS, folder)
        results_of_others = {
            backend: measure(
                folder, {"backend": backend, "threads": 1}, COMPARABLE[backend], rounds
            )
            for backend in OTHERS
        }
        for run in results_of_others.values():
            errors(name, run, reference)
        return results_of_others


def peak_memory(folder: Path, engine: str) -> int:
    """The peak memory in bytes of a new browser's renderer in which one engine has loaded the
    network and run it with one thread, or of an `EMPTY` page.
    """
    browsers.session.cache_clear()
    with bench_page(folder) as session:
        if engine != EMPTY:
            require_complete(
                run_page(
                    session,
                    [{"name": engine, "engine": engine}],
                    {"backend": "wasm", "threads": 1},
                    1,
                )
            )
        peak = renderer_peak(session)
        session.quit()
    browsers.session.cache_clear()
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(ORDER))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--visits", type=int, default=3)
    options = parser.parse_args()
    threads = [int(count) for count in options.threads.split(",")]
    results = {}
    for name in options.networks or ORDER:
        results[name] = measure_network(name, threads, options.rounds, options.visits)
        print(
            name,
            {
                count: round(speedup(run["times"]), 2)
                for count, run in results[name]["runs"].items()
            },
            flush=True,
        )
    results_of_others = {}
    for name in results:
        if name in ON_ALL_BACKENDS:
            results_of_others[name] = measure_other_backends(name, max(options.rounds // FEWER, 1))
            print(
                name,
                {
                    backend: round(speedup(run["times"], completed_engines(run)), 2)
                    for backend, run in results_of_others[name].items()
                },
                flush=True,
            )
    draw(results, threads)
    PAGE.write_text(
        page(
            results,
            results_of_others,
            threads,
            options.rounds,
            options.visits,
            "make bench"
            + (f' networks="{" ".join(options.networks)}"' if options.networks else ""),
        )
    )


if __name__ == "__main__":
    main()
