"""Reference outputs: what TensorFlow computes for made-up inputs, with its own optimiser and without."""

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from webkiln.errors import SourceError, ToolError
from webkiln.frontends.nodes.sampled import SampledInputs
from webkiln.frontends.tensorflow.files import chosen_signature, is_saved_model, read_program
from webkiln.frontends.tensorflow.source import split_reference
from webkiln.inputs import ModelRun, reference_arrays
from webkiln.ir.types import Array


def compute_reference(
    path: Path, folder: Path | None, signature: str, inputs: SampledInputs
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz."""
    run = runner(import_tensorflow(), path, folder, signature, inputs.fixed)
    return reference_arrays(inputs.sets(path.name, run), run)


def import_tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    try:
        import tensorflow as tf
    except ImportError:
        raise ToolError("reference outputs are what TensorFlow computes; install it: pip install tensorflow-cpu") from None
    return tf


def runner(tf: Any, path: Path, folder: Path | None, signature: str, fixed: Mapping[str, Array]) -> ModelRun:
    """A model as a function of named inputs."""
    try:
        function = _saved(tf, path, folder, signature) if is_saved_model(path) else _imported(tf, path, folder)
    except SourceError:
        raise
    except Exception as error:
        raise SourceError(f"{path.name}: TensorFlow cannot load it: {type(error).__name__}: {error}") from error

    def run(values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        found = function({name: tf.constant(value) for name, value in {**values, **fixed}.items()})
        return {name: np.asarray(value) for name, value in found.items()}, {}

    return run


def _saved(tf: Any, path: Path, folder: Path | None, signature: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A SavedModel, which TensorFlow loads from a folder of its own form."""
    with TemporaryDirectory() as place:
        shutil.copyfile(path, Path(place, "saved_model.pb"))
        for name in ("variables", "assets"):
            if (source := (folder or path.parent) / name).is_dir():
                shutil.copytree(source, Path(place, name))
        model = tf.saved_model.load(place)
    chosen = model.signatures[chosen_signature(path, signature)]

    def call(values: dict[str, Any]) -> dict[str, Any]:
        # The function reads the variables of the model, which lives as long as something names it.
        assert model is not None
        return dict(chosen(**values))

    return call


def _imported(tf: Any, path: Path, folder: Path | None) -> Callable[[dict[str, Any]], dict[str, Any]]:
    program = read_program(path, folder)
    graph = tf.compat.v1.GraphDef.FromString(program.frozen().SerializeToString())
    wrapped = tf.compat.v1.wrap_function(lambda: tf.compat.v1.import_graph_def(graph, name=""), [])
    inputs = [wrapped.graph.get_tensor_by_name(_tensor(item.tensor)) for item in program.inputs]
    outputs = {item.name: wrapped.graph.get_tensor_by_name(_tensor(item.tensor)) for item in program.outputs}
    function = wrapped.prune(inputs, outputs)
    return lambda values: dict(function(*(values[item.name] for item in program.inputs)))


def _tensor(reference: str) -> str:
    node, _, number = split_reference(reference)
    return f"{node}:{number}"
