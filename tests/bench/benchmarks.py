"""Networks beside onnxruntime-web, LiteRT.js and TensorFlow.js, written to docs/benchmarks.md:
`make
bench`.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.benchmarks [resnet50 ...] [--rounds 6] [--threads 1,2]

The page has what this run measured and nothing else: medians of rounds in which the engines took
turns in one page of headless Chromium, and of visits to fresh pages (tests/bench/bench_first.py).
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.bench import bench_first
from tests.bench.bench_memory import renderer_peak
from tests.bench.bench_networks import RIVALS, SAME, errors, measure, measuring, prepare, ran
from tests.bench.bench_sizes import BUNDLE, sizes
from tests.bench.benchmarks_page import (
    EMPTY,
    FEWER,
    ORDER,
    OTHERS,
    PAGE,
    WEIGHTS,
    Result,
    draw,
    lead,
    page,
    ran_of,
)
from webkiln.backends import browsers

ELSEWHERE = ("mobilenetv2", "transformer")
"""What is measured on other backends than wasm, too, in fewer rounds."""
VISITED = ("webkiln", *RIVALS, "waterfall", "bytes")


def measured(name: str, threads: Sequence[int], rounds: int, visits: int) -> Result:
    """Everything about one network."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = prepare(name, ("wasm",), RIVALS, folder)
        runs = {}
        for count in threads:
            run = complete(measure(folder, {"backend": "wasm", "threads": count}, RIVALS, rounds))
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
        _, code = sizes([folder / "bundle" / file for file in BUNDLE])
        return {
            "runs": runs,
            "operations": json.loads((folder / "operations.json").read_text()),
            "data": data,
            "code": code,
            "memory": memory,
            "visits": bench_first.measure(folder, VISITED, None, visits),
        }


def complete(run: Result) -> Result:
    """RuntimeError where an engine did not run."""
    if run["refused"]:
        raise RuntimeError(
            "; ".join(f"{engine}: {reason}" for engine, reason in run["refused"].items())
        )
    return run


def elsewhere(name: str, rounds: int) -> dict[str, Result]:
    """The times of one network on each other backend than wasm."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        reference = prepare(name, OTHERS, RIVALS, folder)
        found = {
            backend: measure(folder, {"backend": backend, "threads": 1}, SAME[backend], rounds)
            for backend in OTHERS
        }
        for run in found.values():
            errors(name, run, reference)
        return found


def peak_memory(folder: Path, engine: str) -> int:
    """The peak in bytes of a new browser's renderer in which one engine has loaded the network and
    run it, with one thread, or of an `EMPTY` page.
    """
    browsers.session.cache_clear()
    with measuring(folder) as session:
        if engine != EMPTY:
            complete(ran(session, [engine], {"backend": "wasm", "threads": 1}, 1))
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
        results[name] = measured(name, threads, options.rounds, options.visits)
        print(
            name,
            {count: round(lead(run["times"]), 2) for count, run in results[name]["runs"].items()},
            flush=True,
        )
    found = {}
    for name in results:
        if name in ELSEWHERE:
            found[name] = elsewhere(name, max(options.rounds // FEWER, 1))
            print(
                name,
                {
                    backend: round(lead(run["times"], ran_of(run)), 2)
                    for backend, run in found[name].items()
                },
                flush=True,
            )
    draw(results, threads)
    PAGE.write_text(
        page(
            results,
            found,
            threads,
            options.rounds,
            options.visits,
            "make bench"
            + (f' networks="{" ".join(options.networks)}"' if options.networks else ""),
        )
    )


if __name__ == "__main__":
    main()
