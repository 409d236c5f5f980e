"""Recognises, by their bytes, models of formats that webkiln does not read, and says how they get to one that it reads."""

import json
import re
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from webkiln.errors import SourceError

START_BYTES = 4096
HEADER_BYTES = 100 << 20
TORCH_MAGIC = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
"""The number 0x1950a86a20f9469cfc6c, pickled, with which files of PyTorch before 1.6 begin."""

EXPORT = "export the model to ONNX in the program that made it"
TORCH = "load it in PyTorch and export it: torch.onnx.export(model, example_inputs, 'model.onnx')"


def _tf2onnx(option: str) -> str:
    return f"convert it to ONNX: python -m tf2onnx.convert {option} NAME --output model.onnx (pip install tf2onnx)"


WAYS = {
    "a SavedModel of TensorFlow": "load it in the Keras that wrote it, and save it as one file: keras.models.load_model(FOLDER).save('model.h5'), or .keras; "
    f"or {_tf2onnx('--saved-model')}",
    "a metadata file of a SavedModel that Keras wrote": "load the folder in that Keras, and save it as one file: "
    "keras.models.load_model(FOLDER).save('model.h5'), or .keras",
    "a frozen graph of TensorFlow": _tf2onnx("--inputs X:0 --outputs Y:0 --graphdef"),
    "a LiteRT (TensorFlow Lite) model": f"build the Keras model that it was made from; or {_tf2onnx('--tflite')}",
    "a TensorFlow.js graph model": "build the Keras model or the program that it was made from, or convert that as a layers model, which is read",
    "a folder of a TensorFlow.js layers model": "give the path of the model.json in it",
    "a PyTorch file": TORCH,
    "a TorchScript file": f"export the module that it was made from; {TORCH}",
    "a pickle": f"a pickle is a program, which is not run; {EXPORT}",
    "a safetensors file, which holds weights without a model": f"load it in the program that knows the model, and {EXPORT}",
    "a folder of Hugging Face": "export it: optimum-cli export onnx --model FOLDER OUTPUT (pip install optimum)",
    "a GGUF file": EXPORT,
    "an ORT file of onnxruntime": "give the .onnx file that it was made from",
    "a Caffe model": "convert it to ONNX with a converter for Caffe",
    "a Core ML model": EXPORT,
    "an OpenVINO model": "give the model that it was made from",
    "a Keras model without weights (JSON)": "give its weights, too: --weights FILE.h5, of model.save_weights()",
    "a Keras model without weights (YAML)": "give its weights, too: --weights FILE.h5, of model.save_weights()",
    "an ONNX model": "give it a name that ends in .onnx",
    "a Keras model": "give it a name that ends in .keras or .h5",
}
"""For each format, how to get to a file that webkiln reads."""


def refuse_foreign(path: Path, *, as_onnx: bool) -> None:
    """SourceError where a file or folder is a model of another format than ours, or of ONNX where one of Keras is read, or the reverse."""
    format_ = recognise(path, as_onnx=as_onnx)
    if format_ is not None:
        wanted = "an ONNX file" if as_onnx else "a Keras file"
        raise SourceError(f"{path.name}: is {format_}, not {wanted}; {WAYS[format_].replace('NAME', path.name)}")
    if path.is_dir():
        raise SourceError(f"{path.name}: is a folder; give the model file in it")


def recognise(path: Path, *, as_onnx: bool) -> str | None:
    """The format of a file or folder, a key of WAYS; None where it is what it is read as, or nothing known."""
    if path.is_dir():
        return next((format_ for format_, fits in FOLDERS if fits(path)), None)
    with path.open("rb") as file:
        start = file.read(START_BYTES)
    if start.startswith((b"PK\x03\x04", b"\x89HDF\r\n\x1a\n")):
        members = set[str]()
        with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
            members = {member.rpartition("/")[2] for member in archive.namelist()}
        if "data.pkl" in members:
            return "a TorchScript file" if "constants.pkl" in members else "a PyTorch file"
        return "a Keras model" if as_onnx and (start.startswith(b"\x89") or "config.json" in members) else None
    for format_, fits in STARTS:
        if fits(start, path):
            return format_
    if not as_onnx and re.match(rb"\x08[\x01-\x20](\x12[\x00-\x7f][\x20-\x7e]|\x3a|\x42)", start) and b"\x3a" in start:
        return "an ONNX model"
    return None


def _folder(*names: str) -> Callable[[Path], bool]:
    return lambda path: any(any(path.glob(name)) for name in names)


FOLDERS: tuple[tuple[str, Callable[[Path], bool]], ...] = (
    ("a SavedModel of TensorFlow", _folder("saved_model.pb", "saved_model.pbtxt")),
    ("a TensorFlow.js graph model", lambda path: _json_format(path / "model.json") == "a TensorFlow.js graph model"),
    ("a folder of a TensorFlow.js layers model", lambda path: _json_format(path / "model.json") == "a TensorFlow.js layers model"),
    ("a Core ML model", _folder("Manifest.json")),
    ("a folder of Hugging Face", lambda path: (path / "config.json").is_file() and _folder("*.safetensors", "pytorch_model*.bin")(path)),
)


def _json_format(path: Path) -> str | None:
    """The format of a JSON file, by its keys."""
    try:
        data = json.loads(path.read_bytes()) if path.stat().st_size < HEADER_BYTES else None
    except (ValueError, OSError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    if "modelTopology" in data or "weightsManifest" in data:
        topology = data.get("modelTopology")
        graph = data.get("format") == "graph-model" or (isinstance(topology, dict) and "node" in topology)
        return "a TensorFlow.js graph model" if graph else "a TensorFlow.js layers model"
    return "a Keras model without weights (JSON)" if {"class_name", "config"} <= data.keys() else None


def _is_json(format_: str) -> Callable[[bytes, Path], bool]:
    return lambda start, path: start.lstrip()[:1] == b"{" and _json_format(path) == format_


def _is_safetensors(start: bytes, path: Path) -> bool:
    """The length of a JSON header, and the header, which begins with a brace."""
    length = int.from_bytes(start[:8], "little")
    return start[8:9] == b"{" and 2 <= length <= min(HEADER_BYTES, path.stat().st_size - 8)


def _is_saved_model(start: bytes, path: Path) -> bool:
    """A protobuf message with the version 1 of its schema and then a graph, which begins with what is known of it."""
    return re.match(rb"\x08\x01\x12[\x80-\xff]+[\x00-\x7f]\x0a", start) is not None


def _is_graph(start: bytes, path: Path) -> bool:
    """A protobuf message that begins with a node, which begins with its name and its operation."""
    return re.match(rb"\x0a[\x80-\xff]?[\x01-\x7f]\x0a([\x01-\x7f])[\x20-\x7e]+?\x12[\x01-\x7f][A-Z]", start) is not None


def _is_caffe(start: bytes, path: Path) -> bool:
    """A protobuf message that begins with a name, and has layers (field 100, or 2 of old files), which begin with theirs."""
    return re.match(rb"\x0a([\x01-\x7f])[\x20-\x7e]+?(\xa2\x06|\x12)[\x80-\xff]*[\x01-\x7f]\x0a[\x01-\x7f][\x20-\x7e]", start) is not None


STARTS: tuple[tuple[str, Callable[[bytes, Path], bool]], ...] = (
    ("a PyTorch file", lambda start, path: start.startswith(TORCH_MAGIC)),
    ("a pickle", lambda start, path: re.match(rb"\x80[\x02-\x05][\x80-\xff}\](]", start) is not None),
    ("a LiteRT (TensorFlow Lite) model", lambda start, path: start[4:8] == b"TFL3"),
    ("an ORT file of onnxruntime", lambda start, path: start[4:8] == b"ORTM"),
    ("a GGUF file", lambda start, path: start.startswith(b"GGUF")),
    ("a safetensors file, which holds weights without a model", _is_safetensors),
    ("an OpenVINO model", lambda start, path: re.match(rb"\s*(<\?xml[^>]*>\s*)?<net ", start) is not None),
    ("a TensorFlow.js graph model", _is_json("a TensorFlow.js graph model")),
    ("a Keras model without weights (JSON)", _is_json("a Keras model without weights (JSON)")),
    ("a Keras model without weights (YAML)", lambda start, path: re.match(rb"(backend: \w+\s+)?class_name: \w+\s", start) is not None),
    ("a metadata file of a SavedModel that Keras wrote", lambda start, path: start[:1] == b"\x0a" and b"_tf_keras_" in start[:64]),
    ("a SavedModel of TensorFlow", _is_saved_model),
    ("a frozen graph of TensorFlow", _is_graph),
    ("a Caffe model", _is_caffe),
)
