"""Crashes, damage and races cost work, never results."""

import random
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from tests.build.tree import Tree, checkout, executed, prebuilt, toy_bundle
from tests.sampling import representative


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _damage(tree: Tree, folder: str, damage: Callable[[Path], None]) -> None:
    for path in [
        path for path in (tree.cache / folder).rglob("*") if path.is_file() and path.stat().st_size
    ]:
        path.chmod(0o644)
        damage(path)


@pytest.mark.parametrize(
    ("wipe", "folder", "damage"),
    representative(
        product([True, False], ["actions", "blobs"], [_truncate, _flip, Path.unlink]),
        (True, "actions", _flip),
        (True, "blobs", Path.unlink),
        (False, "blobs", _truncate),
    ),
)
def test_damaged_cache_entries_are_misses(
    toy: Tree, damage: Callable[[Path], None], folder: str, wipe: bool
) -> None:
    prebuilt(toy)
    before = toy.bytes()
    _damage(toy, folder, damage)
    if wipe:
        toy.wipe()
    else:
        (toy.bundle / "manifest.json").unlink()
    toy.make()
    assert toy.bytes() == before


def test_a_fully_damaged_cache_misses_everything(tree: Tree) -> None:
    prebuilt(tree)
    before = tree.bytes()
    _damage(tree, "blobs", _flip)
    tree.wipe()
    assert tree.make()
    assert tree.bytes() == before


def test_a_damaged_blob_reruns_only_its_producer(tree: Tree) -> None:
    prebuilt(tree)
    published = next(path for path in tree.bundle.iterdir() if path.suffix == ".bin")
    shard = published.read_bytes()
    blob = next(
        path
        for path in (tree.cache / "blobs").rglob("*")
        if path.is_file() and path.read_bytes() == shard
    )
    blob.chmod(0o644)
    _flip(blob)
    published.unlink()
    assert {task.split(":")[0] for task in tree.make()} == {"pack"}


def clean(tree: Tree, folder: Path) -> dict[str, bytes]:
    """The bundle of a clean build."""
    if tree.model == "toy":
        return toy_bundle()
    other = checkout(folder / "clean", folder / "clean-cache", toy=False)
    other.build()
    return other.bytes()


def test_killing_at_random_times_loses_only_running_stages(tree: Tree, tmp_path: Path) -> None:
    moments = random.Random(7)
    kills = 0
    for _ in range(3):
        process = subprocess.Popen(
            tree.command("build", f"model={tree.model}"),
            cwd=tree.root,
            env=tree.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(moments.uniform(0.2, 0.8))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        else:
            break
    tree.build()
    counts = executed(tree.log())
    workers = 2 * (kills + 1)
    assert counts.total() - len(counts) <= workers * kills
    assert tree.bytes() == clean(tree, tmp_path)
    assert not [path for path in (tree.root / "dist").iterdir() if path.name.startswith(".")]


def test_two_builds_of_one_tree_at_once(tree: Tree) -> None:
    for _ in range(2):
        command = tree.command("build", f"model={tree.model}")
        processes = [
            subprocess.Popen(
                command,
                cwd=tree.root,
                env=tree.environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for _ in range(2)
        ]
        for process in processes:
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0, output
        assert not tree.build()
        tree.wipe()
    tree.build()
    assert tree.bytes()


def test_failures_are_not_cached_and_print_one_error(toy: Tree) -> None:
    model = toy.root / "models" / "toy" / "model.json"
    good = model.read_text()
    model.write_text(good[:20])
    for _ in range(2):
        output = toy.doit("build", "model=toy", status=2)
        assert "model: not a toy model" in output
        assert "Traceback" not in output
    assert not toy.bundle.exists()
    model.write_text(good)
    assert toy.build()["load:toy"] == 1


def test_a_defect_of_a_stage_shows_its_traceback(toy: Tree) -> None:
    toy.edit("stages/lower.py", "layers = ", "layers = 1 / 0 + ")
    output = toy.doit("build", "model=toy", status=1)
    assert "ZeroDivisionError" in output
    assert "please report" in output


def test_a_stage_must_write_all_declared_outputs(toy: Tree) -> None:
    toy.edit(
        "stages/link.py",
        'outputs["model.wasm"].write_bytes',
        '(outputs["model.wasm"].parent / "other").write_bytes',
    )
    assert "did not write its output model.wasm" in toy.doit("build", "model=toy", status=1)


def test_a_result_of_changing_inputs_is_not_stored(toy: Tree) -> None:
    toy.edit(
        "stages/fetch.py",
        'shutil.copyfile(inputs["source"]',
        'import time; time.sleep(1); shutil.copyfile(inputs["source"]',
    )
    process = subprocess.Popen(
        toy.command("build", "model=toy"),
        cwd=toy.root,
        env=toy.environment(),
        stdout=subprocess.DEVNULL,
    )
    while not executed(toy.log()):
        time.sleep(0.02)
    time.sleep(0.5)
    toy.edit("models/toy/model.json", "0.5", "0.75")
    assert process.wait(60) == 0
    assert executed(toy.log())["fetch:toy"] == 2
    assert b"0.75" in b"".join(toy.bytes().values())
