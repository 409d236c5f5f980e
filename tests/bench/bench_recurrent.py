"""Time one LSTM layer of 100 steps with weights of 8 bits (DynamicQuantizeLSTM, by onnxruntime's
quantizer) against float32 and against onnxruntime-web on the same files, on wasm, in one page of
headless Chromium.

    (cd tests/bench/rivals && npm ci)
    .venv/bin/python -m tests.bench.bench_recurrent [128 512] [--rounds 6] [--variant simd]

The engines alternate, with one thread. The table lists the least times, their ratios to webkiln's
float32, and errors relative to the float32 model in onnxruntime.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

from tests.bench.bench_networks import HERE, bench_page, run_page, write_inputs
from webkiln.backends import toolchain
from webkiln.backends.compare import relative_error
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.ir.types import Array
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

STEPS, FEATURES = 100, 64
FORMS = ("float32", "tensor", "channels")
"""The float32 model, and weights of 8 bits with one scale, and with one for each channel."""


def write_models(units: int, folder: Path) -> None:
    rng = np.random.default_rng(0)
    shapes = {"w": (1, 4 * units, FEATURES), "r": (1, 4 * units, units), "b": (1, 8 * units)}
    weights = [
        numpy_helper.from_array((rng.normal(size=shape) * units**-0.5).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    node = helper.make_node("LSTM", ["x", *shapes], ["y", "last"], "lstm", hidden_size=units)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [STEPS, 1, FEATURES])
    last = helper.make_tensor_value_info("last", TensorProto.FLOAT, [1, 1, units])
    graph = helper.make_graph([node], "lstm", [x], [last], weights)
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "float32.onnx")
    for form in FORMS[1:]:
        quantization.quantize_dynamic(
            folder / "float32.onnx",
            folder / f"{form}.onnx",
            weight_type=quantization.QuantType.QInt8,
            per_channel=form == "channels",
        )


def publish(form: str, folder: Path) -> None:
    recipe = Recipe(name=form, source=PathSource(folder / f"{form}.onnx"), backends=("wasm",))
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(("wasm",))), "bundle/", folder / form)


def engines() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for form in FORMS:
        ours = {"engine": "webkiln", "bundle": f"/data/{form}/"}
        found.append({"name": f"webkiln {form}", **ours})
        found.append(
            {"name": f"onnxruntime {form}", "engine": "onnxruntime", "file": f"{form}.onnx"}
        )
    return found


def measure(
    units: int, folder: Path, settings: Mapping[str, Any], rounds: int
) -> tuple[dict[str, Any], Array]:
    """Build and run all forms. Returns the result of the page, and the expected output."""
    write_models(units, folder)
    for form in FORMS:
        publish(form, folder)
    x = np.random.default_rng(1).standard_normal((STEPS, 1, FEATURES)).astype(np.float32)
    write_inputs({"x": x}, folder)
    session = onnxruntime.InferenceSession(folder / "float32.onnx")
    (expected,) = session.run(["last"], {"x": x})
    toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
    toolchain.link([folder / "peak.o"], folder / "peak.wasm")
    with bench_page(folder) as page:
        return run_page(page, engines(), settings, rounds), expected


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("units", nargs="*", type=int, default=[128, 512])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--variant", choices=("relaxed", "simd"))
    options = parser.parse_args()
    settings = {"backend": "wasm", "threads": 1}
    settings |= {"variant": options.variant} if options.variant else {}
    for units in options.units:
        with TemporaryDirectory() as folder:
            result, expected = measure(units, Path(folder), settings, options.rounds)
        report(units, result, expected)


def report(units: int, result: Mapping[str, Any], expected: Array) -> None:
    least = {engine: min(times) for engine, times in result["times"].items()}
    for engine, ms in least.items():
        (output,) = result["outputs"][engine].values()
        error = relative_error(np.array(output, np.float32).reshape(expected.shape), expected)
        ratio = ms / least["webkiln float32"]
        print(f"{units:4} {engine:22} {ms:7.2f} ms  {ratio:5.2f} of float32  error {error:.1e}")


if __name__ == "__main__":
    main()
