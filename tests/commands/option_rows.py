"""Every option with values, and the changes that they make to a recipe."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.recipes import fields_of
from webkiln.recipe.form import Form
from webkiln.recipe.images import ImageInput
from webkiln.recipe.quantization import Quantization, UserFunction
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource
from webkiln.recipe.values import TOLERANCES


def changes(before: Recipe, after: Recipe) -> dict[str, Any]:
    old = fields_of(before)
    return {name: value for name, value in fields_of(after).items() if value != old[name]}


KERAS, TFLITE = (
    ("model.bin", "--source-format", "keras"),
    ("model.bin", "--source-format", "tflite"),
)
HERE = Path("here.npz")
ROWS: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "source_format": (KERAS, ("--source-format", "torch"), {"reading.format": "torch"}),
    "reference": (KERAS, ("--reference", "here.npz"), {"verification.reference": HERE}),
    "name": (KERAS, ("--name", "other"), {"name": "other"}),
    "backend": (KERAS, ("--backend", "js,webgl"), {"backends": ("webgl", "js")}),
    "precision": (
        (*KERAS, "--backend", "webgpu"),
        ("--precision", "float16"),
        {"computation.precision": "float16"},
    ),
    "float16": (KERAS, ("--float16", "rounded"), {"computation.float16": "rounded"}),
    "batch_size": (KERAS, ("--batch-size", "5"), {"inputs.batch_size": 5}),
    "input_shape": (
        KERAS,
        ("--input-shape", "2,T", "--input-shape", "y=3"),
        {"inputs.shapes": {"": (2, "T"), "y": (3,)}},
    ),
    "dim": (TFLITE, ("--dim", "N=3", "--dim", "M=K"), {"inputs.dims": {"N": 3, "M": "K"}}),
    "value": (
        TFLITE,
        ("--value", "a=2", "--value", "b=[1,2.5]"),
        {"inputs.values": {"a": 2, "b": [1, 2.5]}},
    ),
    "signature": (TFLITE, ("--signature", "serve"), {"reading.signature": "serve"}),
    "from_layer": (
        TFLITE,
        ("--from-layer", "a", "--from-layer", "b", "--from-layer", "a"),
        {"reading.from_layers": ("a", "b")},
    ),
    "to_layer": (TFLITE, ("--to-layer", "c", "--to-layer", "d"), {"reading.to_layers": ("c", "d")}),
    "plugin": (
        KERAS,
        ("--plugin", "p.py", "--plugin", "q.py"),
        {"user_code.plugins": (Path("p.py"), Path("q.py"))},
    ),
    "operators": (KERAS, ("--operators", "o.py"), {"user_code.operators": (Path("o.py"),)}),
    "reads": (
        KERAS,
        ("--reads", "data", "--reads", "more"),
        {"user_code.reads": (Path("data"), Path("more"))},
    ),
    "trust_source": (KERAS, ("--trust-source",), {"user_code.trust_source": True}),
    "layer_encoding": (
        KERAS,
        ("--layer-encoding", "a*=int8", "--layer-encoding", "x=y=float16"),
        {"bundle.quantization": Quantization({"a*": "int8", "x=y": "float16"})},
    ),
    "calibration": (
        KERAS,
        ("--calibration", "s.npz"),
        {"bundle.quantization": Quantization(calibration=Path("s.npz"))},
    ),
    "ranges": (
        KERAS,
        ("--ranges", "percentile"),
        {"bundle.quantization": Quantization(ranges="percentile")},
    ),
    "max_error": (
        KERAS,
        ("--max-error", "0.05"),
        {"bundle.quantization": Quantization(max_error=0.05), "bundle.encodings": ("mixed",)},
    ),
    "metric": (
        KERAS,
        ("--metric", "m.py:loss"),
        {"bundle.quantization": Quantization(metric=UserFunction(Path("m.py"), "loss"))},
    ),
    "products": (KERAS, ("--products", "dot"), {"computation.products": "dot"}),
    "caches": (KERAS, ("--caches", "int8"), {"computation.caches": "int8"}),
    "winograd": (KERAS, ("--winograd", "off"), {"computation.winograd": False}),
    "subgroup_matrices": (
        (*KERAS, "--backend", "webgpu", "--precision", "float16"),
        ("--subgroup-matrices", "on"),
        {"computation.matrices": True},
    ),
    "tuned": (KERAS, ("--tuned", "fast.json"), {"computation.tuned": Path("fast.json")}),
    "tolerance": (
        KERAS,
        ("--tolerance", "int8=0.5", "--tolerance", "precision=1e-3"),
        {"verification.tolerances": {**TOLERANCES, "int8": 0.5, "precision": 1e-3}},
    ),
    "sample_size": (
        TFLITE,
        ("--sample-size", "T=20", "--sample-size", "N=3"),
        {"verification.sample_sizes": {"T": 20, "N": 3}},
    ),
    "image": (
        KERAS,
        ("--image", 'x={fit="crop", mean=[1, 2, 3]}'),
        {"bundle.images": {"x": ImageInput(fit="crop", mean=(1, 2, 3))}},
    ),
    "labels": (KERAS, ("--labels", "names.txt"), {"bundle.labels": ("a cat", "dog, big")}),
    "weights": (
        KERAS,
        ("--weights", "w.h5"),
        {"source": PathSource(Path("model.bin"), Path("w.h5"))},
    ),
    "parameter": (
        ("makes:net",),
        ("--parameter", "size=4", "--parameter", "kind=a b", "--parameter", "on=true"),
        {"source": ModuleSource(Path(), "makes", "net", {"size": 4, "kind": "a b", "on": True})},
    ),
}
"""Option -> (source, arguments, changes to the recipe); paths are relative to the working
folder.
"""


def absolute(value: Any, folder: Path) -> Any:
    """The value of a row with absolute paths, as in a recipe."""
    match value:
        case Path():
            return folder / value
        case tuple():
            return tuple(absolute(item, folder) for item in value)
        case Quantization():
            return replace(
                value,
                calibration=absolute(value.calibration, folder),
                metric=absolute(value.metric, folder),
            )
        case UserFunction(file, function):
            return UserFunction(folder / file, function)
        case PathSource(path, weights):
            return PathSource(folder / path, None if weights is None else folder / weights)
        case ModuleSource(root, module, function, parameters):
            return ModuleSource(folder / root, module, function, parameters)
    return value


SOURCES = {
    "script": 'source = { script = "make.py", function = "save" }\n',
    "file": 'source = "model.bin"\n',
}
TOML: dict[str, tuple[str, dict[str, Any]]] = {
    "source": ("", {"source": PathSource(Path("model.bin"))}),
    "source_format": ('source_format = "onnx"', {"reading.format": "onnx"}),
    "input_shapes": ('input_shapes = { x = [1, "T"] }', {"inputs.shapes": {"x": (1, "T")}}),
    "sample_sizes": ("sample_sizes = { T = 5 }", {"verification.sample_sizes": {"T": 5}}),
    "batch_size": ("batch_size = 3", {"inputs.batch_size": 3}),
    "backends": ('backends = ["js", "webgpu"]', {"backends": ("webgpu", "js")}),
    "encodings": ('encodings = ["int8", "float16"]', {"bundle.encodings": ("float16", "int8")}),
    "labels": ('labels = ["a", "b"]', {"bundle.labels": ("a", "b")}),
    "inputs": (
        'inputs = { x = { color = "BGR", mean = 2 } }',
        {"bundle.images": {"x": ImageInput(color="BGR", mean=2.0)}},
    ),
    "plugins": ('plugins = ["p.py"]', {"user_code.plugins": (Path("p.py"),)}),
    "operators": ('operators = ["o.py"]', {"user_code.operators": (Path("o.py"),)}),
    "reads": ('reads = ["../data"]', {"user_code.reads": (Path("../data"),)}),
    "trust_source": ("trust_source = true", {"user_code.trust_source": True}),
    "parameters": (
        "parameters = { size = 3 }",
        {"source": ExportSource(Path("make.py"), "save", {"size": 3})},
    ),
    "dims": ('dims = { N = 3, M = "K" }', {"inputs.dims": {"N": 3, "M": "K"}}),
    "format": ('format = "single"', {"bundle.form": Form("single")}),
    "hashed": ("hashed = true", {"bundle.form": Form(hashed=True)}),
    "package": ('package = { license = "MIT" }', {"bundle.form": Form(package={"license": "MIT"})}),
    "values": ("values = { a = [1, 2] }", {"inputs.values": {"a": [1, 2]}}),
    "signature": ('signature = "serve"', {"reading.signature": "serve"}),
    "from_layers": ('from_layers = ["a"]', {"reading.from_layers": ("a",)}),
    "to_layers": ('to_layers = ["b"]', {"reading.to_layers": ("b",)}),
    "reference": ('reference = "r.npz"', {"verification.reference": Path("r.npz")}),
    "quantize": (
        (
            'quantize = { layers = { a = "int8" }, calibration = "s.py:make", ranges = "minmax",'
            ' bias_correction = false, max_error = 1, metric = "s.py:loss" }'
        ),
        {
            "bundle.quantization": Quantization(
                {"a": "int8"},
                UserFunction(Path("s.py"), "make"),
                "minmax",
                bias_correction=False,
                max_error=1,
                metric=UserFunction(Path("s.py"), "loss"),
            )
        },
    ),
    "winograd": ('winograd = "off"', {"computation.winograd": False}),
    "precision": (
        'precision = "float16"\nbackends = ["webgl"]',
        {"computation.precision": "float16", "backends": ("webgl",)},
    ),
    "subgroup_matrices": (
        'subgroup_matrices = "on"\nprecision = "float16"\nbackends = ["webgpu"]',
        {
            "computation.matrices": True,
            "computation.precision": "float16",
            "backends": ("webgpu",),
        },
    ),
    "float16": ('float16 = "rounded"', {"computation.float16": "rounded"}),
    "products": ('products = "dot"', {"computation.products": "dot"}),
    "caches": ('caches = "float16"', {"computation.caches": "float16"}),
    "tuned": ('tuned = "tuned.json"', {"computation.tuned": Path("tuned.json")}),
    "on_request": ("on_request = true", {"on_request": True}),
}
