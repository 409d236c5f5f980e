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
from tests.frontends.tensorflow.array_graphs import ARRAY_GRAPHS
from tests.frontends.tensorflow.composite_graphs import COMPOSITE_GRAPHS
from tests.frontends.tensorflow.control_graphs import CONTROL_GRAPHS
from tests.frontends.tensorflow.graph_inputs import sample
from tests.frontends.tensorflow.image_graphs import IMAGE_GRAPHS
from tests.frontends.tensorflow.math_graphs import MATH_GRAPHS
from tests.frontends.tensorflow.sequence_networks import SEQUENCE_NETWORKS
from tests.frontends.tensorflow.signal_graphs import SIGNAL_GRAPHS
from tests.frontends.tensorflow.vector_networks import VECTOR_NETWORKS
from tests.frontends.tensorflow.vision_networks import VISION_NETWORKS

FOLDER = Path(__file__).parent / "corpus"
GRAPHS = {
    **IMAGE_GRAPHS,
    **MATH_GRAPHS,
    **ARRAY_GRAPHS,
    **CONTROL_GRAPHS,
    **SIGNAL_GRAPHS,
    **COMPOSITE_GRAPHS,
    **VISION_NETWORKS,
    **SEQUENCE_NETWORKS,
    **VECTOR_NETWORKS,
}
TENSORFLOW_1 = (
    "conditions",
    "loops",
    "nested",
    "called",
    "recurrent",
    "translated",
    "searched_beams",
)
"""Graphs that are also frozen with the control flow of TensorFlow 1."""
NOISE = (
    "_output_shapes",
    "_collective_manager_ids",
    "config_proto",
    "_read_only_resource_inputs",
    "_has_manual_control_dependencies",
)
"""Attributes without effect on the outputs."""


def make(name: str) -> None:
    function, specs = GRAPHS[name]
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
    for suffix, lower_control_flow in ((".pb", False), (".v1.pb", True)):
        if lower_control_flow and name not in TENSORFLOW_1:
            continue
        graph = convert_variables_to_constants_v2(
            concrete, lower_control_flow=lower_control_flow
        ).graph.as_graph_def()
        _strip(graph)
        (FOLDER / f"{name}{suffix}").write_bytes(graph.SerializeToString(deterministic=True))


def _save(name: str, concrete: object) -> None:
    """Write a SavedModel as a ZIP archive of its files. The graphs have no variables."""
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
            for path, data in files.items():
                archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)


def _strip(graph: object) -> None:
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):  # type: ignore[attr-defined]
        for node in nodes:
            node.ClearField("experimental_debug_info")
            for key in NOISE:
                node.attr.pop(key, None)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for argument in sys.argv[1:] or GRAPHS:
        make(argument)
