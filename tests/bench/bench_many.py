"""Time the cost of many unchanged models, each command as a new process: a null build of 200
models, and the list of 10,000 tasks.

Run: python -m tests.bench.bench_many [MODELS]

The models are copies of digits with one encoding. The bounds are 1 s and 2 s.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.bench_build import seconds
from tests.build.tree import REPOSITORY, Tree, checkout
from webkiln.build.digests import STAMP_MARGIN_NS

NO_OP_SECONDS, LIST_SECONDS = 1.0, 2.0
TASKS = 10_000


def copy_models(tree: Tree, count: int) -> None:
    for folder in (tree.root / "models").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    for number in range(count):
        folder = tree.root / "models" / f"net{number:03d}"
        folder.mkdir()
        shutil.copyfile(REPOSITORY / "models" / "digits" / "digits.keras", folder / "model.keras")
        (folder / "recipe.toml").write_text('source = "model.keras"\n')


def main(count: int) -> int:
    with TemporaryDirectory() as temporary:
        tree = checkout(Path(temporary) / "tree", Path(temporary) / "cache", toy=False)
        copy_models(tree, count)
        first = seconds(lambda: tree.doit("build"))
        time.sleep(STAMP_MARGIN_NS / 1e9)
        second = seconds(lambda: tree.doit("build"))
        no_op = min(seconds(lambda: tree.doit("build")) for _ in range(5))
        startup = min(
            seconds(
                lambda: subprocess.run([sys.executable, "-c", "import doit.doit_cmd"], check=True)
            )
            for _ in range(5)
        )
        tasks = len(tree.doit("list", "--all").splitlines())
        list_seconds = (
            min(seconds(lambda: tree.doit("list", "--all")) for _ in range(5)) * TASKS / tasks
        )
    print(
        f"{count} models: built in {first:.0f} s, found up to date in {second:.1f} s, and then in"
        f" {no_op:.2f} s (at most {NO_OP_SECONDS:g})"
    )
    print(
        f"{tasks} tasks are listed in {list_seconds * tasks / TASKS:.2f} s, {TASKS} in"
        f" {list_seconds:.2f} s (at most {LIST_SECONDS:g}); importing doit takes {startup:.2f} s"
    )
    return int(no_op >= NO_OP_SECONDS or list_seconds >= LIST_SECONDS)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
