"""Formats that webkiln recognises but does not read, with instructions to convert them."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from webkiln.frontends.core.model_format import HEADER_BYTES, FileHeader

TORCH_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""The pickled number 0x1950a86a20f9469cfc6c, the first bytes of files of PyTorch before 1.6."""

EXPORT_ONNX = "export the model to ONNX with the program that wrote it"
USE_FACTORY = (
    "pass a function that builds the model, and this file as its weights: webkiln build"
    " package.module:function --weights NAME (in a recipe: source = {module ="
    ' "package.module:function", weights = "NAME"}, source_format = "torch")'
)
USE_CHAINER_FACTORY = (
    "pass a function that builds the chain, and this file as its weights: webkiln build"
    " package.module:function --weights NAME --source-format chainer (in a recipe: source = {module"
    ' = "package.module:function", weights = "NAME"}, source_format = "chainer")'
)
ADD_WEIGHTS = "pass its weights, too: --weights FILE.h5, written by model.save_weights()"


@dataclass(frozen=True)
class UnsupportedFormat:
    """`way` explains how to obtain a file that webkiln reads; NAME in it is replaced by the file
    name.
    """

    title: str
    way: str
    fits: Callable[[FileHeader], bool]

    def refusal(self, name: str) -> str:
        way = self.way.replace("NAME", name)
        return f"{name}: is {self.title}, which webkiln does not read; {way}"


def _tf2onnx(option: str) -> str:
    return (
        f"convert it to ONNX: python -m tf2onnx.convert {option} NAME --output model.onnx (pip"
        " install tf2onnx)"
    )


def _begins(pattern: bytes) -> Callable[[FileHeader], bool]:
    """Match files whose first bytes match the pattern."""
    compiled = re.compile(pattern)
    return lambda header: compiled.match(header.start) is not None


def _is_safetensors(header: FileHeader) -> bool:
    """Match the length of a JSON header, followed by the header, which starts with a brace."""
    length = int.from_bytes(header.start[:8], "little")
    return header.start[8:9] == b"{" and 2 <= length <= min(
        HEADER_BYTES, header.path.stat().st_size - 8
    )


UNSUPPORTED_FORMATS: tuple[UnsupportedFormat, ...] = (
    UnsupportedFormat(
        "a folder of a TensorFlow.js layers model",
        "pass the path of the model.json in it",
        lambda header: header.is_folder and header.tensorflow_js == "layers-model",
    ),
    UnsupportedFormat(
        "a Core ML model", EXPORT_ONNX, lambda header: header.contains("Manifest.json")
    ),
    UnsupportedFormat(
        "a folder of Hugging Face",
        "export it: optimum-cli export onnx --model FOLDER OUTPUT (pip install optimum)",
        lambda header: (
            header.contains("config.json")
            and header.contains("*.safetensors", "pytorch_model*.bin")
        ),
    ),
    UnsupportedFormat(
        "a PyTorch file of weights",
        USE_FACTORY,
        lambda header: "data.pkl" in header.members or header.start.startswith(TORCH_MAGIC),
    ),
    UnsupportedFormat(
        "a pickle",
        f"a pickle is a program, which webkiln does not run; {EXPORT_ONNX}",
        _begins(rb"\x80[\x02-\x05][\x80-\xff}\](]"),
    ),
    UnsupportedFormat(
        "an .npz file of arrays, such as a snapshot of Chainer",
        USE_CHAINER_FACTORY,
        lambda header: (
            bool(header.members) and all(name.endswith(".npy") for name in header.members)
        ),
    ),
    UnsupportedFormat(
        "an ORT file of onnxruntime",
        "pass the .onnx file that it was converted from",
        lambda header: header.start[4:8] == b"ORTM",
    ),
    UnsupportedFormat(
        "a GGUF file, which holds weights without a model",
        USE_FACTORY,
        lambda header: header.start.startswith(b"GGUF"),
    ),
    UnsupportedFormat(
        "a safetensors file, which holds weights without a model",
        USE_FACTORY,
        _is_safetensors,
    ),
    UnsupportedFormat(
        "an OpenVINO model",
        "pass the model that it was converted from",
        _begins(rb"\s*(<\?xml[^>]*>\s*)?<net "),
    ),
    UnsupportedFormat(
        "a Keras model without weights (JSON)",
        ADD_WEIGHTS,
        lambda header: not header.is_folder and {"class_name", "config"} <= header.table.keys(),
    ),
    UnsupportedFormat(
        "a Keras model without weights (YAML)",
        ADD_WEIGHTS,
        _begins(rb"(backend: \w+\s+)?class_name: \w+\s"),
    ),
    UnsupportedFormat(
        "a metadata file of a SavedModel that Keras wrote",
        "pass its folder, which contains saved_model.pb",
        lambda header: header.start[:1] == b"\x0a" and b"_tf_keras_" in header.start[:64],
    ),
)
"""More specific formats come first."""
