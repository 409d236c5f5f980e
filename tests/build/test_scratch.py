"""Scratch folders of running processes survive a sweep of the cache at any age."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from webkiln.build.cache import ActionCache
from webkiln.build.executor import Job, LocalPool
from webkiln.build.sandbox import sandbox
from webkiln.build.scratch import Scratch
from webkiln.build.share import share

OLD = 1.0e9
HOLDER = """
import sys, time
from pathlib import Path
from webkiln.build.scratch import Scratch
scratch = Scratch(Path(sys.argv[1]), "home-")
print(scratch.folder, flush=True)
time.sleep(600)
"""
STAGE = """
from pathlib import Path
def run(inputs, outputs, params):
    outputs["home"].write_text(str(Path.home().is_dir()))
"""


@pytest.fixture
def cache(tmp_path: Path) -> ActionCache:
    return ActionCache(tmp_path / "cache")


@pytest.fixture
def sweep(cache: ActionCache) -> Callable[[], None]:
    """Sweep as if everything were older than the grace period."""

    def run() -> None:
        for path in cache.sandboxes.glob("*"):
            os.utime(path, (OLD, OLD))
        cache.gc()

    return run


def test_a_folder_is_preserved_while_its_process_runs(
    cache: ActionCache, sweep: Callable[[], None]
) -> None:
    environment = os.environ | {"PYTHONPATH": str(share().package.parent)}
    command = [sys.executable, "-c", HOLDER, str(cache.sandboxes)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        sweep()
        assert folder.is_dir()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert folder.is_dir(), "no process was left to remove it"
    sweep()
    assert list(cache.sandboxes.iterdir()) == []


def test_an_old_worker_retains_its_folder(
    cache: ActionCache, sweep: Callable[[], None], tmp_path: Path
) -> None:
    (tmp_path / "stage.py").write_text(STAGE)
    pool = LocalPool(share().package.parent, 1, cache.sandboxes)
    for iteration in range(2):
        pool.execute(
            Job(
                "home",
                tmp_path / "stage.py",
                {},
                {"home": tmp_path / f"home{iteration}"},
                {},
                {},
                60,
            )
        )
        sweep()
        assert (tmp_path / f"home{iteration}").read_text() == "True"
    assert len(list(cache.sandboxes.glob("home-*"))) == 2, "the folder and its lock"
    pool.close()
    assert list(cache.sandboxes.iterdir()) == []


def test_an_old_sandbox_is_preserved(cache: ActionCache, sweep: Callable[[], None]) -> None:
    with sandbox(cache.sandboxes) as folder:
        sweep()
        assert folder.is_dir()
    assert list(cache.sandboxes.iterdir()) == []


def test_an_unlocked_old_folder_is_swept(cache: ActionCache, sweep: Callable[[], None]) -> None:
    cache.sandboxes.mkdir(parents=True)
    (cache.sandboxes / "7-abc").mkdir()
    (cache.sandboxes / "8-abc.lock").touch()
    cache.gc()
    assert sorted(path.name for path in cache.sandboxes.iterdir()) == ["7-abc", "8-abc.lock"]
    sweep()
    assert list(cache.sandboxes.iterdir()) == []


def test_a_folder_without_references_is_removed(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "x")
    folder = scratch.folder
    del scratch
    assert not folder.exists()
    assert list((tmp_path / "x").iterdir()) == []
