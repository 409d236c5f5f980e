"""Time the restoration of a bundle from an HTTP cache, as a new process in a fresh checkout with an
empty cache. Compares the time with its bound.

Run: python -m tests.bench.bench_restore [MODEL]
"""

import resource
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.build.faulty_remote import faulty
from tests.build.tree import Tree, copy_checkout

MODEL = "mobilenetv2"
LATENCIES = (0.0, 0.1)
"""Seconds before the server answers a request."""
BOUND_SECONDS = 2.0
"""With the longest latency."""
RUNS = 3


def _checkout(folder: Path, name: str, model: str) -> Tree:
    checkout = copy_checkout(folder / name, folder / f"cache-of-{name}", toy=False)
    return replace(checkout, model=model)


def _processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(model: str = MODEL) -> int:
    build = ("build", f"model={model}", "weights=random")
    seconds = 0.0
    with TemporaryDirectory() as name, faulty() as server:
        folder, remote = Path(name), {"WEBKILN_REMOTE_CACHE": server.url}
        _checkout(folder, "writer", model).doit(*build, WEBKILN_CACHE_WRITE="1", **remote)
        for latency in LATENCIES:
            server.latency = latency
            runs = []
            for run in range(RUNS):
                reader = _checkout(folder, f"reader-{latency}-{run}", model)
                server.requests.clear()
                start, processor_seconds = time.perf_counter(), _processor_seconds()
                reader.doit(*build, **remote)
                runs.append((time.perf_counter() - start, _processor_seconds() - processor_seconds))
            seconds, processor_seconds = min(runs)
            entries = sum(" ac/" in line for line in server.requests)
            print(
                f"{model}, {1000 * latency:.0f} ms before each answer: {seconds:.2f} s,"
                f" {processor_seconds:.2f} s of processor time, {entries} requests for entries and"
                f" {len(server.requests) - entries} for files"
            )
    print(f"at most {BOUND_SECONDS} s with {1000 * LATENCIES[-1]:.0f} ms")
    return int(seconds > BOUND_SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
