"""Time builds of many models by fleets, as far as two processors allow, and predict those on
machines
of their own.

Run: python -m tests.bench.bench_fleet [MODELS]

The models are convolutional networks of different widths, for the usual backends; each run begins
with empty caches of results. On processor 0 are the user's machine, the scheduler and the cache
(nginx); on processor 1 is a worker, and in the third run a second one is on processor 0. The run
with one worker is recorded; simulations of both (tests/bench/simulated.py) tell how good a
prediction is, and one of four workers with a processor each, with transfers at 100 MB/s, what a
fleet gains. Where other programs use the processors, only their time counts: it is what is
predicted. The table goes into docs/fleets.md.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.simulated import Message, Recording, simulate
from tests.bench.watched import family, ticks
from tests.build.fleets import START_SECONDS, scheduler, started_worker
from tests.build.remotes import nginx
from tests.build.tree import REPOSITORY, Tree, checkout, executed

RECORDED = Path(__file__).with_name("recorded.py")
TICKS = os.sysconf("SC_CLK_TCK")


def write_network(path: Path, width: int) -> None:
    """A small network for images of 32 x 32 pixels."""
    import keras

    keras.utils.set_random_seed(width)
    x = inputs = keras.Input((32, 32, 3))
    for stage in range(3):
        x = keras.layers.Conv2D(width << stage, 3, strides=2, padding="same", use_bias=False)(x)
        x = keras.layers.ReLU()(keras.layers.BatchNormalization()(x))
        x = keras.layers.SeparableConv2D(width << stage, 3, padding="same", activation="relu")(x)
    keras.Model(
        inputs,
        keras.layers.Dense(10, activation="softmax")(keras.layers.GlobalAveragePooling2D()(x)),
    ).save(path)


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


@dataclass(frozen=True, slots=True)
class Build:
    """`busy`: the processor time of the user's machine."""

    seconds: float
    busy: float
    steps: int


def built(tree: Tree, cache: Path, command: Sequence[str], **environment: str) -> Build:
    """A build by a user who has webkiln's own files in the cache, and nothing else."""
    tree.wipe()
    cache.mkdir(parents=True)
    shutil.copy(tree.cache / "derived.json", cache)
    begun = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=tree.root,
        env=tree.environment(**environment, WEBKILN_CACHE=str(cache)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    told = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, told
    assert "warning:" not in told, told
    return Build(
        time.perf_counter() - begun, used.ru_utime + used.ru_stime, executed(tree.log()).total()
    )


def bundles(tree: Tree) -> dict[str, bytes]:
    return {
        path.relative_to(tree.root).as_posix(): path.read_bytes()
        for path in sorted((tree.root / "dist").rglob("*"))
        if path.is_file()
    }


def with_fleet(tree: Tree, place: Path, processors: Sequence[int]) -> tuple[Build, Recording]:
    """A build by workers on these processors, and what the first of them recorded."""
    place.mkdir()
    path = f"{tree.root / 'pipeline'}{os.pathsep}{REPOSITORY}"
    with nginx(place) as reached, scheduler(place / "scheduler") as address:
        shared = reached["WEBKILN_REMOTE_CACHE"]
        found = [
            started_worker(
                address,
                Tree(tree.root, place / f"cache-of-{number}", ""),
                shared,
                [
                    "taskset",
                    "-c",
                    str(processor),
                    sys.executable,
                    str(RECORDED),
                    str(place / f"worker-{number}"),
                ],
                processors=1,
                PYTHONPATH=path,
            )
            for number, processor in enumerate(processors)
        ]
        for worker in found:
            assert worker.offers.wait(START_SECONDS), "".join(worker.said)
        time.sleep(5)
        others = (
            family(os.getpid())
            - {os.getpid()}
            - {pid for worker in found for pid in family(worker.process.pid)}
        )
        served = sum(map(ticks, others))
        client = [sys.executable, str(RECORDED), str(place / "client"), "doit", "build"]
        fleet = {
            "WEBKILN_EXECUTOR": address,
            "WEBKILN_REMOTE_CACHE": shared,
            "WEBKILN_CACHE_WRITE": "1",
        }
        build = built(tree, place / "own", client, **fleet, PYTHONPATH=path)
        serving = (sum(map(ticks, others)) - served) / TICKS
        for worker in found:
            worker.end()
    messages = tuple(_message(row) for row in _rows(place / "worker-0"))
    before = next(row["first"] for row in _rows(place / "client"))
    return build, Recording(
        messages, before, (build.busy - before) / build.steps, serving / max(1, len(messages))
    )


def _rows(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _message(row: Mapping[str, object]) -> Message:
    tasks, seconds, blobs, size = (row[name] for name in ("tasks", "seconds", "blobs", "bytes"))
    assert isinstance(tasks, list)
    return Message(tuple(tasks), float(str(seconds)), int(str(blobs)), int(str(size)))


def main(models: int) -> int:
    os.sched_setaffinity(0, {0})
    with TemporaryDirectory() as folder:
        tree = project(Path(folder), models)
        alone = built(tree, Path(folder) / "alone", [*tree.command("-n", "1", "build")])
        expected = bundles(tree)
        print(f"{models} models, {alone.steps} steps, {len(expected)} files")
        print(
            "| | seconds | processor time of the user's machine | predicted | of the time alone"
            " |\n|---|---|---|---|---|"
        )
        print(
            f"| this machine alone, 1 processor | {alone.seconds:.0f} | {alone.busy:.0f} | |"
            " 1.00 |",
            flush=True,
        )
        one, recording = with_fleet(tree, Path(folder) / "1", [1])
        assert bundles(tree) == expected, "other bytes"
        predicted = simulate(recording, [1], network=False)
        print(
            f"| 1 worker | {one.seconds:.0f} | {one.busy:.0f} | {predicted:.0f} |"
            f" {predicted / alone.busy:.2f} |",
            flush=True,
        )
        two, _ = with_fleet(tree, Path(folder) / "2", [1, 0])
        assert bundles(tree) == expected, "other bytes"
        predicted = simulate(recording, [1, 0], network=False)
        print(
            f"| 2 workers, one of them beside the build | {two.seconds:.0f} | {two.busy:.0f} |"
            f" {predicted:.0f} | {predicted / alone.busy:.2f} |",
            flush=True,
        )
        for count in (1, 2, 4, 8):
            predicted = simulate(recording, range(1, count + 1))
            print(
                f"| machines with 1 processor: {count} | | | {predicted:.0f} |"
                f" {predicted / alone.busy:.2f} |"
            )
        busy = sum(message.seconds for message in recording.messages)
        print(
            f"recorded: {len(recording.messages)} messages, {busy:.1f} s of the worker's processor,"
            f" {sum(m.bytes for m in recording.messages) / 1e6:.0f} MB in"
            f" {sum(m.blobs for m in recording.messages)} transfers; the user's machine"
            f" {recording.before:.1f} s before the first, {recording.step * 1e3:.0f} ms a step, and"
            f" {recording.message * 1e3:.0f} ms a message for the scheduler and the cache"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 30))
