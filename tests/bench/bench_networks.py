"""Whole networks beside onnxruntime-web, LiteRT.js and TensorFlow.js: SIMD, in one page of headless Chromium, in turn, with one thread each or several.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_networks resnet50 mobilenetv2 [--rounds 15] [--backend js] [--variant simd] [--threads 2]

All run the same weights on the same input, through their public calls, input and output included; outputs must agree with Keras's to 1e-3.
The table has medians, and of our time divided by a rival's in the same round the median and the extremes.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tests.bench import networks, onnx_export, tfjs_export
from webkiln import canonical
from webkiln.backends import browsers
from webkiln.backends.server import Server
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.ir.graph import Graph
from webkiln.ir.serial import from_json
from webkiln.ir.types import Array
from webkiln.ops.evaluate import fixed_values
from webkiln.recipe import PathSource, Recipe

HERE = Path(__file__).parent
RIVALS = ("onnxruntime", "litert", "tfjs")
ALONE = "webkiln alone"
"""Our time with one thread, where the others have several."""
TOLERANCE = 1e-3
PAGE = """<!doctype html><title>bench</title>
<script type="importmap">{"imports": {"@litertjs/wasm-utils": "/npm/@litertjs/wasm-utils/dist/index.js"}}</script>"""
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
"""Without these, the clock of a page ticks every 0.1 ms."""


def optimised(engine: Engine, actions: ModelGraph) -> tuple[Graph, dict[str, Array]]:
    """The graph that the bundle is made from, and the values of its fixed part."""

    def path(action: Any, name: str) -> Path:
        return engine.cache.store.path(engine.run(action).outputs[name].sha256)

    graph = from_json(canonical.read(path(actions.optimize().action, "graph.json")))
    slots = canonical.read(path(actions.convert(), "weights.json"))["slots"]
    with TemporaryDirectory() as folder:
        engine.publish(actions.load(), "weights/", Path(folder) / "weights")
        values = {
            name: np.fromfile(Path(folder) / "weights" / slot["digest"], slot["dtype"]).reshape(slot["shape"])
            for name, slot in slots.items()
        }
    return graph, fixed_values(graph, values)


def prepare(name: str, backend: str, rivals: Sequence[str], folder: Path) -> tuple[Graph, Array]:
    """Write the bundle, the rivals' models and the input into `folder`; give the graph and Keras's output."""
    model = networks.make(name, folder)
    recipe = Recipe(name=name, source=PathSource(folder / f"{name}.keras"), backends=(backend,))
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection((backend,))), "bundle/", folder / "bundle")
        graph, values = optimised(engine, actions)
    (folder / "model.onnx").write_bytes(onnx_export.export(graph, values))
    if "tfjs" in rivals:
        tfjs_export.export(graph, values, folder)
    shape = (1, *model.inputs[0].shape[1:])
    fixed = keras.Input(batch_shape=shape)
    with redirect_stdout(sys.stderr):
        (folder / "model.tflite").write_bytes(tf.lite.TFLiteConverter.from_keras_model(keras.Model(fixed, model(fixed))).convert())
    x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    (folder / "last.bin").write_bytes(x.tobytes())
    (folder / "first.bin").write_bytes(np.ascontiguousarray(x.transpose(0, 3, 1, 2)).tobytes())
    return graph, np.asarray(model.predict(x, verbose=0))


def measure(graph: Graph, folder: Path, options: Mapping[str, Any], rivals: Sequence[str], rounds: int) -> dict[str, Any]:
    (name,) = graph.inputs
    last = list(graph.type(name).shape)
    given = {**options, "input": name, "last": last, "first": [last[axis] for axis in (0, 3, 1, 2)]}
    page = {"/": (200, "text/html", PAGE.encode()), "/bench.mjs": (200, "text/javascript", (HERE / "bench_networks.mjs").read_bytes())}
    folders = {"/data/": folder, "/bundle/": folder / "bundle", "/npm/": HERE / "rivals" / "node_modules"}
    with Server(folders, headers=ISOLATED, route=lambda path, body: page.get(path)) as server:
        session = browsers.session("chromium")
        session.set_script_timeout(1800)
        session.get(f"{server.url}/")
        script = "const done = arguments[3]; import('/bench.mjs').then((m) => m.run(...Array.from(arguments).slice(0, 3))).then(done, (e) => done({error: String(e)}))"
        engines = ["webkiln", *([ALONE] if options["threads"] > 1 else []), *rivals]
        result: dict[str, Any] = session.execute_async_script(script, engines, given, rounds)
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


def error(got: Array, reference: Array) -> float:
    return float(np.max(np.abs(got - reference)) / max(float(np.max(np.abs(reference))), 1e-6))


def report(name: str, result: Mapping[str, Any], reference: Array) -> None:
    ours = np.array(result["times"]["webkiln"])
    for engine, times in result["times"].items():
        output = np.array(result["outputs"][engine])
        if output.size == reference.size and engine == "onnxruntime" and reference.ndim == 4:
            output = output.reshape(reference.transpose(0, 3, 1, 2).shape).transpose(0, 2, 3, 1)
        wrong = error(output.reshape(reference.shape), reference)
        if wrong > TOLERANCE:
            raise RuntimeError(f"{name}: the output of {engine} is {wrong:.1e} from Keras's, at most {TOLERANCE:.0e} is allowed")
        line = f"{name:12} {engine:14} {np.median(times):8.2f} ms   error {wrong:.1e}"
        if engine != "webkiln":
            ratio = ours / np.array(times)
            line += f"   webkiln/{engine} {np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(networks.NETWORKS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--backend", choices=("wasm", "js"), default="wasm")
    parser.add_argument("--variant", choices=("relaxed", "simd"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rivals", default=",".join(RIVALS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rivals = [name for name in options.rivals.split(",") if name]
    results = {}
    for name in options.networks or ("resnet50", "mobilenetv2"):
        with TemporaryDirectory() as folder:
            graph, reference = prepare(name, options.backend, rivals, Path(folder))
            variant = {"variant": options.variant} if options.variant else {}
            given = {"backend": options.backend, "threads": options.threads, **variant}
            result = measure(graph, Path(folder), given, rivals, options.rounds)
        report(name, result, reference)
        results[name] = result["times"]
    if options.json:
        options.json.write_text(json.dumps(results))


if __name__ == "__main__":
    main()
