"""Time of entire networks, compared with onnxruntime-web, LiteRT.js and TensorFlow.js. Each engine
uses the same kind of backend, in one page of headless Chromium, and engines alternate.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_networks resnet50 mobilenetv2 [--rounds 6]
        [--variant simd] [--threads 2]
    .venv/bin/python -m tests.bench.bench_networks mobilenetv2 transformer --backend webgl

All engines run the same weights on the same input through their public API; times include copying
inputs and outputs. Outputs must agree with those of Keras to 1e-3. The table lists medians, and the
median and the extremes of our time divided by a rival's in the same round.
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
from tests.programs import program
from webkiln import canonical
from webkiln.backends import browsers, toolchain
from webkiln.backends.compare import relative_error
from webkiln.backends.server import ISOLATED, Server
from webkiln.backends.table import REGISTRY
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.codegen.steps import flops
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import from_json
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

Make = Callable[[str, Path], Any]
HERE = Path(__file__).parent
RIVALS = ("onnxruntime", "litert", "tfjs")
COMPARABLE = {"wasm": RIVALS, "js": ("tfjs",), "webgl": ("onnxruntime", "tfjs"), "webgpu": RIVALS}
"""Backend -> the engines that have one of the same kind. In JavaScript only TensorFlow.js has one,
`cpu`.
"""
ALONE = "webkiln alone"
"""Our time with one thread, for comparisons with several threads."""
TOLERANCE = 1e-3
PATIENCE_S = 1800
"""The timeout of a page that measures one network."""
PAGE = """<!doctype html><title>bench</title>
<script type="importmap">
{"imports": {"@litertjs/wasm-utils": "/npm/@litertjs/wasm-utils/dist/index.js"}}</script>"""


def optimised(engine: Engine, actions: ModelGraph) -> tuple[Graph, dict[str, Array]]:
    """The optimised graph of the bundle, and the values of its constant subgraph."""

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


def flatten(outputs: Any) -> dict[str, Array]:
    """The outputs of a Keras network by name. A single output is named `output`."""
    return {
        name: np.asarray(value)
        for name, value in (outputs if isinstance(outputs, dict) else {"output": outputs}).items()
    }


def prepare(
    name: str,
    backends: Sequence[str],
    rivals: Sequence[str],
    folder: Path,
    make: Make = networks.make,
) -> dict[str, Array]:
    """Write the bundle, the rivals' models, the inputs and the number of operations into `folder`.
    Returns the outputs of Keras by name. `make` builds the network, and saves it there.

    Runs in separate processes, since frameworks keep gigabytes of memory after a conversion.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:
        process.submit(write_saved_model, name, folder, make).result()
        process.submit(write_tflite, folder).result()
        return process.submit(write, name, tuple(backends), tuple(rivals), folder, make).result()


def inputs_of(model: Any) -> dict[str, Array]:
    """Reproducible random inputs of a network by name."""
    rng = np.random.default_rng(5)
    tensors = ((tensor._keras_history.operation.name, tensor) for tensor in model.inputs)
    return {
        name: rng.standard_normal((1, *tensor.shape[1:])).astype(np.float32)
        for name, tensor in tensors
    }


def write_tflite(folder: Path) -> None:
    with redirect_stdout(sys.stderr):
        (folder / "model.tflite").write_bytes(
            tf.lite.TFLiteConverter.from_saved_model(str(folder / "saved_model")).convert()
        )


def write(
    name: str, backends: Sequence[str], rivals: Sequence[str], folder: Path, make: Make
) -> dict[str, Array]:
    """Write the bundle, the other models and the inputs. Returns the outputs of Keras by name."""
    model = make(name, folder)
    recipe = Recipe(
        name=name, source=PathSource(folder / f"{name}.keras"), backends=tuple(backends)
    )
    inputs = inputs_of(model)
    outputs = flatten(
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
        json.dumps(flops(program(graph, REGISTRY["js"], "float32")["main"]))
    )
    write_inputs(inputs, folder)
    return outputs


def write_saved_model(name: str, folder: Path, make: Make) -> None:
    """Write the network as constants and operators, with named inputs and outputs."""
    model = make(name, folder)
    inputs = inputs_of(model)
    specs = {name: tf.TensorSpec(value.shape, tf.float32, name) for name, value in inputs.items()}

    def trace(function: Callable[..., Any]) -> Any:
        return tf.function(function, autograph=False).get_concrete_function(**specs)

    def compute(**arguments: Any) -> Any:
        outputs = model(
            [arguments[name] for name in inputs]
            if len(inputs) > 1
            else arguments[next(iter(inputs))]
        )
        return outputs if isinstance(outputs, dict) else {"output": outputs}

    concrete = trace(compute)
    frozen = convert_variables_to_constants_v2(concrete)

    def serve(**arguments: Any) -> Any:
        values = frozen(*(arguments[tensor.name.partition(":")[0]] for tensor in frozen.inputs))
        return dict(zip(sorted(concrete.structured_outputs), values, strict=True))

    with redirect_stdout(sys.stderr):
        tf.saved_model.save(
            tf.Module(),
            folder / "saved_model",
            trace(serve),
            tf.saved_model.SaveOptions(experimental_custom_gradients=False),
        )


def write_inputs(inputs: Mapping[str, Array], folder: Path) -> None:
    """Write all values in sequence, once with channels last and once with channels first, and an
    index.
    """
    first = {
        name: np.ascontiguousarray(np.moveaxis(value, -1, 1) if value.ndim == 4 else value)
        for name, value in inputs.items()
    }
    layouts = {
        name: {"last": value.shape, "first": first[name].shape, "size": value.size}
        for name, value in inputs.items()
    }
    (folder / "inputs.json").write_text(json.dumps(layouts))
    (folder / "last.bin").write_bytes(b"".join(value.tobytes() for value in inputs.values()))
    (folder / "first.bin").write_bytes(b"".join(value.tobytes() for value in first.values()))


def measure(
    folder: Path, options: Mapping[str, Any], rivals: Sequence[str], rounds: int
) -> dict[str, Any]:
    """The times of each engine by round in milliseconds, its outputs, the peak of relaxed SIMD by
    round in GFLOP/s, and the reasons why other engines were refused.
    """
    toolchain.compile_objects([HERE / "peak.c"], [folder / "peak.o"], "relaxed")
    toolchain.link([folder / "peak.o"], folder / "peak.wasm")
    with bench_page(folder) as session:
        engines = [{"name": name, "engine": name} for name in ("webkiln", *rivals)]
        if options["threads"] > 1:
            engines.append({"name": ALONE, "engine": "webkiln", "threads": 1})
        return run_page(session, engines, options, rounds)


def run_page(
    session: Any,
    engines: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    rounds: int,
) -> dict[str, Any]:
    """The result of the page's `run`."""
    script = (
        "const done = arguments[3]; import('/bench.mjs').then((m) =>"
        " m.run(...Array.from(arguments).slice(0, 3))).then(done, (e) => done({error: String(e)}))"
    )
    result: dict[str, Any] = session.execute_async_script(script, engines, options, rounds)
    if "error" in result:
        raise RuntimeError(result["error"])
    return result


@contextmanager
def bench_page(folder: Path) -> Iterator[Any]:
    """A Chromium session with a page that can run every engine on the files that `prepare` wrote
    into `folder`.
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
    """The largest relative difference of each engine's outputs from those of Keras. Raises
    RuntimeError if one is above TOLERANCE.
    """
    result_errors = {}
    for engine, outputs in result["outputs"].items():
        outputs_by_name = (
            outputs if len(reference) > 1 else dict(zip(reference, outputs.values(), strict=True))
        )
        result_errors[engine] = max(
            relative_error(channels_last(np.array(outputs_by_name[key]), engine, value), value)
            for key, value in reference.items()
        )
        if not result_errors[engine] <= TOLERANCE:
            raise RuntimeError(
                f"{name}: the output of {engine} differs by {result_errors[engine]:.1e} from that"
                f" of Keras, at most {TOLERANCE:.0e} is allowed"
            )
    return result_errors


def channels_last(values: Array, engine: str, reference: Array) -> Array:
    if engine == "onnxruntime" and reference.ndim == 4:
        return np.moveaxis(values.reshape(np.moveaxis(reference, -1, 1).shape), 1, -1)
    return values.reshape(reference.shape)


def report(name: str, result: Mapping[str, Any], reference: Mapping[str, Array]) -> None:
    ours, error_of = np.array(result["times"]["webkiln"]), errors(name, result, reference)
    for engine, times in result["times"].items():
        line = f"{name:12} {engine:14} {np.median(times):8.2f} ms   error {error_of[engine]:.1e}"
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
    parser.add_argument("--backend", choices=COMPARABLE, default="wasm")
    parser.add_argument("--variant", choices=("relaxed", "simd"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--rivals", help="separated by commas; by default all that have the backend"
    )
    options = parser.parse_args()
    rivals = (
        COMPARABLE[options.backend]
        if options.rivals is None
        else [name for name in options.rivals.split(",") if name]
    )
    for name in options.networks or ("resnet50", "mobilenetv2"):
        with TemporaryDirectory() as folder:
            reference = prepare(name, (options.backend,), rivals, Path(folder))
            variant = {"variant": options.variant} if options.variant else {}
            settings = {"backend": options.backend, "threads": options.threads, **variant}
            report(name, measure(Path(folder), settings, rivals, options.rounds), reference)


if __name__ == "__main__":
    main()
