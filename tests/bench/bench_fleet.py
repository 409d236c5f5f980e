"""Time the builds of 50 models on 1, 2 and 4 workers, and in one process without any; then the same bundles restored from their HTTP cache.

Run: python -m tests.bench.bench_fleet [MODELS] [WORKERS ...]

All workers are on this machine, so that no more is gained than it has processors. The models are convolutional networks of different widths, for every
backend; each run begins with empty caches. The table goes into docs/fleets.md.
"""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.build.fleets import scheduler, workers
from tests.build.remotes import nginx
from tests.build.tree import Tree, checkout, executed


def write_network(path: Path, width: int) -> None:
    """A small network for images of 32 x 32 pixels."""
    import keras

    keras.utils.set_random_seed(width)
    x = inputs = keras.Input((32, 32, 3))
    for stage in range(3):
        x = keras.layers.Conv2D(width << stage, 3, strides=2, padding="same", use_bias=False)(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
        x = keras.layers.SeparableConv2D(width << stage, 3, padding="same", activation="relu")(x)
    keras.Model(inputs, keras.layers.Dense(10, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x))).save(path)


def project(place: Path, models: int) -> Tree:
    """A checkout whose models are these networks, as files."""
    tree = checkout(place / "tree", place / "cache", toy=False)
    for folder in (tree.root / "models").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    for number in range(models):
        folder = tree.root / "models" / f"net{number:03d}"
        folder.mkdir()
        write_network(folder / "model.keras", 8 + number)
        (folder / "recipe.toml").write_text('source = "model.keras"\n')
    return tree


def built(tree: Tree, **environment: str) -> tuple[float, int]:
    """The seconds of a build, and the steps that ran."""
    before, begun = len(tree.log()), time.perf_counter()
    tree.doit("build", **environment)
    return time.perf_counter() - begun, executed(tree.log()[before:]).total()


def bundles(tree: Tree) -> dict[str, bytes]:
    return {path.relative_to(tree.root).as_posix(): path.read_bytes() for path in sorted((tree.root / "dist").rglob("*")) if path.is_file()}


def with_fleet(tree: Tree, place: Path, count: int, shared: str) -> float:
    others = [Tree(tree.root, place / f"cache-of-{number}", "") for number in range(count)]
    with scheduler(place / "scheduler") as address, workers(address, others, shared, processors=1):
        seconds, _ = built(
            tree, WEBKILN_EXECUTOR=address, WEBKILN_REMOTE_CACHE=shared, WEBKILN_CACHE_WRITE="1", WEBKILN_CACHE=str(place / "own")
        )
    return seconds


def restored(tree: Tree, place: Path, shared: str) -> float:
    seconds, steps = built(tree, WEBKILN_REMOTE_CACHE=shared, WEBKILN_CACHE=str(place / "fresh"))
    assert not steps, "something ran"
    return seconds


def main(models: int, counts: Sequence[int]) -> int:
    with TemporaryDirectory() as folder:
        tree = project(Path(folder), models)
        alone, steps = built(tree)
        expected = bundles(tree)
        print(f"{models} models, {steps} steps, {len(expected)} files, {os.cpu_count()} processors")
        print("| | seconds | | all bundles restored by another user, seconds |\n|---|---|---|---|")
        print(f"| this machine alone, `doit build` | {alone:.0f} | | |", flush=True)
        first = 0.0
        for count in counts:
            place = Path(folder) / str(count)
            place.mkdir()
            with nginx(place) as reached:
                shared = reached["WEBKILN_REMOTE_CACHE"]
                tree.wipe()
                seconds = with_fleet(tree, place, count, shared)
                assert bundles(tree) == expected, "other bytes"
                tree.wipe()
                again = restored(tree, place, shared)
                assert bundles(tree) == expected, "other bytes"
            first = first or seconds
            print(
                f"| {count} worker{'s' if count > 1 else ''} of 1 processor | {seconds:.0f} | {seconds / first:.2f} | {again:.1f} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    given = [int(text) for text in sys.argv[1:]]
    sys.exit(main(given[0] if given else 50, given[1:] or (1, 2, 4)))
