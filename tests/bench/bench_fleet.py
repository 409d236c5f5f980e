"""Time builds of many models by fleets on two processors, and predict those of separate machines.

Run: python -m tests.bench.bench_fleet [MODELS]

The models are convolutional networks of different widths, for the usual backends. Each run begins
with empty caches of results. The user's machine, the scheduler and the cache (nginx) share
processor 0. A worker runs on processor 1; in the third run, a second worker runs on processor 0.
The run with one worker is recorded. Simulations of both runs (tests/bench/simulation.py) show how
accurate the prediction is. Further simulations, of workers with one processor each and transfers at
100 MB/s, predict the gain of a fleet. If other programs use the processors, compare the predicted
times, which depend only on processor time. The table is copied into docs/fleets.md.
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

from tests.bench.processes import family, ticks
from tests.bench.simulation import Message, Recording, simulate
from tests.build.fleets import START_SECONDS, scheduler, start_worker
from tests.build.remotes import nginx
from tests.build.tree import REPOSITORY, Tree, checkout, executed

RECORDER = Path(__file__).with_name("recorder.py")
TICKS = os.sysconf("SC_CLK_TCK")


def write_network(path: Path, width: int) -> None:
    """Save a small network for images of 32 x 32 pixels."""
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


def project(folder: Path, models: int) -> Tree:
    """A checkout with `models` of these networks as model files."""
    tree = checkout(folder / "tree", folder / "cache", toy=False)
    for model in (tree.root / "models").iterdir():
        if model.is_dir():
            shutil.rmtree(model)
    for number in range(models):
        model = tree.root / "models" / f"net{number:03d}"
        model.mkdir()
        write_network(model / "model.keras", 8 + number)
        (model / "recipe.toml").write_text('source = "model.keras"\n')
    return tree


@dataclass(frozen=True, slots=True)
class Build:
    """`busy`: the processor time of the user's machine in seconds."""

    seconds: float
    busy: float
    steps: int


def run_build(tree: Tree, cache: Path, command: Sequence[str], **environment: str) -> Build:
    """Build as a user whose cache has only the imports of webkiln's own files."""
    tree.wipe()
    cache.mkdir(parents=True)
    shutil.copy(tree.cache / "derived.json", cache)
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=tree.root,
        env=tree.environment(**environment, WEBKILN_CACHE=str(cache)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, output
    assert "warning:" not in output, output
    return Build(
        time.perf_counter() - start, usage.ru_utime + usage.ru_stime, executed(tree.log()).total()
    )


def bundles(tree: Tree) -> dict[str, bytes]:
    return {
        path.relative_to(tree.root).as_posix(): path.read_bytes()
        for path in sorted((tree.root / "dist").rglob("*"))
        if path.is_file()
    }


def build_with_fleet(
    tree: Tree, folder: Path, processors: Sequence[int]
) -> tuple[Build, Recording]:
    """Build with workers on these processors. Returns the build, and the recording of the first
    worker.
    """
    folder.mkdir()
    path = f"{tree.root / 'pipeline'}{os.pathsep}{REPOSITORY}"
    with nginx(folder) as remote, scheduler(folder / "scheduler") as address:
        shared = remote["WEBKILN_REMOTE_CACHE"]
        workers = [
            start_worker(
                address,
                Tree(tree.root, folder / f"cache-of-{number}", ""),
                shared,
                [
                    "taskset",
                    "-c",
                    str(processor),
                    sys.executable,
                    str(RECORDER),
                    str(folder / f"worker-{number}"),
                ],
                processors=1,
                PYTHONPATH=path,
            )
            for number, processor in enumerate(processors)
        ]
        for worker in workers:
            assert worker.offers.wait(START_SECONDS), "".join(worker.output)
        time.sleep(5)
        server_processes = (
            family(os.getpid())
            - {os.getpid()}
            - {pid for worker in workers for pid in family(worker.process.pid)}
        )
        ticks_before = sum(map(ticks, server_processes))
        client = [sys.executable, str(RECORDER), str(folder / "client"), "doit", "build"]
        fleet = {
            "WEBKILN_EXECUTOR": address,
            "WEBKILN_REMOTE_CACHE": shared,
            "WEBKILN_CACHE_WRITE": "1",
        }
        build = run_build(tree, folder / "own", client, **fleet, PYTHONPATH=path)
        serving_seconds = (sum(map(ticks, server_processes)) - ticks_before) / TICKS
        for worker in workers:
            worker.end()
    messages = tuple(_message(row) for row in _rows(folder / "worker-0"))
    client_seconds = next(row["first"] for row in _rows(folder / "client"))
    return build, Recording(
        messages,
        client_seconds,
        (build.busy - client_seconds) / build.steps,
        serving_seconds / max(1, len(messages)),
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
        alone = run_build(tree, Path(folder) / "alone", [*tree.command("-n", "1", "build")])
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
        one, recording = build_with_fleet(tree, Path(folder) / "1", [1])
        assert bundles(tree) == expected, "other bytes"
        predicted = simulate(recording, [1], network=False)
        print(
            f"| 1 worker | {one.seconds:.0f} | {one.busy:.0f} | {predicted:.0f} |"
            f" {predicted / alone.busy:.2f} |",
            flush=True,
        )
        two, _ = build_with_fleet(tree, Path(folder) / "2", [1, 0])
        assert bundles(tree) == expected, "other bytes"
        predicted = simulate(recording, [1, 0], network=False)
        print(
            f"| 2 workers, one of them on the processor of the build | {two.seconds:.0f} |"
            f" {two.busy:.0f} | {predicted:.0f} | {predicted / alone.busy:.2f} |",
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
