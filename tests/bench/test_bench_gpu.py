"""The comparison on WebGPU: a folder that runs with Python alone, on the software adapter."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import keras
import numpy as np
import pytest
from keras import layers

from tests.bench import bench_gpu, gpu_pack, pattern_weights
from webkiln.codegen.device_programs import EMULATED

NOTHING = "no result in time; the page still starts"
RIVALS = Path(__file__).parent / "rivals" / "node_modules"
OTHERS = ("onnxruntime", "onnxruntime-bound", "onnxruntime-graph", "tfjs", "litert")


def make(name: str, folder: Path) -> Any:
    keras.utils.set_random_seed(0)
    x = keras.Input((12, 12, 3), name="image")
    y = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    y = layers.Conv2D(6, 3, strides=2, padding="same", activation="relu")(y)
    model = keras.Model(x, y, name="tiny")
    model.save(folder / f"{name}.keras")
    return model


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "pack"
    bench_gpu.write_pack(folder, ["tiny"], make)
    return Path(shutil.move(folder, tmp_path_factory.mktemp("elsewhere") / "pack"))


def run(pack: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the folder without site-packages, home or variables of this environment."""
    return subprocess.run(
        [sys.executable, "-I", "-S", pack / "run.py", "--rounds", "1", "--minutes", "3", *options],
        cwd=pack.parent,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )


def results(pack: Path, engines: Sequence[str]) -> dict[str, Any]:
    done = run(pack, "--software", "--engines", ",".join(engines))
    assert done.returncode == 0, done.stderr
    measured: dict[str, Any] = json.loads((pack / "results.json").read_text())
    assert (pack / "results.md").read_text() == gpu_pack.table(measured)
    return measured


@pytest.mark.long
def test_a_folder_runs_elsewhere(pack: Path) -> None:
    engines = ["webkiln", *(OTHERS if RIVALS.is_dir() else ())]
    measured = results(pack, engines)
    tiny = measured["networks"]["tiny"]
    assert (tiny["refused"], list(tiny["results"])) == ({}, engines)
    assert "swiftshader" in tiny["adapter"]["name"].lower()
    for engine, result in tiny["results"].items():
        assert result["error"] < 1e-5, engine
        assert result["launches"] >= 2, engine
        assert len(result["wallMs"]) == 3, engine
        assert min(result["gpuMs"]) > 0, engine
    code = pack / "networks" / "tiny" / "bundle" / f"webgpu{EMULATED}.js"
    marked = len(re.findall(r"^ +step\.mark\(", code.read_text(), re.MULTILINE))
    assert tiny["results"]["webkiln"]["launches"] == marked
    text = bench_gpu.page(measured, "make bench-gpu")
    assert all(f"| tiny | {engine} | " in text for engine in engines)


@pytest.mark.long
def test_a_software_adapter_is_refused(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_pack, "GPU_FLAGS", gpu_pack.SOFTWARE_FLAGS)
    options = argparse.Namespace(
        networks=None, engines="webkiln", browser=None, software=False, rounds=1, minutes=2
    )
    measured = gpu_pack.measure_all(pack, options)
    assert "the adapter computes on the CPU" in measured["networks"]["tiny"]["error"]
    assert "computes on the CPU" in gpu_pack.table(measured)


def test_what_a_page_measured_before_its_time_was_up_is_kept(tmp_path: Path) -> None:
    server = gpu_pack.Server(tmp_path)
    server.settings = {"engines": ["webkiln", "tfjs", "litert"]}
    found = {"results": {"webkiln": {"firstMs": 3}}, "refused": {"tfjs": "no"}}
    for message in (("/progress", "loads litert"), ("/partial", found)):
        server.messages.put(message)
    running = cast("subprocess.Popen[bytes]", SimpleNamespace(poll=lambda: None))
    late = "no result in time; the page still loads litert"
    for expected in (found | {"refused": {"tfjs": "no", "litert": late}}, {"error": NOTHING}):
        end = time.monotonic() + 0.2
        assert gpu_pack.wait_for_result(server, running, tmp_path / "log", end) == expected
    server.shutdown()


def test_repeated_weights_compress_and_keep_their_scale() -> None:
    weight = np.random.default_rng(0).normal(0.1, 0.3, (512, 1024)).astype(np.float32)
    repeated = pattern_weights.repeated(weight)
    assert (repeated.shape, repeated.dtype) == (weight.shape, weight.dtype)
    assert repeated.mean() == pytest.approx(0.1, abs=0.01)
    assert repeated.std() == pytest.approx(0.3, abs=0.01)
    for values in (repeated, np.ascontiguousarray(repeated.T)):
        assert len(zlib.compress(values.tobytes())) < values.nbytes / 50
