"""Damaged and hostile TensorFlow.js models raise one clear error."""

import json
import shutil

import numpy as np
import pytest

from tests.frontends.keras.versions.eras import tf_keras_2_4
from tests.frontends.keras.versions.model_files import read, write_tfjs
from tests.frontends.keras.versions.refusals import refused
from webkiln.errors import SourceError
from webkiln.frontends.core.formats import format_of_file
from webkiln.frontends.keras.reader import parse_model


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    """A TensorFlow.js model in several files."""
    return write_tfjs(tmp_path_factory.mktemp("saved"), tf_keras_2_4(read("dense")), shard=300)


@pytest.fixture
def model(sharded, tmp_path):
    shutil.copytree(sharded.parent, tmp_path / "model")
    return tmp_path / "model" / "model.json"


def changed(path, change):
    data = json.loads(path.read_text())
    change(data, data["weightsManifest"][0])
    path.write_text(json.dumps(data))


def with_path(name):
    return lambda _, group: group["paths"].__setitem__(0, name)


def with_weight(**settings):
    return lambda _, group: group["weights"][0].update(settings)


MANIFESTS = {
    "above": (
        with_path("../secret.bin"),
        "'../secret.bin', which is outside the model's folder; refused",
    ),
    "absolute": (with_path("/etc/passwd"), "'/etc/passwd', which is outside"),
    "backslash": (with_path("..\\secret.bin"), "which is outside"),
    "elsewhere": (with_path("https://example.com/a.bin"), "which is outside"),
    "nothing": (with_path(""), "which is outside"),
    "a number": (with_path(3), "which is outside"),
    "missing": (
        with_path("other.bin"),
        "'other.bin', which is not in its folder; copy all files of the model",
    ),
    "twice": (lambda _, group: group["paths"].__setitem__(1, group["paths"][0]), "each once"),
    "strings": (
        with_weight(dtype="string"),
        (
            r"weight batch_normalization/gamma has dtype string; expected quantized to uint8,"
            r" uint16, float16, or one of float32"
        ),
    ),
    "complex": (with_weight(dtype="complex64"), "has dtype complex64"),
    "packing": (with_weight(quantization={"dtype": "float32"}), "expected quantized to"),
    "no scale": (with_weight(quantization={"dtype": "uint8"}), "manifest lists weights of"),
    "negative": (with_weight(shape=[-5, 6]), r"claims shape \[-5, 6\]; refused"),
    "huge": (with_weight(shape=[1 << 40, 6]), "claims shape"),
    "long": (with_weight(shape=[500, 600]), "weight batch_normalization/gamma ends at byte"),
    "short": (with_weight(shape=[5]), "the manifest lists weights of"),
    "name twice": (
        lambda _, group: group["weights"][1].update(name="dense/kernel"),
        "lists a weight twice",
    ),
    "other layer": (
        with_weight(name="else/kernel"),
        (
            r"batch_normalization \(BatchNormalization\): its weights in the file are beta \[6\],"
            r" moving_mean \[6\], moving_variance \[6\], which are not"
        ),
    ),
    "no manifest": (
        lambda data, _: data.pop("weightsManifest"),
        "neither a TensorFlow.js model nor the architecture",
    ),
    "graph": (
        lambda data, _: data.update(format="graph-model"),
        "a TensorFlow.js graph model, which is not a Keras model",
    ),
    "no layers": (
        lambda data, _: data["modelTopology"].update(
            model_config={"class_name": "Sequential", "config": {}}
        ),
        "not a readable Keras model",
    ),
    "no model": (
        lambda data, _: data.update(modelTopology={"a": 1}),
        "its config is not that of a Keras model",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_invalid_manifests(model, name):
    change, message = MANIFESTS[name]
    changed(model, change)
    refused(model, message)


@pytest.mark.parametrize("size", [0, 7, 301])
def test_shards_of_another_length(model, size):
    part = model.with_name("group1-shard1of2.bin")
    assert part.exists()
    part.write_bytes(part.read_bytes().ljust(size, b"x")[:size])
    refused(model, "group1-shard1of2.bin")


def test_shards_of_another_folder(model, tmp_path):
    part = model.with_name("group1-shard1of2.bin")
    shutil.move(part, tmp_path / "secret.bin")
    part.symlink_to(tmp_path / "secret.bin")
    from webkiln.frontends.core.tfjs_manifest import shard_files

    with pytest.raises(
        SourceError, match="a symbolic link to a file outside the model's folder; refused"
    ):
        shard_files(model)


def test_nan_weights(model):
    part = model.with_name("group1-shard1of2.bin")
    part.write_bytes(np.float32("nan").tobytes() + part.read_bytes()[4:])
    refused(model, "batch_normalization/gamma holds 1 NaN of 6; train the model again")


def test_weights_quantized_without_a_scale(tmp_path):
    path = write_tfjs(tmp_path / "m", tf_keras_2_4(read("dense")), quantized="uint8")
    changed(path, lambda _, group: group["weights"][0]["quantization"].pop("scale"))
    refused(
        path,
        "batch_normalization/gamma is quantized to uint8 without scale and min; convert the model"
        " again",
    )


def test_graph_models_are_no_keras_models(model):
    assert format_of_file(model).name == "keras"
    changed(model, lambda data, _: data.update(format="graph-model"))
    assert format_of_file(model).name == format_of_file(model.parent).name == "tensorflow"
    with pytest.raises(
        SourceError, match=r'a TensorFlow\.js graph model, .* source_format = "tensorflow"'
    ):
        parse_model(model)
