"""Time the restoration of a bundle from a remote cache, as a whole process in a checkout with an empty cache, with and without latency.

Run: python -m tests.bench.bench_restore [MODEL]
"""

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.build.remotes import faulty
from tests.build.tree import Tree, copied

MODEL = "mobilenetv2"
LATENCIES = (0.0, 0.1)
"""Seconds that the server waits before it answers a request."""
SECONDS = 2.0
"""What a restoration may take with the longest of them."""
RUNS = 3


def _fresh(folder: Path, name: str, model: str) -> Tree:
    root, cache, _ = copied(folder / name, folder / f"cache-of-{name}", toy=False)
    return Tree(root, cache, model)


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(model: str = MODEL) -> int:
    build = ("build", f"model={model}", "weights=random")
    best = 0.0
    with TemporaryDirectory() as name, faulty() as server:
        folder, remote = Path(name), {"WEBKILN_REMOTE_CACHE": server.url}
        _fresh(folder, "writer", model).doit(*build, WEBKILN_CACHE_WRITE="1", **remote)
        for latency in LATENCIES:
            server.latency = latency
            taken = []
            for run in range(RUNS):
                reader = _fresh(folder, f"reader-{latency}-{run}", model)
                server.asked.clear()
                begun, used = time.perf_counter(), _processor_seconds()
                reader.doit(*build, **remote)
                taken.append((time.perf_counter() - begun, _processor_seconds() - used))
            best, used = min(taken)
            entries = sum(" ac/" in line for line in server.asked)
            print(
                f"{model}, {latency * 1000:.0f} ms for each request: {best:.2f} s, of which {used:.2f} s of processor time; "
                f"{entries} entries and {len(server.asked) - entries} files asked for"
            )
    return int(best > SECONDS)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
