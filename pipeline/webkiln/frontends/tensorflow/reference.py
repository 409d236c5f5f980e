"""Reference outputs: computed by TensorFlow on random inputs, and the outputs of nodes."""

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from webkiln.errors import SourceError, WebkilnError, missing_framework
from webkiln.frontends.core.arrays import two_parts
from webkiln.frontends.nodes.noise import noise_name
from webkiln.frontends.nodes.sample_inputs import Noise, SampledInputs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.nodes.subgraph import subgraph_reference, subgraph_run
from webkiln.frontends.tensorflow.draws import DERIVED, DRAWS, PARAMETERS
from webkiln.frontends.tensorflow.files import is_saved_model, read_program, served
from webkiln.frontends.tensorflow.inlined import Inliner
from webkiln.frontends.tensorflow.origins import layers
from webkiln.frontends.tensorflow.source import split_reference
from webkiln.frontends.tensorflow.unfused import unfuse
from webkiln.frontends.tensorflow.walk import SpecWriter
from webkiln.ir.types import Array


def compute_reference(
    path: Path, folder: Path | None, signature: str, part: NodeModel, inputs: SampledInputs
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    """The arrays of reference.npz and of layers.npz, for the model or a subgraph. A node with
    several outputs is not a layer, since a bundle records the last one only.
    """
    tf = import_tensorflow()
    with TemporaryDirectory() as directory:
        names = {item.name for item in (*part.graph.inputs, *part.graph.outputs)}
        run = Computed(tf, path, folder, signature, inputs.fixed, Path(directory), names)
        inputs = inputs.with_noises(run.noises(inputs.natural()))
        sets = inputs.sets(path.name, subgraph_run(part, path.name, run))
        reference, layers = subgraph_reference(part, inputs, sets, path.name, [run])
    several = {node.name for node in part.graph.nodes if len([*filter(None, node.outputs)]) > 1}
    return reference, {
        key: value for key, value in layers.items() if key.partition("/")[2] not in several
    }


def import_tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    try:
        import tensorflow as tf
    except ImportError:
        raise missing_framework("TensorFlow", "tensorflow") from None
    return tf


class Computed:
    """A model as a function of named inputs, which returns the outputs of nodes and of requested
    `names`. Every run starts with the file's states. `place` is an empty folder. TensorFlow's
    optimizer is disabled, since it replaces nodes.
    """

    def __init__(
        self,
        tf: Any,
        path: Path,
        folder: Path | None,
        signature: str,
        fixed: Mapping[str, Array],
        directory: Path,
        names: Collection[str] = (),
    ) -> None:
        self.tf, self.name, self.fixed = tf, path.name, fixed
        self.program = read_program(path, folder, signature)
        walk = SpecWriter(self.program)
        graph = walk.model().graph
        requested = {
            name: walk.origins[tensor]
            for name, tensor in walk.passed.items()
            if name in names and tensor in walk.origins
        }
        self.layers = {
            label: f"{item.node}:{item.index}"
            for label, item in (requested | layers(graph, walk.origins)).items()
        }
        self.keeps = any(node.op == "STATE" for node in graph.nodes)
        self.inputs = {item.name: flat(item.tensor) for item in self.program.inputs}
        self.draws = {
            noise_name(node.name): (walk.origins[node.outputs[0]].node, DRAWS[node.op])
            for node in graph.nodes
            if node.op in DRAWS
        }
        if derived := [node.name for node in graph.nodes if node.op in DERIVED]:
            raise SourceError(
                f"{path.name}: there is no reference to verify with: TensorFlow draws the random"
                f" numbers of {', '.join(derived)}, which are inputs of the bundle"
            )
        self.inputs |= {name: f"{node}:0" for name, (node, _) in self.draws.items()}
        config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        self.session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        self.restoring: tuple[str, dict[str, str]] | None = None
        try:
            if is_saved_model(path):
                self.outputs = self._saved(path, folder or path.parent, directory)
            else:
                self.outputs = self._imported()
        except WebkilnError:
            raise
        except Exception as error:
            raise SourceError(
                f"{path.name}: TensorFlow cannot load it: {type(error).__name__}: {error}"
            ) from error

    def __call__(self, values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        feeds = {self.inputs[name]: value for name, value in {**values, **self.fixed}.items()}
        try:
            if self.keeps and self.restoring is not None:
                self.session.run(*self.restoring)
            outputs, inner = self.session.run((self.outputs, self.layers), feeds)
        except self.tf.errors.OpError as error:
            raise SourceError(f"{self.name}: TensorFlow cannot run it: {error.message}") from error
        return {name: np.asarray(value) for name, value in outputs.items()}, {
            name: two_parts(np.asarray(value)) for name, value in inner.items()
        }

    def noises(self, values: Mapping[str, Array]) -> dict[str, Noise]:
        """The random numbers that the model draws, by the names of inputs."""
        result = {}
        feeds = {self.inputs[name]: value for name, value in {**values, **self.fixed}.items()}
        for name, (node, draw) in self.draws.items():
            operation = self.session.graph.get_operation_by_name(node)
            bounds = [operation.inputs[position] for position in draw.bounds or ()]
            drawn, *numbers = self.session.run([operation.outputs[0], *bounds], feeds)
            first, second = numbers or PARAMETERS[draw.distribution]
            result[name] = Noise(
                str(np.promote_types(drawn.dtype, np.float32))
                if drawn.dtype.kind == "f"
                else str(drawn.dtype),
                tuple(drawn.shape),
                draw.distribution,
                (float(first), float(second)),
            )
        return result

    def _saved(self, path: Path, folder: Path, directory: Path) -> dict[str, str]:
        """A SavedModel, which TensorFlow loads from a folder in its own layout."""
        from tensorflow.core.protobuf import saved_model_pb2

        saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
        chosen = served(saved.meta_graphs)
        outputs = self._inlined(chosen.graph_def)
        for name in ("variables", "assets"):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, directory / name)
        restoring, file = chosen.saver_def.restore_op_name, chosen.saver_def.filename_tensor_name
        if (directory / "variables").is_dir():
            self.restoring = restoring, {file: str(directory / "variables" / "variables")}
        else:
            chosen.ClearField("saver_def")
        chosen.ClearField("object_graph_def")
        (directory / "saved_model.pb").write_bytes(
            type(saved)(saved_model_schema_version=1, meta_graphs=[chosen]).SerializeToString()
        )
        self.tf.compat.v1.saved_model.load(
            self.session, list(chosen.meta_info_def.tags), str(directory)
        )
        return outputs

    def _imported(self) -> dict[str, str]:
        graph = self.tf.compat.v1.GraphDef.FromString(self.program.frozen().SerializeToString())
        unfuse(graph)
        outputs = self._inlined(graph)
        with self.session.graph.as_default():
            self.tf.import_graph_def(graph, name="")
        return outputs

    def _inlined(self, graph: Any) -> dict[str, str]:
        from tensorflow.python.framework import op_def_registry

        return Inliner(graph, op_def_registry.get, self.name).written(
            {item.name: item.tensor for item in self.program.outputs}
        )


def flat(reference: str) -> str:
    node, _, number = split_reference(reference)
    return f"{node}:{number}"
