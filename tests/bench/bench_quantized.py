"""Time quantised networks against their float32 originals and against LiteRT.js and onnxruntime-web
on the same files, in one page of headless Chromium.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_quantized [mobilenetv2 resnet50 transformer]
        [--rounds 6] [--threads 1] [--variant simd] [--forms tflite,qdq,dynamic]
        [--backend webgpu]

Files are those of the frameworks' own quantisers, calibrated with random inputs: TensorFlow Lite's
int8, onnxruntime's static QDQ, by tensor and by channel, and its dynamic quantisation. Inputs and
outputs are float32. The table lists the least times, and their ratios to webkiln's float32. Of
backends other than wasm, only bundles of webkiln are compared.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tensorflow as tf
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

from tests.bench.bench_networks import bench_page, prepare, run_page
from tests.quantizer import Samples
from webkiln.backends import toolchain
from webkiln.backends.compare import relative_error
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.ir.types import Array
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

HERE = Path(__file__).parent
SAMPLES = 4
FORMS = {
    "tflite": ("int8.tflite", "litert", "last"),
    "qdq": ("qdq.onnx", "onnxruntime", "first"),
    "channels": ("channels.onnx", "onnxruntime", "first"),
    "dynamic": ("dynamic.onnx", "onnxruntime", "first"),
}
"""Form -> its file, the rival that runs it, and the layout of its inputs."""
USUAL = {
    "mobilenetv2": ("tflite", "qdq", "channels"),
    "resnet50": ("tflite", "qdq", "channels"),
    "transformer": ("tflite", "dynamic"),
}


def samples(folder: Path, order: str) -> list[dict[str, Array]]:
    """Inputs for calibration: those of the measurement, and others of the same distribution."""
    layouts = json.loads((folder / "inputs.json").read_text())
    values = np.fromfile(folder / f"{order}.bin", np.float32)
    rng = np.random.default_rng(11)
    made: list[dict[str, Array]] = []
    for number in range(SAMPLES):
        taken = values if number == 0 else rng.standard_normal(values.shape, np.float32)
        ends = np.cumsum([layout["size"] for layout in layouts.values()])[:-1]
        parts = zip(layouts, np.split(taken, ends), strict=True)
        made.append({name: part.reshape(layouts[name][order]) for name, part in parts})
    return made


def write_form(form: str, folder: Path) -> None:
    """Quantise the float32 model in `folder`."""
    target = folder / FORMS[form][0]
    if form == "tflite":
        converter = tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved_model"))
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: iter(samples(folder, "last"))
        target.write_bytes(converter.convert())
        return
    if form == "dynamic":
        quantization.quantize_dynamic(
            folder / "model.onnx", target, weight_type=quantization.QuantType.QInt8
        )
        return
    quant_pre_process(folder / "model.onnx", folder / "prepared.onnx")
    quantization.quantize_static(
        folder / "prepared.onnx",
        target,
        Samples(samples(folder, "first")),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=form == "channels",
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )


def publish(form: str, folder: Path, backend: str) -> int:
    """Build the bundle of a form. Returns its bytes."""
    file = folder / FORMS[form][0]
    recipe = Recipe(name=form, source=PathSource(file), backends=(backend,))
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection((backend,))), "bundle/", folder / form)
    return sum(path.stat().st_size for path in (folder / form).rglob("*") if path.is_file())


def engines(forms: Sequence[str], backend: str) -> list[dict[str, Any]]:
    """What the page runs: float32, and each form by webkiln and, on wasm, a rival."""
    result: list[dict[str, Any]] = [{"name": "webkiln float32", "engine": "webkiln"}]
    for form in forms:
        file, rival, order = FORMS[form]
        ours = {"engine": "webkiln", "bundle": f"/data/{form}/", "order": order}
        result.append({"name": f"webkiln {form}", **ours})
        if backend == "wasm":
            result.append({"name": f"{rival} {form}", "engine": rival, "file": file})
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", default=[*USUAL])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--variant", choices=("relaxed", "simd"))
    parser.add_argument("--forms")
    parser.add_argument("--backend", default="wasm")
    options = parser.parse_args()
    for name in options.networks:
        forms = options.forms.split(",") if options.forms else USUAL[name]
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            reference = prepare(name, (options.backend,), (), folder)
            sizes = {}
            for form in forms:
                write_form(form, folder)
                sizes[form] = (
                    publish(form, folder, options.backend),
                    (folder / FORMS[form][0]).stat().st_size,
                )
            toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
            toolchain.link([folder / "peak.o"], folder / "peak.wasm")
            settings = {"backend": options.backend, "threads": options.threads}
            settings |= {"variant": options.variant} if options.variant else {}
            with bench_page(folder) as session:
                result = run_page(
                    session, engines(forms, options.backend), settings, options.rounds
                )
        report(name, result, reference, sizes)


def report(
    name: str,
    result: dict[str, Any],
    reference: dict[str, Array],
    sizes: dict[str, tuple[int, int]],
) -> None:
    least = {engine: min(times) for engine, times in result["times"].items()}
    for engine, ms in least.items():
        outputs = zip(result["outputs"][engine].values(), reference.values(), strict=True)
        error = max(
            relative_error(np.array(got, np.float32).reshape(want.shape), want)
            for got, want in outputs
        )
        ratio = ms / least["webkiln float32"]
        print(f"{name:12} {engine:22} {ms:8.2f} ms  {ratio:5.2f} of float32  error {error:.1e}")
    for form, (bundle, file) in sizes.items():
        print(f"{name:12} {form}: bundle {bundle / 1e6:.2f} MB, file {file / 1e6:.2f} MB")
    for engine, reason in result["refused"].items():
        print(f"{name:12} {engine}: {reason}")


if __name__ == "__main__":
    main()
