"""Reference runs with TensorFlow: outputs, the values of all nodes, and initial states."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tests.frontends.corpus import TOLERANCE
from tests.frontends.tensorflow.modules import Scored, old, stepping
from tests.frontends.tensorflow.references import Arrays, reference
from tests.frontends.tensorflow.samples import arrays, saved
from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.dtypes import LISTED, RESULTS, USUAL
from webkiln.frontends.tensorflow.fold import FOLDS
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.messages import dtype_name
from webkiln.frontends.tensorflow.operators.complex import COMPLEX
from webkiln.frontends.tensorflow.operators.table import OPERATORS
from webkiln.frontends.tensorflow.reference import Computed
from webkiln.ops.evaluate import run_graph


def run(path: Path, inputs: Arrays, folder: Path) -> tuple[Arrays, Arrays]:
    return Computed(tf, path, None, "", {}, folder)(inputs)  # type: ignore[return-value]


@pytest.mark.parametrize(
    "name",
    ["called", "conditions", "curves", "encoder", "loops", "lookups", "nested", "spectrogram"],
)
def test_outputs_are_those_of_the_corpus(name: str, tmp_path: Path) -> None:
    """Also those of nodes in functions, which are inlined."""
    recorded = {
        role: {
            key[len(role) :]: value for key, value in arrays(name).items() if key.startswith(role)
        }
        for role in ("in/", "out/")
    }
    folder = tmp_path / "inlined"
    folder.mkdir()
    outputs, inner = run(saved(name, tmp_path / "saved"), recorded["in/"], folder)
    assert outputs.keys() == recorded["out/"].keys()
    assert all(
        relative_error(outputs[key], value) <= TOLERANCE for key, value in recorded["out/"].items()
    )
    assert inner


@pytest.mark.parametrize("name", ["stepping", "keeping", "old"])
def test_every_node_is_a_layer(name: str, tmp_path: Path) -> None:
    """A subgraph that ends at a node has the output that the reference has for it."""
    path = old(tmp_path / name) if name == "old" else stepping(tmp_path / name, name)
    values, layers = reference(path)
    assert {key.partition("/")[0] for key in layers} == {"natural0", "natural1", "extreme"}
    for key in (key for key in layers if key.startswith("natural1/")):
        node = key.partition("/")[2]
        model, blobs = read_model(path, cut=Subgraph((), (node,)))
        graph = TensorFlowConverter().convert(model, blobs)
        inputs = {item: values[f"natural1/in/{item}"] for item in graph.inputs}
        got, _ = run_graph(
            TensorFlowConverter(
                input_shapes={item: array.shape for item, array in inputs.items()}
            ).convert(model, blobs),
            inputs,
        )
        assert (got[node].dtype, got[node].shape) == (layers[key].dtype, layers[key].shape), node
        assert relative_error(got[node], layers[key]) <= TOLERANCE, node
    nodes = {
        node.name
        for node in read_model(path)[0].graph.nodes
        if node.op not in ("STATE", "SET_STATE")
    }
    assert {key.partition("/")[2] for key in layers} <= nodes
    assert (
        {"tanh", "relu"} <= nodes
        if name != "old"
        else {"first", "after", "soft"} <= {key.partition("/")[2] for key in layers}
    )


def test_every_run_starts_from_the_saved_states(tmp_path: Path) -> None:
    path = stepping(tmp_path / "keeping", "keeping")
    (folder := tmp_path / "inlined").mkdir()
    compute = Computed(tf, path, None, "", {}, folder)
    x = np.ones((2, 4), np.float32)
    first, second = (compute({"x": x})[0]["y"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_variables_and_tables(tmp_path: Path) -> None:
    module = Scored()
    tf.saved_model.save(
        module,
        str(tmp_path / "scored"),
        signatures={"score": module.score, "doubled": module.doubled},
    )
    path = tmp_path / "scored" / "saved_model.pb"
    values, layers = reference(path, signature="score")
    x = values["natural0/in/x"]
    np.testing.assert_array_equal(
        values["natural0/out/label"], module.score(tf.constant(x))["label"].numpy()
    )
    np.testing.assert_allclose(layers["natural0/MatMul"], x @ module.weight.numpy(), rtol=1e-5)
    assert reference(path, signature="doubled")[0]["natural0/out/twice"].shape == (16, 4)


def test_dtypes_are_those_of_tensorflow() -> None:
    """For all converted operators. TensorArrays have numeric handles in TensorFlow and are lists
    here.
    """
    for op in sorted({*OPERATORS, *COMPLEX, *FOLDS.ops}):
        definition = op_def_registry.get(op)
        if definition is None or (op.startswith("TensorArray") and LISTED in RESULTS.get(op, ())):
            continue
        defaults = {
            item.name: dtype_name(item.default_value.type)
            for item in definition.attr
            if item.HasField("default_value")
        }
        expected = [
            item.type_attr or item.type_list_attr or dtype_name(item.type)
            for item in definition.output_arg
        ]
        entries = RESULTS.get(op, USUAL)
        for index, expected_attribute in enumerate(expected):
            attribute, _, default = entries[min(index, len(entries) - 1)].partition("=")
            assert attribute == expected_attribute, (op, index)
            assert default == defaults.get(expected_attribute, default), (op, index)


def test_exponentially_many_calls_are_rejected(tmp_path: Path) -> None:
    """Each function calls the next one four times without using the outputs, so that the walk does
    not follow the calls.
    """
    graph = tf.compat.v1.GraphDef()
    for number in range(30):
        function = graph.library.function.add()
        function.signature.name = f"f{number}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        for index in range(4):
            function.node_def.add(
                name=f"n{index}", op=f"f{number + 1}" if number < 29 else "Relu", input=["x"]
            )
        function.ret["y"] = "x"
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph.node.add(name="called", op="f0", input=["x"])
    graph.node.add(name="y", op="Relu", input=["called"]).attr["T"].type = 1
    path = tmp_path / "bomb.pb"
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(
        SourceError, match="functions call each other more than 64 deep, or 20000 times; refused"
    ):
        Computed(tf, path, None, "", {}, tmp_path)
