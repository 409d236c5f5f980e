"""Formats are recognised by content, not by name; errors for unsupported formats explain how to
convert the file.
"""

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest

from tests.frontends.onnx.models import classifier, dynamic
from tests.recipes import with_fields
from webkiln.build.source_format import format_of
from webkiln.commands import build
from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.chainer.parts import RecordedModel
from webkiln.frontends.chainer.recording import write
from webkiln.frontends.core.formats import FORMATS, check_format, format_of_file, recognise_format
from webkiln.frontends.core.unsupported_formats import TORCH_MAGIC, UNSUPPORTED_FORMATS
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.recipe.recipe import Reading, Recipe
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource, UrlSource


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
    """A field of a protobuf message, shorter than 128 bytes."""
    tag = number << 3 | 2
    return (
        (bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7]))
        + bytes([len(data)])
        + data
    )


MADE = {
    "a folder of a TensorFlow.js layers model": [
        lambda path: (
            path.mkdir(),
            (path / "model.json").write_text(
                json.dumps({"format": "layers-model", "modelTopology": {}, "weightsManifest": []})
            ),
        )
    ],
    "a metadata file of a SavedModel that Keras wrote": [
        lambda path: path.write_bytes(b'\x0a\xff\x05\x08\x00\x12\x04root"\x0f_tf_keras_model*\x00')
    ],
    "a PyTorch file of weights": [
        lambda path: archive(path, "net/data.pkl", "net/data/0"),
        lambda path: path.write_bytes(TORCH_MAGIC + b"..."),
    ],
    "a pickle": [
        lambda path, protocol=protocol: path.write_bytes(pickle.dumps({"w": [1.0]}, protocol))
        for protocol in (2, 4, 5)
    ],
    "a safetensors file, which holds weights without a model": [safetensors],
    "a folder of Hugging Face": [hugging_face],
    "an .npz file of arrays, such as a snapshot of Chainer": [
        lambda path: (
            np.savez(path.with_name("it.npz"), **{"predictor/l1/W": np.zeros(3)}),
            path.with_name("it.npz").rename(path),
        ),
    ],
    "a GGUF file, which holds weights without a model": [
        lambda path: path.write_bytes(b"GGUF\x03\0\0\0")
    ],
    "an ORT file of onnxruntime": [lambda path: path.write_bytes(b"\x1c\0\0\0ORTM....")],
    "an OpenVINO model": [
        lambda path: path.write_text('<?xml version="1.0"?>\n<net name="net" version="11">')
    ],
    "a Keras model without weights (JSON)": [lambda path: path.write_text(small().to_json())],
    "a Keras model without weights (YAML)": [
        lambda path: path.write_text("backend: tensorflow\nclass_name: Sequential\nconfig: []\n")
    ],
    "a Core ML model": [lambda path: (path.mkdir(), (path / "Manifest.json").write_text("{}"))],
}


@pytest.mark.parametrize("title", MADE)
@pytest.mark.parametrize("name", ["model.keras", "model.h5", "model.bin", "model.onnx"])
def test_unsupported_formats_are_named_with_a_conversion(
    title: str, name: str, tmp_path: Path
) -> None:
    for number, make in enumerate(MADE[title]):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        make(path)
        with pytest.raises(SourceError, match=f"{name}: is ") as raised:
            format_of_file(path)
        assert title in str(raised.value)
        assert "NAME" not in str(raised.value)
    assert all(len(row.way) > 20 for row in UNSUPPORTED_FORMATS)


def test_every_unsupported_format_has_a_case() -> None:
    assert {row.title for row in UNSUPPORTED_FORMATS} == {*MADE}


OURS = {
    "keras": [
        *(
            lambda path, ending=ending: (
                small().save(path.with_name(f"it.{ending}")),
                path.with_name(f"it.{ending}").rename(path),
            )
            for ending in ("keras", "h5")
        ),
        lambda path: path.write_text(
            json.dumps({"format": "layers-model", "modelTopology": {}, "weightsManifest": []})
        ),
    ],
    "onnx": [lambda path: onnx.save(classifier(), path), lambda path: onnx.save(dynamic(), path)],
    "tensorflow": [
        saved_model,
        frozen_graph,
        lambda path: path.write_text(
            json.dumps({"format": "graph-model", "modelTopology": {}, "weightsManifest": []})
        ),
        lambda path: path.write_text(
            json.dumps({"modelTopology": {"node": []}, "weightsManifest": []})
        ),
    ],
    "caffe": [
        lambda path: path.write_bytes(
            field(1, b"CaffeNet") + field(100, field(1, b"conv1") + field(2, b"Convolution"))
        ),
        lambda path: path.write_bytes(field(100, field(1, b"conv1") + field(2, b"Convolution"))),
        lambda path: path.write_bytes(
            field(1, b"VGG")
            + field(3, b"data")
            + b"\x20\x0a\x20\x03"
            + field(2, field(4, b"conv1") + b"\x28\x04")
        ),
        lambda path: path.write_bytes(
            field(1, b"VGG") + field(2, field(2, b"data") + field(3, b"conv1") + field(4, b"conv1"))
        ),
        lambda path: path.write_bytes(
            field(1, b"older")
            + field(2, field(1, field(1, b"conv1") + field(2, b"conv")) + field(2, b"data"))
        ),
        lambda path: path.write_text('# A net\nname: "net"\ninput: "data"\ninput_dim: 1\n'),
        lambda path: path.write_text("layer {\n  name: 'data' type: 'Input' top: 'data'\n}\n"),
        lambda path: path.write_text('name: "net" layers { bottom: "a" }'),
        lambda path: path.write_text('input_shape { dim: 1 } input: "x"'),
    ],
    "chainer": [
        lambda path: write(
            path,
            RecordedModel("net", {}, GraphSpec((), (), {}, ())),
            {"0": np.zeros(3, np.float32)},
        )
    ],
    "tflite": [lite],
    "torch": [
        lambda path: archive(path, "net/data.pkl", "net/code/net.py", "net/constants.pkl"),
        lambda path: archive(
            path, "net/archive_format", "net/archive_version", "net/models/model.json"
        ),
        lambda path: archive(path, "serialized_exported_program.json", "version"),
    ],
}


@pytest.mark.parametrize("name", [row.name for row in FORMATS])
@pytest.mark.parametrize("called", ["net.keras", "net.h5", "net.onnx", "net.bin", "net"])
def test_supported_formats_are_recognised_under_any_name(
    name: str, called: str, tmp_path: Path
) -> None:
    for number, make in enumerate(OURS[name]):
        path = tmp_path / str(number) / called
        path.parent.mkdir()
        make(path)
        assert format_of_file(path).name == name
        check_format(path, name)
        for other in FORMATS:
            if other.name != name:
                with pytest.raises(
                    SourceError,
                    match=f'{called}: is an? .*, not an? .*; .* source_format = "{name}"',
                ):
                    check_format(path, other.name)


def test_random_bytes_have_no_format(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(200):
        (tmp_path / "noise").write_bytes(rng.integers(0, 256, 300, np.uint8).tobytes())
        assert recognise_format(tmp_path / "noise") is None, number


SHA = "0" * 64


@pytest.mark.parametrize(
    ("source", "declared", "name"),
    [
        (PathSource(Path("missing.onnx")), "", "onnx"),
        (PathSource(Path("missing.h5")), "", "keras"),
        (PathSource(Path("missing")), "", "keras"),
        (PathSource(Path("net.json"), Path("net.h5")), "", "keras"),
        (UrlSource("https://example.com/net.onnx?raw=1", SHA), "", "onnx"),
        (UrlSource("https://example.com/net", SHA), "", "keras"),
        (UrlSource("https://example.com/net.caffemodel", SHA), "", "caffe"),
        (PathSource(Path("net.prototxt"), Path("weights.caffemodel")), "", "caffe"),
        (UrlSource("https://example.com/net", SHA), "onnx", "onnx"),
        (ExportSource(Path("export.py"), "export"), "", "keras"),
        (ExportSource(Path("export.py"), "export"), "onnx", "onnx"),
        (PathSource(Path("missing.pt2")), "", "torch"),
        (ModuleSource(Path(), "net", "make"), "", "keras"),
        (ModuleSource(Path(), "net", "make"), "torch", "torch"),
        (ModuleSource(Path(), "net", "make", weights=Path("net.pth")), "", "torch"),
    ],
)
def test_the_format_of_absent_files_comes_from_the_name_or_the_recipe(
    source: Any, declared: str, name: str
) -> None:
    assert format_of(Recipe("net", source, Reading(declared))).name == name


def test_an_unknown_source_format_is_an_error() -> None:
    with pytest.raises(
        RecipeError,
        match=(
            r"net: unknown source_format 'onx'; valid: keras, onnx, torch, tensorflow, tflite,"
            r" caffe, chainer; did you mean onnx\?"
        ),
    ):
        format_of(Recipe("net", PathSource(Path("net")), Reading("onx")))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "net.keras",
            {"inputs.values": {"x": 1}},
            "inputs cannot be fixed in it; .* values is for an ONNX model",
        ),
        (
            "net.onnx",
            {"source": PathSource(Path("net.onnx"), Path("net.h5"))},
            "is an ONNX model, and its weights are part of it; weights is for",
        ),
        (
            "net",
            {"source": ModuleSource(Path(), "net", "make"), "reading.format": "tflite"},
            (
                r"is a LiteRT \(TensorFlow Lite\) model, and functions cannot return one; write a"
                r" file in an export script; modules is for a Keras"
            ),
        ),
        (
            "net.onnx",
            {"inputs.batch_size": 2},
            "is an ONNX model, and it has no batch axis to set; .* batch_size is for a Keras model",
        ),
    ],
)
def test_options_that_a_format_lacks_are_errors(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecipeError, match=message):
        format_of(with_fields(Recipe("net", PathSource(Path(name))), options))


def test_a_folder_is_not_reported_as_missing(tmp_path: Path) -> None:
    import argparse

    (tmp_path / "net").mkdir()
    parser = argparse.ArgumentParser()
    build.add_arguments(parser)
    with pytest.raises(SourceError, match="is a folder; pass the model file in it"):
        build.recipe_of(parser.parse_args([str(tmp_path / "net"), "-o", "out"]))
