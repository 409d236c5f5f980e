"""Settings and fixtures of all tests."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import reaper
from tests.sampling import mark_long
from tests.warm import warm_workers
from webkiln.backends import compilers

# TensorFlow disables oneDNN on CPUs without AVX-512, where channels-first convolutions then fail.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# clang compiles a kernel in a tenth of the time of emcc, which starts Python first. Both call the
# same clang. tests/backends/test_compilers.py compares all compilers, and the commands of the
# documents use the default compiler.
if isinstance(compilers.usable("clang"), compilers.Compiler):
    os.environ.setdefault(compilers.VARIABLE, "clang")

# A shell that starts the tests in the background makes them ignore SIGINT. Child processes would
# inherit that, and tests end some of them with SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Modules of frameworks and collected tests are millions of permanent objects. Each full garbage
# collection of them takes a second, and a run had hundreds.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_long(items)


@pytest.fixture(scope="session", autouse=True)
def _warm_workers() -> Iterator[None]:
    with warm_workers():
        yield


def pytest_configure(config: pytest.Config) -> None:
    # the workers of pytest-xdist are descendants of the watched process
    if not hasattr(config, "workerinput"):
        watcher = reaper.start()
        assert watcher.stdin is not None
        config.add_cleanup(watcher.wait)
        config.add_cleanup(watcher.stdin.close)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that is new in each run of the tests and shared by all of its workers."""
    folder = tmp_path_factory.getbasetemp()
    return folder if worker_id == "master" else folder.parent
