"""Time the restoration of a bundle from an HTTP cache, as a whole process in a fresh checkout with
an
empty cache, against its bound.

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
"""With the longest of them."""
RUNS = 3


def _checkout(folder: Path, name: str, model: str) -> Tree:
    checkout = copy_checkout(folder / name, folder / f"cache-of-{name}", toy=False)
    return replace(checkout, model=model)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
                server.asked.clear()
                begun, used = time.perf_counter(), _processor_seconds()
                reader.doit(*build, **remote)
                runs.append((time.perf_counter() - begun, _processor_seconds() - used))
            seconds, used = min(runs)
            entries = sum(" ac/" in line for line in server.asked)
            print(
                f"{model}, {1000 * latency:.0f} ms before each answer: {seconds:.2f} s, {used:.2f}"
                f" s of them on the processor, by {entries} requests for entries and"
                f" {len(server.asked) - entries} for files"
            )
    print(f"at most {BOUND_SECONDS} s with {1000 * LATENCIES[-1]:.0f} ms")
    return int(seconds > BOUND_SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
