"""Whole networks beside onnxruntime-web, LiteRT.js and TensorFlow.js, each on the same kind of
backend, in one page of headless Chromium, in turn.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_networks resnet50 mobilenetv2 [--rounds 6] [--variant
    simd] [--threads 2] .venv/bin/python -m tests.bench.bench_networks mobilenetv2 transformer
    --backend webgl

All run the same weights on the same input, through their public calls, input and output included;
outputs must agree with Keras's to 1e-3. The table has medians, and of our time divided by a rival's
in the same round the median and the extremes.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.bench import networks, onnx_export, sequences, tfjs_export
from webkiln import canonical
from webkiln.backends import browsers, toolchain
from webkiln.backends.compare import relative_error
from webkiln.backends.js import TARGET
from webkiln.backends.server import ISOLATED, Server
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.codegen.steps import flops
from webkiln.ir.graph import Graph
from webkiln.ir.serial import from_json
from webkiln.ir.types import Array
from webkiln.ops.evaluate import constant_values
from webkiln.program import program
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

HERE = Path(__file__).parent
RIVALS = ("onnxruntime", "litert", "tfjs")
SAME = {"wasm": RIVALS, "js": ("tfjs",), "webgl": ("onnxruntime", "tfjs"), "webgpu": RIVALS}
"""Who has a backend of the kind: JavaScript alone has TensorFlow.js, as `cpu`."""
ALONE = "webkiln alone"
"""Our time with one thread, where the others have several."""
TOLERANCE = 1e-3
PATIENCE_S = 1800
"""What a page may take to measure one network."""
PAGE = """<!doctype html><title>bench</title>
<script type="importmap">
{"imports": {"@litertjs/wasm-utils": "/npm/@litertjs/wasm-utils/dist/index.js"}}</script>"""


def optimised(engine: Engine, actions: ModelGraph) -> tuple[Graph, dict[str, Array]]:
    """The graph that the bundle is made from, and the values of its fixed part."""

    def path(action: Any, name: str) -> Path:
        return engine.cache.store.path(engine.run(action).outputs[name].sha256)

    graph = from_json(canonical.read(path(actions.optimize().action, "graph.json")))
    slots = canonical.read(path(actions.convert(), "weights.json"))["slots"]
    with TemporaryDirectory() as folder:
        engine.publish(actions.load(), "weights/", Path(folder) / "weights")
        values = {
            name: (
                np.fromfile(Path(folder) / "weights" / slot["digest"], slot["dtype"]).reshape(
                    slot["shape"]
                )
            )
            for name, slot in slots.items()
        }
    return graph, constant_values(graph, values)


def flattened(outputs: Any) -> dict[str, Array]:
    """The outputs of a network of Keras by name, one output as `output`."""
    return {
        name: np.asarray(value)
        for name, value in (outputs if isinstance(outputs, dict) else {"output": outputs}).items()
    }


def prepare(
    name: str, backends: Sequence[str], rivals: Sequence[str], folder: Path
) -> dict[str, Array]:
    """Write the bundle, the rivals' models, the inputs and the number of operations into `folder`;
    give Keras's outputs by name.

    That is done in processes of their own, since frameworks keep gigabytes of what they have
    converted.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:
        process.submit(write_saved_model, name, folder).result()
        process.submit(write_tflite, folder).result()
        return process.submit(write, name, tuple(backends), tuple(rivals), folder).result()


def inputs_of(model: Any) -> dict[str, Array]:
    """Random inputs of a network by name, the same every time."""
    rng = np.random.default_rng(5)
    named = ((tensor._keras_history.operation.name, tensor) for tensor in model.inputs)
    return {
        name: rng.standard_normal((1, *tensor.shape[1:])).astype(np.float32)
        for name, tensor in named
    }


def write_tflite(folder: Path) -> None:
    with redirect_stdout(sys.stderr):
        (folder / "model.tflite").write_bytes(
            tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved_model")).convert()
        )


def write(
    name: str, backends: Sequence[str], rivals: Sequence[str], folder: Path
) -> dict[str, Array]:
    """The bundle, the other models, and what they are given."""
    model = networks.make(name, folder)
    recipe = Recipe(
        name=name, source=PathSource(folder / f"{name}.keras"), backends=tuple(backends)
    )
    inputs = inputs_of(model)
    outputs = flattened(
        model.predict(
            [*inputs.values()] if len(inputs) > 1 else next(iter(inputs.values())), verbose=0
        )
    )
    with Engine(folder / "state") as engine:
        actions = ModelGraph(recipe, engine.share)
        engine.publish(actions.bundle(Selection(tuple(backends))), "bundle/", folder / "bundle")
        graph, values = optimised(engine, actions)
    onnx = (
        sequences.onnx(name, model, inputs, list(outputs))
        if name in sequences.SEQUENCES
        else onnx_export.export(graph, values)
    )
    (folder / "model.onnx").write_bytes(onnx)
    if "tfjs" in rivals:
        tfjs_export.export(graph, values, folder)
    (folder / "operations.json").write_text(
        json.dumps(flops(program(graph, TARGET, "float32")["main"]))
    )
    write_inputs(inputs, folder)
    return outputs


def write_saved_model(name: str, folder: Path) -> None:
    """The network as constants and operators, with names for its inputs and outputs."""
    model = networks.make(name, folder)
    inputs = inputs_of(model)
    specs = {name: tf.TensorSpec(value.shape, tf.float32, name) for name, value in inputs.items()}

    def traced(function: Callable[..., Any]) -> Any:
        return tf.function(function, autograph=False).get_concrete_function(**specs)

    def compute(**given: Any) -> Any:
        outputs = model(
            [given[name] for name in inputs] if len(inputs) > 1 else given[next(iter(inputs))]
        )
        return outputs if isinstance(outputs, dict) else {"output": outputs}

    computed = traced(compute)
    frozen = convert_variables_to_constants_v2(computed)

    def serve(**given: Any) -> Any:
        values = frozen(*(given[tensor.name.partition(":")[0]] for tensor in frozen.inputs))
        return dict(zip(sorted(computed.structured_outputs), values, strict=True))

    with redirect_stdout(sys.stderr):
        tf.saved_model.save(
            tf.Module(),
            folder / "saved_model",
            traced(serve),
            tf.saved_model.SaveOptions(experimental_custom_gradients=False),
        )


def write_inputs(inputs: Mapping[str, Array], folder: Path) -> None:
    """The values one after another, with channels last and first, and where each is."""
    first = {
        name: np.ascontiguousarray(np.moveaxis(value, -1, 1) if value.ndim == 4 else value)
        for name, value in inputs.items()
    }
    places = {
        name: {"last": value.shape, "first": first[name].shape, "size": value.size}
        for name, value in inputs.items()
    }
    (folder / "inputs.json").write_text(json.dumps(places))
    (folder / "last.bin").write_bytes(b"".join(value.tobytes() for value in inputs.values()))
    (folder / "first.bin").write_bytes(b"".join(value.tobytes() for value in first.values()))


def measure(
    folder: Path, options: Mapping[str, Any], rivals: Sequence[str], rounds: int
) -> dict[str, Any]:
    """The times of each engine by round in milliseconds, its outputs, the peak of relaxed SIMD by
    round in GFLOP/s, and why others were refused.
    """
    toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
    toolchain.link([folder / "peak.o"], folder / "peak.wasm")
    with measuring(folder) as session:
        engines = ["webkiln", *([ALONE] if options["threads"] > 1 else []), *rivals]
        return ran(session, engines, options, rounds)


def ran(
    session: Any, engines: Sequence[str], options: Mapping[str, Any], rounds: int
) -> dict[str, Any]:
    """What the page's `run` gives."""
    script = (
        "const done = arguments[3]; import('/bench.mjs').then((m) =>"
        " m.run(...Array.from(arguments).slice(0, 3))).then(done, (e) => done({error: String(e)}))"
    )
    result: dict[str, Any] = session.execute_async_script(script, engines, options, rounds)
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


@contextmanager
def measuring(folder: Path) -> Iterator[Any]:
    """A session of Chromium at a page that can run every engine on what `prepare` wrote into
    `folder`.
    """
    modules = {"/bench.mjs": "bench_networks.mjs", "/work.mjs": "bench_gpu_work.mjs"}
    page = {"/": (200, "text/html", PAGE.encode())}
    page |= {
        path: (200, "text/javascript", (HERE / name).read_bytes()) for path, name in modules.items()
    }
    folders = {
        "/data/": folder,
        "/bundle/": folder / "bundle",
        "/npm/": HERE / "rivals" / "node_modules",
    }
    with Server(folders, headers=ISOLATED, route=lambda path, body: page.get(path)) as server:
        session = browsers.session("chromium")
        session.set_script_timeout(PATIENCE_S)
        session.command_executor.client_config.timeout = PATIENCE_S
        session.get(f"{server.url}/")
        yield session


def errors(
    name: str, result: Mapping[str, Any], reference: Mapping[str, Array]
) -> dict[str, float]:
    """Of each engine the largest difference of an output from Keras's. RuntimeError where it is too
    large.
    """
    found = {}
    for engine, outputs in result["outputs"].items():
        named = (
            outputs if len(reference) > 1 else dict(zip(reference, outputs.values(), strict=True))
        )
        found[engine] = max(
            relative_error(channels_last(np.array(named[key]), engine, value), value)
            for key, value in reference.items()
        )
        if not found[engine] <= TOLERANCE:
            raise RuntimeError(
                f"{name}: the output of {engine} is {found[engine]:.1e} from Keras's, at most"
                f" {TOLERANCE:.0e} is allowed"
            )
    return found


def channels_last(values: Array, engine: str, reference: Array) -> Array:
    if engine == "onnxruntime" and reference.ndim == 4:
        return np.moveaxis(values.reshape(np.moveaxis(reference, -1, 1).shape), 1, -1)
    return values.reshape(reference.shape)


def report(name: str, result: Mapping[str, Any], reference: Mapping[str, Array]) -> None:
    ours, wrong = np.array(result["times"]["webkiln"]), errors(name, result, reference)
    for engine, times in result["times"].items():
        line = f"{name:12} {engine:14} {np.median(times):8.2f} ms   error {wrong[engine]:.1e}"
        if engine != "webkiln":
            ratio = ours / np.array(times)
            line += (
                f"   webkiln/{engine} {np.median(ratio):.2f} ({ratio.min():.2f} to"
                f" {ratio.max():.2f})"
            )
        print(line, flush=True)
    for engine, reason in result["refused"].items():
        print(f"{name:12} {engine:14} {reason}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK", help=", ".join(networks.NETWORKS))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--backend", choices=SAME, default="wasm")
    parser.add_argument("--variant", choices=("relaxed", "simd"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--rivals", help="separated by commas; by default all that have the backend"
    )
    options = parser.parse_args()
    rivals = (
        SAME[options.backend]
        if options.rivals is None
        else [name for name in options.rivals.split(",") if name]
    )
    for name in options.networks or ("resnet50", "mobilenetv2"):
        with TemporaryDirectory() as folder:
            reference = prepare(name, (options.backend,), rivals, Path(folder))
            variant = {"variant": options.variant} if options.variant else {}
            given = {"backend": options.backend, "threads": options.threads, **variant}
            report(name, measure(Path(folder), given, rivals, options.rounds), reference)


if __name__ == "__main__":
    main()
