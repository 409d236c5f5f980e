"""Models of old Keras versions on the command line: separate files, rebuilds, and rejected
files.
"""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.commands.blocked import without
from tests.commands.conftest import Command
from tests.frontends.keras.versions.eras import keras_1_2, keras_2_2, tf_keras_2_4
from tests.frontends.keras.versions.model_files import read, write_h5, write_tfjs, write_weights
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph
from webkiln.recipe.read import parse_recipe, read_recipe
from webkiln.recipe.sources import PathSource


def pair(folder: Path) -> tuple[Path, Path]:
    model = keras_2_2(read("dense"))
    (folder / "net.json").write_text(json.dumps({**model.config, "keras_version": "2.2.4"}))
    write_weights(folder / "net.h5", model.lists, "2.2.4")
    return folder / "net.json", folder / "net.h5"


def outputs(webkiln: Command, folder: Path, bundle: str, **inputs: np.ndarray) -> np.ndarray:
    np.savez(folder / "in.npz", **{name: value[:1] for name, value in inputs.items()})
    done = webkiln("run", bundle, "--backend", "js", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(folder / "out.npz") as arrays:
        return next(iter(arrays.values()))


def test_an_architecture_and_its_weights(webkiln: Command, tmp_path: Path) -> None:
    pair(tmp_path)
    done = webkiln(
        "build",
        "net.json",
        "--weights",
        "net.h5",
        "-o",
        "out",
        "--backend",
        "js",
        "--depfile",
        "files",
    )
    assert done.returncode == 0, done.stderr
    assert {"net.json", "net.h5"} <= {
        Path(line).name for line in (tmp_path / "files").read_text().splitlines()
    }
    model = read("dense")
    assert np.allclose(
        outputs(webkiln, tmp_path, "out", input=model.inputs[0]), model.outputs[0][:1], atol=1e-5
    )


def test_new_weights_of_a_recipe_cause_a_rebuild(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "models" / "net"
    folder.mkdir(parents=True)
    _, weights = pair(folder)
    (folder / "recipe.toml").write_text(
        'backends = ["js"]\n[source]\npath = "net.json"\nweights = "net.h5"\n'
    )
    recipe = read_recipe(folder / "recipe.toml")
    assert recipe.source == PathSource(folder / "net.json", weights)
    with Engine(tmp_path / "state") as engine:
        graph = ModelGraph(recipe, engine.share)
        first = engine.run(graph.load()).outputs
        with h5py.File(weights, "a") as file:
            file["dense/dense/kernel:0"][0, 0] += 1
    with Engine(tmp_path / "state") as engine:
        second = engine.run(ModelGraph(recipe, engine.share).load()).outputs
    assert first != second


def test_the_shards_of_a_tensorflow_js_model_are_found(webkiln: Command, tmp_path: Path) -> None:
    path = write_tfjs(tmp_path / "net", tf_keras_2_4(read("dense")), shard=200)
    build = ("build", "net/model.json", "-o", "out", "--backend", "js")
    done = webkiln(*build)
    assert done.returncode == 0, done.stderr
    model = read("dense")
    before = outputs(webkiln, tmp_path, "out", dense_input=model.inputs[0])
    assert np.allclose(before, model.outputs[0][:1], atol=1e-5)
    part = path.with_name("group1-shard2of3.bin")
    values = np.frombuffer(part.read_bytes(), "<f4") * np.float32(1.5)
    part.write_bytes(values.tobytes())
    assert webkiln(*build).returncode == 0
    assert not np.allclose(
        outputs(webkiln, tmp_path, "out", dense_input=model.inputs[0]), before, atol=1e-3
    )


def refused(done: object, part: str, folder: Path) -> None:
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert [line[:7] for line in done.stderr.splitlines() if not line.startswith("  ")] == [
        "error: "
    ]
    assert part in done.stderr
    assert not (folder / "out").exists()


def test_a_refused_model_leaves_no_files(webkiln: Command, tmp_path: Path) -> None:
    path, weights = pair(tmp_path)
    js = write_tfjs(tmp_path / "net", tf_keras_2_4(read("dense")))
    js.with_name("group1-shard1of1.bin").write_bytes(b"short")
    graph = tmp_path / "graph"
    graph.mkdir()
    (graph / "model.json").write_text(
        '{"format": "graph-model", "modelTopology": {"node": []}, "weightsManifest": []}'
    )
    saved = tmp_path / "saved"
    saved.mkdir()
    (saved / "saved_model.pb").write_bytes(b"\x08\x01\x12\xff\x01\x0a")
    (tmp_path / "cut.h5").write_bytes(weights.read_bytes()[:3000])
    cases = {
        (weights,): "holds weights but no model; give the architecture and these weights: ",
        (path, "--weights", "cut.h5"): "weights.h5: not a readable Keras model",
        (
            "digits",
            "--weights",
            weights,
        ): (
            "digits: --weights applies to architectures in JSON or YAML, Caffe"
            " definitions and functions only"
        ),
        (js,): "hold 5 bytes, weight",
        (graph / "model.json",): "model.json: is a graph without nodes",
        (saved,): "saved: cannot be parsed as a TensorFlow graph",
    }
    for arguments, part in cases.items():
        refused(webkiln("build", *arguments, "-o", "out", "--backend", "js"), part, tmp_path)


def test_old_files_need_no_framework(webkiln: Command, tmp_path: Path) -> None:
    old = keras_1_2(read("conv_2d"), first=True, theano=True)
    write_h5(tmp_path / "old.h5", old.config, old.lists, "1.2.2", backend="")
    settings = without(tmp_path, "keras", "tensorflow", "tf_keras", "torch", "jax", "yaml") | {
        "WEBKILN_CACHE": str(tmp_path / "c")
    }
    done = webkiln("build", "old.h5", "-o", "out", "--backend", "js", env=settings)
    assert done.returncode == 0, done.stderr
    (tmp_path / "net.yaml").write_text("class_name: Sequential\nconfig: []\n")
    write_weights(tmp_path / "w.h5", old.lists, "1.2.2")
    refused(
        webkiln("build", "net.yaml", "--weights", "w.h5", "-o", "other", env=settings),
        "yaml is not installed: pip install pyyaml",
        tmp_path / "x",
    )


def test_keys_of_a_source() -> None:
    recipe = parse_recipe(
        "m", {"source": {"path": "a.json", "weights": "b.h5"}}, Path("/models/m/recipe.toml")
    )
    assert recipe.source == PathSource(Path("/models/m/a.json"), Path("/models/m/b.h5"))
