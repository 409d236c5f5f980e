"""Models of other formats are told by their bytes, whatever they are called, and ours are never taken for one."""

import json
import pickle
import zipfile
from pathlib import Path

import keras
import numpy as np
import onnx
import pytest

from tests.frontends.onnx.models import classifier, dynamic
from webkiln.commands import build
from webkiln.errors import SourceError
from webkiln.foreign import TORCH_MAGIC, WAYS, recognise, refuse_foreign


def small() -> keras.Model:
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])


def archive(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, b"x")


def saved_model(path: Path) -> None:
    small().export(path, verbose=False)


def frozen_graph(path: Path) -> None:
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec((1, 4), tf.float32)])
    def double(x: tf.Tensor) -> tf.Tensor:
        return x * 2

    path.write_bytes(double.get_concrete_function().graph.as_graph_def().SerializeToString())


def lite(path: Path) -> None:
    import tensorflow as tf

    path.write_bytes(tf.lite.TFLiteConverter.from_keras_model(small()).convert())


def safetensors(path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


def hugging_face(path: Path) -> None:
    path.mkdir()
    (path / "config.json").write_text("{}")
    safetensors(path / "model.safetensors")


def field(number: int, data: bytes) -> bytes:
    """A field of a protobuf message that has a length of less than 128."""
    tag = number << 3 | 2
    return (bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])) + bytes([len(data)]) + data


FORMATS = {
    "a SavedModel of TensorFlow": [saved_model],
    "a frozen graph of TensorFlow": [frozen_graph],
    "a LiteRT (TensorFlow Lite) model": [lite],
    "a TensorFlow.js graph model": [
        lambda path: path.write_text(json.dumps({"format": "graph-model", "modelTopology": {}, "weightsManifest": []})),
        lambda path: path.write_text(json.dumps({"modelTopology": {"node": []}, "weightsManifest": []})),
    ],
    "a folder of a TensorFlow.js layers model": [
        lambda path: (
            path.mkdir(),
            (path / "model.json").write_text(json.dumps({"format": "layers-model", "modelTopology": {}, "weightsManifest": []})),
        )
    ],
    "a metadata file of a SavedModel that Keras wrote": [
        lambda path: path.write_bytes(b'\x0a\xff\x05\x08\x00\x12\x04root"\x0f_tf_keras_model*\x00')
    ],
    "a PyTorch file": [lambda path: archive(path, "net/data.pkl", "net/data/0"), lambda path: path.write_bytes(TORCH_MAGIC + b"...")],
    "a TorchScript file": [lambda path: archive(path, "net/data.pkl", "net/code/net.py", "net/constants.pkl")],
    "a pickle": [lambda path, protocol=protocol: path.write_bytes(pickle.dumps({"w": [1.0]}, protocol)) for protocol in (2, 4, 5)],
    "a safetensors file, which holds weights without a model": [safetensors],
    "a folder of Hugging Face": [hugging_face],
    "a GGUF file": [lambda path: path.write_bytes(b"GGUF\x03\0\0\0")],
    "an ORT file of onnxruntime": [lambda path: path.write_bytes(b"\x1c\0\0\0ORTM....")],
    "a Caffe model": [
        lambda path: path.write_bytes(field(1, b"CaffeNet") + field(100, field(1, b"conv1") + field(2, b"Convolution"))),
        lambda path: path.write_bytes(field(1, b"VGG") + field(2, field(1, field(1, b"conv1")))[:2] + field(1, b"conv1")),
    ],
    "an OpenVINO model": [lambda path: path.write_text('<?xml version="1.0"?>\n<net name="net" version="11">')],
    "a Keras model without weights (JSON)": [lambda path: path.write_text(small().to_json())],
    "a Keras model without weights (YAML)": [lambda path: path.write_text("backend: tensorflow\nclass_name: Sequential\nconfig: []\n")],
    "a Core ML model": [lambda path: (path.mkdir(), (path / "Manifest.json").write_text("{}"))],
    "an ONNX model": [lambda path: onnx.save(classifier(), path), lambda path: onnx.save(dynamic(), path)],
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ["model.keras", "model.h5", "model.bin"])
def test_each_format_is_named_with_the_way_to_go(format_: str, name: str, tmp_path: Path) -> None:
    for number, make in enumerate(FORMATS[format_]):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        make(path)
        assert recognise(path, as_onnx=False) == format_
        with pytest.raises(SourceError, match="is a") as told:
            refuse_foreign(path, as_onnx=False)
        assert format_ in str(told.value)
        assert "NAME" not in str(told.value)
    assert len(WAYS[format_]) > 20


def test_a_keras_file_that_is_called_onnx(tmp_path: Path) -> None:
    for ending in ("keras", "h5"):
        small().save(tmp_path / f"net.{ending}")
        (tmp_path / f"net.{ending}").rename(tmp_path / "net.onnx")
        with pytest.raises(SourceError, match=r"is a Keras model, not an ONNX file; .*a name that ends in \.keras or \.h5"):
            refuse_foreign(tmp_path / "net.onnx", as_onnx=True)


def test_every_way_is_of_a_format() -> None:
    assert set(WAYS) == {*FORMATS, "a Keras model"}


def test_ours_are_what_they_are(tmp_path: Path) -> None:
    for name in ("net.keras", "net.h5"):
        small().save(tmp_path / name)
        refuse_foreign(tmp_path / name, as_onnx=False)
    for model in (classifier(), dynamic()):
        onnx.save(model, tmp_path / "net.onnx")
        refuse_foreign(tmp_path / "net.onnx", as_onnx=True)
    rng = np.random.default_rng(0)
    for number in range(200):
        (tmp_path / "noise").write_bytes(rng.integers(0, 256, 300, np.uint8).tobytes())
        assert recognise(tmp_path / "noise", as_onnx=False) is None, number


@pytest.mark.parametrize(
    ("make", "part"), [(saved_model, "is a SavedModel of TensorFlow"), (Path.mkdir, "is a folder; give the model file in it")]
)
def test_a_folder_is_no_missing_file(make: object, part: str, tmp_path: Path) -> None:
    import argparse

    make(tmp_path / "net")  # type: ignore[operator]
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    with pytest.raises(SourceError, match=part):
        build.recipe_of(parser.parse_args([str(tmp_path / "net"), "-o", "out"]))
