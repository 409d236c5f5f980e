"""What all tests begin with."""

import os
import signal
from pathlib import Path

import pytest

# TensorFlow turns it off on CPUs without AVX-512, where channels-first convolutions then fail.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")

# A shell that starts the tests in the background has them ignore SIGINT, and so would every process that a test starts and ends by it.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that is new in each run of the tests, and the same for all of its workers."""
    folder = tmp_path_factory.getbasetemp()
    return folder if worker_id == "master" else folder.parent
