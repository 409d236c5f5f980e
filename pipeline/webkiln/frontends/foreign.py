"""Formats that webkiln recognises and does not read, with the way to one that it reads."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from webkiln.frontends.model_format import HEADER_BYTES, Glimpse

TORCH_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""The number 0x1950a86a20f9469cfc6c, pickled, with which files of PyTorch before 1.6 begin."""

EXPORT = "export the model to ONNX in the program that made it"
FACTORY = (
    "give a function that makes the model, and this file as its weights: webkiln build package.module:function --weights NAME "
    '(in a recipe: source = {module = "package.module:function", weights = "NAME"}, source_format = "torch")'
)
WEIGHTS = "give its weights, too: --weights FILE.h5, of model.save_weights()"


@dataclass(frozen=True)
class ForeignFormat:
    """`way` is how to get to a file that webkiln reads; NAME in it stands for the file."""

    title: str
    way: str
    fits: Callable[[Glimpse], bool]

    def refusal(self, name: str) -> str:
        return f"{name}: is {self.title}, which webkiln does not read; {self.way.replace('NAME', name)}"


def _tf2onnx(option: str) -> str:
    return f"convert it to ONNX: python -m tf2onnx.convert {option} NAME --output model.onnx (pip install tf2onnx)"


def _begins(pattern: bytes) -> Callable[[Glimpse], bool]:
    """Of a file whose first bytes match."""
    compiled = re.compile(pattern)
    return lambda seen: compiled.match(seen.start) is not None


def _is_saved_model(seen: Glimpse) -> bool:
    """A folder; or a protobuf message with the version 1 of its schema and then a graph, which begins with what is known of it."""
    return (
        seen.holds("saved_model.pb", "saved_model.pbtxt") or re.match(rb"\x08\x01\x12[\x80-\xff]+[\x00-\x7f]\x0a", seen.start) is not None
    )


def _is_safetensors(seen: Glimpse) -> bool:
    """The length of a JSON header, and the header, which begins with a brace."""
    length = int.from_bytes(seen.start[:8], "little")
    return seen.start[8:9] == b"{" and 2 <= length <= min(HEADER_BYTES, seen.path.stat().st_size - 8)


FOREIGN: tuple[ForeignFormat, ...] = (
    ForeignFormat(
        "a SavedModel of TensorFlow",
        "load it in the Keras that wrote it, and save it as one file: keras.models.load_model(FOLDER).save('model.h5'), or .keras; "
        f"or {_tf2onnx('--saved-model')}",
        _is_saved_model,
    ),
    ForeignFormat(
        "a TensorFlow.js graph model",
        "build the Keras model or the program that it was made from, or convert that as a layers model, which is read",
        lambda seen: seen.tensorflow_js == "graph-model",
    ),
    ForeignFormat(
        "a folder of a TensorFlow.js layers model",
        "give the path of the model.json in it",
        lambda seen: seen.is_folder and seen.tensorflow_js == "layers-model",
    ),
    ForeignFormat("a Core ML model", EXPORT, lambda seen: seen.holds("Manifest.json")),
    ForeignFormat(
        "a folder of Hugging Face",
        "export it: optimum-cli export onnx --model FOLDER OUTPUT (pip install optimum)",
        lambda seen: seen.holds("config.json") and seen.holds("*.safetensors", "pytorch_model*.bin"),
    ),
    ForeignFormat("a PyTorch file of weights", FACTORY, lambda seen: "data.pkl" in seen.members or seen.start.startswith(TORCH_MAGIC)),
    ForeignFormat("a pickle", f"a pickle is a program, which is not run; {EXPORT}", _begins(rb"\x80[\x02-\x05][\x80-\xff}\](]")),
    ForeignFormat(
        "a LiteRT (TensorFlow Lite) model",
        f"build the Keras model that it was made from; or {_tf2onnx('--tflite')}",
        lambda seen: seen.start[4:8] == b"TFL3",
    ),
    ForeignFormat("an ORT file of onnxruntime", "give the .onnx file that it was made from", lambda seen: seen.start[4:8] == b"ORTM"),
    ForeignFormat("a GGUF file", EXPORT, lambda seen: seen.start.startswith(b"GGUF")),
    ForeignFormat(
        "a safetensors file, which holds weights without a model",
        FACTORY,
        _is_safetensors,
    ),
    ForeignFormat("an OpenVINO model", "give the model that it was made from", _begins(rb"\s*(<\?xml[^>]*>\s*)?<net ")),
    ForeignFormat(
        "a Keras model without weights (JSON)", WEIGHTS, lambda seen: not seen.is_folder and {"class_name", "config"} <= seen.table.keys()
    ),
    ForeignFormat("a Keras model without weights (YAML)", WEIGHTS, _begins(rb"(backend: \w+\s+)?class_name: \w+\s")),
    ForeignFormat(
        "a metadata file of a SavedModel that Keras wrote",
        "load the folder in that Keras, and save it as one file: keras.models.load_model(FOLDER).save('model.h5'), or .keras",
        lambda seen: seen.start[:1] == b"\x0a" and b"_tf_keras_" in seen.start[:64],
    ),
    # A protobuf message that begins with a node, which begins with its name and its operation.
    ForeignFormat(
        "a frozen graph of TensorFlow",
        _tf2onnx("--inputs X:0 --outputs Y:0 --graphdef"),
        _begins(rb"\x0a[\x80-\xff]?[\x01-\x7f]\x0a([\x01-\x7f])[\x20-\x7e]+?\x12[\x01-\x7f][A-Z]"),
    ),
    # A protobuf message that begins with a name, and has layers (field 100, or 2 of old files), which begin with theirs.
    ForeignFormat(
        "a Caffe model",
        "convert it to ONNX with a converter for Caffe",
        _begins(rb"\x0a([\x01-\x7f])[\x20-\x7e]+?(\xa2\x06|\x12)[\x80-\xff]*[\x01-\x7f]\x0a[\x01-\x7f][\x20-\x7e]"),
    ),
)
"""Those that are told by more come before those that are told by less."""
