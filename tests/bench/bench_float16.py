"""Time ONNX networks in float16 against the same networks in float32, in one session.

    .venv/bin/python -m tests.bench.bench_float16 [--network NAME ...] [--backend wasm]

The float16 model is what onnxruntime's converter makes of the float32 one: weights and all values
between its inputs and outputs are float16.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.transformers.float16 import convert_float_to_float16

from tests.bench import networks, onnx_export, sequences
from tests.bench.bench_networks import flatten, inputs_of, optimised
from webkiln.backends.compare import relative_error
from webkiln.backends.host import profile_bundles, run_bundle
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.ir.types import Array
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

NETWORKS = ("mobilenetv2", "resnet50", "transformer")


def source(
    name: str, engine: Engine, folder: Path
) -> tuple[onnx.ModelProto, dict[str, Array], dict[str, Array]]:
    """The network as a float32 ONNX model, inputs, and the outputs of Keras."""
    model = networks.make(name, folder)
    inputs = inputs_of(model)
    values = [*inputs.values()]
    expected = flatten(model.predict(values if len(values) > 1 else values[0], verbose=0))
    recipe = Recipe(name=name, source=PathSource(folder / f"{name}.keras"), backends=("wasm",))
    data = (
        sequences.onnx(name, model, inputs, list(expected))
        if name in sequences.SEQUENCES
        else onnx_export.export(*optimised(engine, ModelGraph(recipe, engine.share)))
    )
    first = {
        name: value.transpose(0, 3, 1, 2) if value.ndim == 4 else value
        for name, value in inputs.items()
    }
    return onnx.load_from_string(data), first, expected


def bundles(
    name: str, backend: str, folder: Path
) -> tuple[list[Path], dict[str, Array], dict[str, Array]]:
    """The bundles of the float32 and of the float16 model, inputs, and the outputs of Keras."""
    made = []
    with Engine(folder / "state") as engine:
        single, inputs, expected = source(name, engine, folder)
        for dtype, stored in (("float32", single), ("float16", convert_float_to_float16(single))):
            path = folder / f"{dtype}.onnx"
            onnx.save(stored, path)
            actions = ModelGraph(
                Recipe(name=dtype, source=PathSource(path), backends=(backend,)), engine.share
            )
            engine.publish(actions.bundle(Selection((backend,))), "bundle/", folder / dtype)
            made.append(folder / dtype)
    return made, inputs, expected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", action="append", choices=[*networks.NETWORKS])
    parser.add_argument("--backend", default="wasm")
    parser.add_argument("--host", default="node")
    options = parser.parse_args()
    for name in options.network or NETWORKS:
        with tempfile.TemporaryDirectory() as scratch:
            made, inputs, expected = bundles(name, options.backend, Path(scratch))
            halves = {key: value.astype(np.float16) for key, value in inputs.items()}
            rounds = profile_bundles(made, options.backend, inputs, host=options.host)
            single, half = (min(row[number]["runMs"] for row in rounds) for number in (0, 1))
            (result,) = run_bundle(made[1], options.backend, [halves], host=options.host)
            error = max(
                relative_error(np.float32(got).reshape(want.shape), want)
                for got, want in zip(result.outputs.values(), expected.values(), strict=True)
            )
        print(
            f"{name}: float32 {single:.1f} ms, float16 {half:.1f} ms, ratio {half / single:.2f},"
            f" error {error:.1e}"
        )


if __name__ == "__main__":
    main()
