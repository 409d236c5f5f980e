"""Time a null build of digits, and a build of a wiped tree with a warm cache, each as a new
process. Compares both times with their bounds.

Run: python -m tests.bench.bench_build
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.build.models import MODELS
from tests.build.tree import checkout
from webkiln.build.digests import STAMP_MARGIN_NS

NO_OP_SECONDS = 0.5
REBUILD_SECONDS = 2.0


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> int:
    with TemporaryDirectory() as folder:
        tree = checkout(Path(folder) / "tree", Path(folder) / "cache", toy=MODELS["digits"].toy)
        build = ("build", f"model={tree.model}")
        tree.doit(*build)
        time.sleep(STAMP_MARGIN_NS / 1e9)
        tree.doit(*build)
        no_op = min(seconds(lambda: tree.doit(*build)) for _ in range(5))
        tree.wipe()
        rebuild = seconds(lambda: tree.doit(*build))
    print(
        f"nothing to do: {no_op:.2f} s (at most {NO_OP_SECONDS}); wiped tree, warm cache:"
        f" {rebuild:.2f} s (at most {REBUILD_SECONDS})"
    )
    return int(no_op >= NO_OP_SECONDS or rebuild >= REBUILD_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
