"""The calls in the tests of Keras, recorded once per version of Keras and cached."""

import os
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import keras
from platformdirs import user_cache_path

from tests.backends.harness import ROOT
from tests.conformance.keras.record import Call
from tests.conformance.report import digest

SOURCE = Path(keras.__file__).parent / "src"
PARTS: Mapping[str, Sequence[str]] = {
    "layers": ("layers",),
    "ops": tuple(
        f"ops/{name}_test.py" for name in ("core", "einops", "image", "linalg", "math", "nn")
    ),
    "numpy": ("ops/numpy_test.py",),
}
"""The tests that run in one process each."""
SAMPLE = (
    "layers/activations",
    "layers/attention/attention_test.py",
    "layers/merging/merging_test.py",
    "layers/pooling/max_pooling_test.py",
    "layers/rnn/simple_rnn_test.py",
    "ops/einops_test.py",
)
"""Tests that take a few seconds, for every run of the test suite."""
COMPANIONS = ROOT / ".venv" / "keras-tests"
"""Packages that the tests of Keras import: `make conformance-keras` installs them."""

Left = Mapping[str, Mapping[str, int]]


def recorded(part: str) -> tuple[list[Call], Left]:
    """The calls of a group of tests, and why others are not models: name -> reason -> count."""
    if not COMPANIONS.is_dir():
        raise SystemExit(
            f"{COMPANIONS} is missing, without which half of Keras's tests stop at once: run `make"
            " conformance-keras`"
        )
    state = digest([Path(__file__), Path(__file__).with_name("record.py")])
    path = (
        user_cache_path("webkiln")
        / "conformance"
        / f"keras-{keras.__version__}-{part}-{state}.pickle"
    )
    if not path.exists():
        run_tests(PARTS[part], path)
    return read(path)


def read(path: Path) -> tuple[list[Call], Left]:
    calls, left = pickle.loads(path.read_bytes())
    return calls, left


def run_tests(paths: Sequence[str], output: Path) -> None:
    """Run tests of Keras (files or folders of its source) under the recorder. Tests that fail here,
    such as those that need a GPU, are ignored.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = output.with_suffix(".partial")
    path = os.pathsep.join([str(ROOT), str(COMPANIONS)])
    environment = {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "",
        "PYTHONPATH": path,
    }
    options = [
        "-c",
        os.devnull,
        f"--rootdir={SOURCE}",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "-q",
        "--tb=no",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conformance.keras.record",
        *options,
        "--record",
        str(partial),
        *(str(SOURCE / name) for name in paths),
    ]
    ended = subprocess.run(
        command,
        env=environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if not partial.exists():
        raise RuntimeError(f"Keras's tests do not run:\n{ended.stdout[-2000:]}")
    partial.replace(output)
