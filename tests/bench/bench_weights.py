"""Time a network with weights in each form against float32, on wasm with one thread.

    .venv/bin/python -m tests.bench.bench_weights [--network transformer] [--host chromium]
        [FORM ...]

Forms named `encoding-` are builds of the file in float32; the others are files with other weights.
Their int8 and 4-bit weights are rounded to nearest, with a scale for each column or block of 32, as
onnxruntime's quantizers do. Errors are relative to the largest output of Keras in float32.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.transformers.float16 import convert_float_to_float16

from tests.bench import networks
from tests.bench.bench_float16 import source
from webkiln.backends.compare import relative_error
from webkiln.backends.host import profile_bundles, run_bundle
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.ir.types import Array
from webkiln.recipe.quantization import Quantization
from webkiln.recipe.recipe import Bundle, Computation, Recipe
from webkiln.recipe.sources import PathSource

BLOCK = 32
SAMPLES = 4
MAX_ERROR = 0.05
"""The bound of the encoding `mixed`."""


def with_weights(
    model: onnx.ModelProto,
    change: Callable[[onnx.NodeProto, Array], tuple[list[onnx.NodeProto], dict[str, Array]]],
) -> onnx.ModelProto:
    """The model, with other nodes and initialisers for each product with a constant matrix."""
    values = {item.name: item for item in model.graph.initializer}
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        factor = values.get(node.input[1]) if node.op_type == "MatMul" else None
        if factor is None or len(factor.dims) != 2:
            nodes.append(node)
            continue
        added, arrays = change(node, numpy_helper.to_array(factor))
        nodes += added
        model.graph.initializer.extend(
            numpy_helper.from_array(value, name) for name, value in arrays.items()
        )
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    read = {name for node in nodes for name in node.input}
    kept = [item for item in model.graph.initializer if item.name in read]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def columns(node: onnx.NodeProto, w: Array) -> tuple[list[onnx.NodeProto], dict[str, Array]]:
    """int8 codes with a scale for each column, dequantized before a float product."""
    q, s, real = (f"{node.output[0]}/{part}" for part in ("codes", "scales", "real"))
    scales = np.abs(w).max(0) / 127
    codes = np.rint(w / scales).astype(np.int8)
    made = [
        helper.make_node("DequantizeLinear", [q, s], [real], axis=1),
        helper.make_node("MatMul", [node.input[0], real], node.output, node.name),
    ]
    return made, {q: codes, s: scales.astype(np.float32)}


def blocks(node: onnx.NodeProto, w: Array) -> tuple[list[onnx.NodeProto], dict[str, Array]]:
    """MatMulNBits with 4 bits. A scale has the sign of minus the largest weight of its block."""
    q, s = (f"{node.output[0]}/{part}" for part in ("codes", "scales"))
    depth, width = w.shape
    parts = w.T.reshape(width, depth // BLOCK, BLOCK)
    largest = np.take_along_axis(parts, np.abs(parts).argmax(-1)[..., None], -1)
    scales = largest / -8
    codes = np.clip(np.rint(parts / scales) + 8, 0, 15).astype(np.uint8)
    made = helper.make_node(
        "MatMulNBits",
        [node.input[0], q, s],
        node.output,
        node.name,
        domain="com.microsoft",
        K=depth,
        N=width,
        bits=4,
        block_size=BLOCK,
    )
    packed = codes[..., ::2] | (codes[..., 1::2] << 4)
    return [made], {q: packed, s: scales[..., 0].astype(np.float32)}


def dynamic(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    onnx.save(model, folder / "single.onnx")
    target = folder / "integers.onnx"
    quantization.quantize_dynamic(
        folder / "single.onnx", target, weight_type=quantization.QuantType.QInt8
    )
    return onnx.load(target)


@dataclass(frozen=True)
class Form:
    """A file, made from the one in float32, and how it is built."""

    change: Callable[[onnx.ModelProto, Path], onnx.ModelProto] = lambda model, folder: model
    encoding: str = "float32"
    products: str = "exact"


FORMS = {
    "float32": Form(),
    "encoding-float16": Form(encoding="float16"),
    "encoding-int8": Form(encoding="int8"),
    "encoding-int8-32": Form(encoding="int8-32"),
    "encoding-uint4": Form(encoding="uint4"),
    "encoding-int4": Form(encoding="int4"),
    "encoding-int4-128": Form(encoding="int4-128"),
    "encoding-int4-dot": Form(encoding="int4", products="dot"),
    "encoding-mixed": Form(encoding="mixed"),
    "encoding-int8-static": Form(encoding="int8-static"),
    "float16": Form(lambda model, folder: convert_float_to_float16(model, keep_io_types=True)),
    "dynamic": Form(dynamic),
    "int8-weights": Form(lambda model, folder: with_weights(model, columns)),
    "blocks": Form(lambda model, folder: with_weights(model, blocks)),
    "blocks-dot": Form(lambda model, folder: with_weights(model, blocks), products="dot"),
}


def publish(
    name: str, form: Form, model: onnx.ModelProto, samples: Path, engine: Engine, folder: Path
) -> tuple[Path, int]:
    """The bundle of a form, and the bytes of its weights."""
    path = folder / f"{name}.onnx"
    onnx.save(form.change(model, folder), path)
    recipe = Recipe(
        name=name,
        source=PathSource(path),
        backends=("wasm",),
        computation=Computation(products=form.products),
        bundle=Bundle(quantization=Quantization(calibration=samples, max_error=MAX_ERROR)),
    )
    bundle = ModelGraph(recipe, engine.share).bundle(Selection(("wasm",), form.encoding))
    engine.publish(bundle, "bundle/", folder / name)
    return folder / name, sum(item.stat().st_size for item in (folder / name).rglob("*.bin"))


def write_samples(inputs: Mapping[str, Array], folder: Path) -> Path:
    """The inputs of the measurement, and others of the same distribution."""
    rng = np.random.default_rng(7)
    arrays = {}
    for number in range(SAMPLES):
        for name, value in inputs.items():
            made = value if number == 0 else rng.permuted(value.ravel()).reshape(value.shape)
            arrays[f"{number}/inputs/{name}"] = made
    np.savez(folder / "samples.npz", **arrays)
    return folder / "samples.npz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("forms", nargs="*", metavar="FORM", default=[*FORMS][1:])
    parser.add_argument("--network", default="transformer", choices=[*networks.NETWORKS])
    parser.add_argument("--host", default="chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with Engine(folder / "state") as engine:
            model, inputs, expected = source(options.network, engine, folder)
            samples = write_samples(inputs, folder)
            made = {
                name: publish(name, FORMS[name], deepcopy(model), samples, engine, folder)
                for name in ("float32", *options.forms)
            }
        bundles = [bundle for bundle, _ in made.values()]
        rounds = profile_bundles(bundles, "wasm", inputs, host=options.host)
        single = min(row[0]["runMs"] for row in rounds)
        for number, (name, (bundle, size)) in enumerate(made.items()):
            (result,) = run_bundle(bundle, "wasm", [inputs], host=options.host)
            error = max(
                relative_error(np.asarray(got).reshape(want.shape), want)
                for got, want in zip(result.outputs.values(), expected.values(), strict=True)
            )
            ms = min(row[number]["runMs"] for row in rounds)
            print(
                f"{options.network} {name:16} weights {size / 1e6:6.2f} MB, {ms:6.2f} ms,"
                f" {ms / single:4.2f} of float32, error {error:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
