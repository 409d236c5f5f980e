"""Writes the corpus: `python -m tests.frontends.tensorflow.make [NAME ...]`. Each graph is saved by
TensorFlow 2 as a SavedModel, and frozen as a GraphDef.
"""

import os
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.frontends.corpus import write_sample
from tests.frontends.tensorflow.graphs import GRAPHS, sample
from tests.frontends.tensorflow.networks import NETWORKS

FOLDER = Path(__file__).parent / "corpus"
EVERY = {**GRAPHS, **NETWORKS}
OLD = ("conditions", "loops", "nested", "called", "recurrent", "translated", "searched_beams")
"""What is also frozen with the control flow of TensorFlow 1."""
NOISE = (
    "_output_shapes",
    "_collective_manager_ids",
    "config_proto",
    "_read_only_resource_inputs",
    "_has_manual_control_dependencies",
)
"""Attributes that say nothing of what is computed."""


def make(name: str) -> None:
    function, specs = EVERY[name]
    signature = [
        tf.TensorSpec(shape, dtype, name=f"x{number}")
        for number, (shape, dtype) in enumerate(specs)
    ]
    concrete = tf.function(function, input_signature=signature).get_concrete_function()
    inputs = {
        f"x{number}": sample(shape, dtype, number) for number, (shape, dtype) in enumerate(specs)
    }
    outputs = {
        key: np.asarray(value)
        for key, value in concrete(
            **{key: tf.constant(value) for key, value in inputs.items()}
        ).items()
    }
    _save(name, concrete)
    write_sample(FOLDER / f"{name}.zip", inputs, outputs)
    for suffix, is_old in ((".pb", False), (".v1.pb", True)):
        if is_old and name not in OLD:
            continue
        graph = convert_variables_to_constants_v2(
            concrete, lower_control_flow=is_old
        ).graph.as_graph_def()
        _strip(graph)
        (FOLDER / f"{name}{suffix}").write_bytes(graph.SerializeToString(deterministic=True))


def _save(name: str, concrete: object) -> None:
    """A SavedModel as an archive of its files; without variables that is the graph alone."""
    module = tf.Module()
    module.function = concrete
    with TemporaryDirectory() as folder:
        tf.saved_model.save(module, folder, signatures=concrete)
        saved = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes())
        for meta in saved.meta_graphs:
            meta.ClearField("object_graph_def")
            _strip(meta.graph_def)
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(Path(folder).rglob("*"))
            if path.is_file()
        }
        files["saved_model.pb"] = saved.SerializeToString(deterministic=True)
        del files["fingerprint.pb"]
        with zipfile.ZipFile(FOLDER / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for place, data in files.items():
                archive.writestr(zipfile.ZipInfo(place), data, zipfile.ZIP_DEFLATED)


def _strip(graph: object) -> None:
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):  # type: ignore[attr-defined]
        for node in nodes:
            node.ClearField("experimental_debug_info")
            for key in NOISE:
                node.attr.pop(key, None)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for wanted in sys.argv[1:] or EVERY:
        make(wanted)
