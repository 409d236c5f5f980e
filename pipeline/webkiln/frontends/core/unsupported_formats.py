"""Formats that webkiln recognises and does not read, with the way to one that it reads."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from webkiln.frontends.core.model_format import HEADER_BYTES, Glimpse

TORCH_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""The number 0x1950a86a20f9469cfc6c, pickled, with which files of PyTorch before 1.6 begin."""

EXPORT = "export the model to ONNX in the program that made it"
FACTORY = (
    "give a function that makes the model, and this file as its weights: webkiln build"
    " package.module:function --weights NAME (in a recipe: source = {module ="
    ' "package.module:function", weights = "NAME"}, source_format = "torch")'
)
SNAPSHOT = (
    "give a function that makes the chain, and this file as its weights: webkiln build"
    " package.module:function --weights NAME --source-format chainer (in a recipe: source = {module"
    ' = "package.module:function", weights = "NAME"}, source_format = "chainer")'
)
WEIGHTS = "give its weights, too: --weights FILE.h5, of model.save_weights()"


@dataclass(frozen=True)
class ForeignFormat:
    """`way` is how to get to a file that webkiln reads; NAME in it stands for the file."""

    title: str
    way: str
    fits: Callable[[Glimpse], bool]

    def refusal(self, name: str) -> str:
        return (
            f"{name}: is {self.title}, which webkiln does not read;"
            f" {self.way.replace('NAME', name)}"
        )


def _tf2onnx(option: str) -> str:
    return (
        f"convert it to ONNX: python -m tf2onnx.convert {option} NAME --output model.onnx (pip"
        " install tf2onnx)"
    )


def _begins(pattern: bytes) -> Callable[[Glimpse], bool]:
    """Of a file whose first bytes match."""
    compiled = re.compile(pattern)
    return lambda seen: compiled.match(seen.start) is not None


def _is_safetensors(seen: Glimpse) -> bool:
    """The length of a JSON header, and the header, which begins with a brace."""
    length = int.from_bytes(seen.start[:8], "little")
    return seen.start[8:9] == b"{" and 2 <= length <= min(
        HEADER_BYTES, seen.path.stat().st_size - 8
    )


FOREIGN: tuple[ForeignFormat, ...] = (
    ForeignFormat(
        "a folder of a TensorFlow.js layers model",
        "give the path of the model.json in it",
        lambda seen: seen.is_folder and seen.tensorflow_js == "layers-model",
    ),
    ForeignFormat("a Core ML model", EXPORT, lambda seen: seen.holds("Manifest.json")),
    ForeignFormat(
        "a folder of Hugging Face",
        "export it: optimum-cli export onnx --model FOLDER OUTPUT (pip install optimum)",
        lambda seen: (
            seen.holds("config.json") and seen.holds("*.safetensors", "pytorch_model*.bin")
        ),
    ),
    ForeignFormat(
        "a PyTorch file of weights",
        FACTORY,
        lambda seen: "data.pkl" in seen.members or seen.start.startswith(TORCH_MAGIC),
    ),
    ForeignFormat(
        "a pickle",
        f"a pickle is a program, which is not run; {EXPORT}",
        _begins(rb"\x80[\x02-\x05][\x80-\xff}\](]"),
    ),
    ForeignFormat(
        "an .npz file of arrays, such as a snapshot of Chainer",
        SNAPSHOT,
        lambda seen: bool(seen.members) and all(name.endswith(".npy") for name in seen.members),
    ),
    ForeignFormat(
        "an ORT file of onnxruntime",
        "give the .onnx file that it was made from",
        lambda seen: seen.start[4:8] == b"ORTM",
    ),
    ForeignFormat(
        "a GGUF file, which holds weights without a model",
        FACTORY,
        lambda seen: seen.start.startswith(b"GGUF"),
    ),
    ForeignFormat(
        "a safetensors file, which holds weights without a model",
        FACTORY,
        _is_safetensors,
    ),
    ForeignFormat(
        "an OpenVINO model",
        "give the model that it was made from",
        _begins(rb"\s*(<\?xml[^>]*>\s*)?<net "),
    ),
    ForeignFormat(
        "a Keras model without weights (JSON)",
        WEIGHTS,
        lambda seen: not seen.is_folder and {"class_name", "config"} <= seen.table.keys(),
    ),
    ForeignFormat(
        "a Keras model without weights (YAML)",
        WEIGHTS,
        _begins(rb"(backend: \w+\s+)?class_name: \w+\s"),
    ),
    ForeignFormat(
        "a metadata file of a SavedModel that Keras wrote",
        "give the folder that it lies in, with saved_model.pb",
        lambda seen: seen.start[:1] == b"\x0a" and b"_tf_keras_" in seen.start[:64],
    ),
)
"""Those that are told by more come before those that are told by less."""
