"""References of TensorFlow: outputs, what every node gives, and states that each run finds as they
were saved.
"""

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


def outputs(path: Path, inputs: Arrays, place: Path) -> tuple[Arrays, Arrays]:
    return Computed(tf, path, None, "", {}, place)(inputs)  # type: ignore[return-value]


@pytest.mark.parametrize(
    "name",
    ["called", "conditions", "curves", "encoder", "loops", "lookups", "nested", "spectrogram"],
)
def test_outputs_are_those_of_the_corpus(name: str, tmp_path: Path) -> None:
    """With what functions call written out, whose nodes are asked for, too."""
    given = {
        role: {
            key[len(role) :]: value for key, value in arrays(name).items() if key.startswith(role)
        }
        for role in ("in/", "out/")
    }
    place = tmp_path / "place"
    place.mkdir()
    found, inside = outputs(saved(name, tmp_path / "saved"), given["in/"], place)
    assert found.keys() == given["out/"].keys()
    assert all(
        relative_error(found[key], value) <= TOLERANCE for key, value in given["out/"].items()
    )
    assert inside


@pytest.mark.parametrize("name", ["stepping", "keeping", "old"])
def test_every_node_is_a_layer(name: str, tmp_path: Path) -> None:
    """Each of them can be built up to, and gives then what the reference has."""
    path = old(tmp_path / name) if name == "old" else stepping(tmp_path / name, name)
    found, layers = reference(path)
    assert {key.partition("/")[0] for key in layers} == {"natural0", "natural1", "extreme"}
    for key in (key for key in layers if key.startswith("natural1/")):
        node = key.partition("/")[2]
        model, blobs = read_model(path, cut=Subgraph((), (node,)))
        graph = TensorFlowConverter().convert(model, blobs)
        given = {item: found[f"natural1/in/{item}"] for item in graph.inputs}
        got, _ = run_graph(
            TensorFlowConverter(
                input_shapes={item: array.shape for item, array in given.items()}
            ).convert(model, blobs),
            given,
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
        else {"first", "behind", "soft"} <= {key.partition("/")[2] for key in layers}
    )


def test_every_run_begins_with_what_was_saved(tmp_path: Path) -> None:
    path = stepping(tmp_path / "keeping", "keeping")
    (place := tmp_path / "place").mkdir()
    run = Computed(tf, path, None, "", {}, place)
    x = np.ones((2, 4), np.float32)
    first, second = (run({"x": x})[0]["y"] for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_variables_and_tables(tmp_path: Path) -> None:
    module = Scored()
    tf.saved_model.save(
        module,
        str(tmp_path / "scored"),
        signatures={"score": module.score, "doubled": module.doubled},
    )
    path = tmp_path / "scored" / "saved_model.pb"
    found, layers = reference(path, signature="score")
    x = found["natural0/in/x"]
    np.testing.assert_array_equal(
        found["natural0/out/label"], module.score(tf.constant(x))["label"].numpy()
    )
    np.testing.assert_allclose(layers["natural0/MatMul"], x @ module.weight.numpy(), rtol=1e-5)
    assert reference(path, signature="doubled")[0]["natural0/out/twice"].shape == (16, 4)


def test_dtypes_are_those_of_tensorflow() -> None:
    """Of every operator that is converted; TensorArrays, which TensorFlow has as numbers, are
    lists.
    """
    for op in sorted({*OPERATORS, *COMPLEX, *FOLDS.ops}):
        known = op_def_registry.get(op)
        if known is None or (op.startswith("TensorArray") and LISTED in RESULTS.get(op, ())):
            continue
        defaults = {
            item.name: dtype_name(item.default_value.type)
            for item in known.attr
            if item.HasField("default_value")
        }
        wanted = [
            item.type_attr or item.type_list_attr or dtype_name(item.type)
            for item in known.output_arg
        ]
        words = RESULTS.get(op, USUAL)
        for place, word in enumerate(wanted):
            called, _, default = words[min(place, len(words) - 1)].partition("=")
            assert called == word, (op, place)
            assert default == defaults.get(word, default), (op, place)


def test_calls_that_multiply_are_refused(tmp_path: Path) -> None:
    """Each function calls the next one four times for nothing, which reading does not follow."""
    graph = tf.compat.v1.GraphDef()
    for number in range(30):
        function = graph.library.function.add()
        function.signature.name = f"f{number}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        for place in range(4):
            function.node_def.add(
                name=f"n{place}", op=f"f{number + 1}" if number < 29 else "Relu", input=["x"]
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
