"""Reading of SavedModels, frozen graphs and TensorFlow.js graph models."""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.corpus import Sample, mismatch
from tests.frontends.tensorflow.modules import Scored
from tests.frontends.tensorflow.samples import FOLDER, arrays, converted, saved
from webkiln.errors import RecipeError, ShapeError, SourceError, UnsupportedError
from webkiln.frontends.tensorflow import walk
from webkiln.frontends.tensorflow.fold import FOLDS
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.operators.complex import COMPLEX
from webkiln.frontends.tensorflow.operators.table import OPERATORS
from webkiln.frontends.tensorflow.unsupported import REFUSED
from webkiln.ops.evaluate import run_graph


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scored")
    module = Scored()
    tf.saved_model.save(
        module, str(folder), signatures={"serving_default": module.score, "double": module.doubled}
    )
    return folder / "saved_model.pb"


X = np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)


def outputs_of(path: Path, signature: str = "serving_default") -> dict[str, np.ndarray]:
    outputs = tf.saved_model.load(str(path.parent)).signatures[signature](x=tf.constant(X))
    return {name: value.numpy() for name, value in outputs.items()}


def test_variables_and_tables_are_read(scored: Path) -> None:
    graph = converted(scored)
    got, _ = run_graph(graph, {"x": X})
    assert mismatch(Sample("scored", graph, {}, outputs_of(scored)), got) is None
    assert list(graph.slots) == ["weight"]


def test_a_signature_is_selected_by_name(scored: Path) -> None:
    spec, blobs = read_model(scored, None, "double")
    assert [item.name for item in spec.graph.outputs] == ["twice"]
    assert not blobs
    with pytest.raises(
        RecipeError,
        match=(
            r"there is no signature 'doble'; did you mean double\?; there are double,"
            r" serving_default"
        ),
    ):
        read_model(scored, None, "doble")


def test_a_frozen_graph_has_no_signature() -> None:
    with pytest.raises(
        RecipeError,
        match=r"pools.pb: has no signature 'double'; only SavedModels have signatures",
    ):
        read_model(FOLDER / "pools.pb", None, "double")


def test_a_saved_model_without_its_variables_is_rejected(scored: Path, tmp_path: Path) -> None:
    (tmp_path / "saved_model.pb").write_bytes(scored.read_bytes())
    with pytest.raises(
        SourceError, match=r"variables\.index: is missing next to the model, which has variables"
    ):
        read_model(tmp_path / "saved_model.pb", None)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-9], lambda data: data[:30] + b"\xff" * 30 + data[60:], lambda data: b""],
)
def test_a_damaged_index_is_rejected(damage, scored: Path, tmp_path: Path) -> None:
    (tmp_path / "variables").mkdir()
    for path in (scored.parent / "variables").iterdir():
        (tmp_path / "variables" / path.name).write_bytes(path.read_bytes())
    index = tmp_path / "variables" / "variables.index"
    index.write_bytes(damage(index.read_bytes()))
    with pytest.raises(SourceError, match=r"variables\.index"):
        read_model(scored, tmp_path)


def test_a_keras_model_inside_a_module_is_read(tmp_path: Path) -> None:
    """The graph has two handles of each variable. The object graph relates them to the keys of the
    checkpoint.
    """
    module = tf.Module()
    module.model = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(3, bias_initializer="normal"), keras.layers.Dense(3)]
    )
    function = tf.function(
        lambda x: {"y": module.model(x)}, input_signature=[tf.TensorSpec([None, 4], name="x")]
    )
    module.function = function
    tf.saved_model.save(module, str(tmp_path), signatures=function)
    graph = converted(tmp_path / "saved_model.pb")
    got, _ = run_graph(graph, {"x": X})
    assert (
        mismatch(Sample("inside", graph, {}, outputs_of(tmp_path / "saved_model.pb")), got) is None
    )
    assert len(graph.slots) == 4


def test_an_exported_keras_model_is_read(tmp_path: Path) -> None:
    keras.utils.set_random_seed(1)
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((12, 10, 3)),
            layers.Conv2D(4, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(5),
        ]
    )
    model.export(tmp_path, verbose=False)
    x = np.random.default_rng(0).normal(size=(2, 12, 10, 3)).astype(np.float32)
    graph = converted(tmp_path / "saved_model.pb")
    got, _ = run_graph(graph, {next(iter(graph.inputs)): x})
    (y,) = got.values()
    assert np.abs(y - model(x).numpy()).max() < 1e-5


def test_one_error_lists_all_unsupported_operators(tmp_path: Path) -> None:
    @tf.function(input_signature=[tf.TensorSpec([4], tf.float32)])
    def odd(x: tf.Tensor) -> tf.Tensor:
        return tf.math.lgamma(x) + tf.math.digamma(x)

    path = tmp_path / "odd.pb"
    path.write_bytes(odd.get_concrete_function().graph.as_graph_def().SerializeToString())
    with pytest.raises(
        UnsupportedError,
        match=(
            r"(?s)2 unsupported parts.*Digamma \(Digamma\): is a special function.*Lgamma"
            r" \(Lgamma\)"
        ),
    ):
        converted(path)


@pytest.fixture(scope="module")
def unranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = x * gain, where the file declares neither rank."""
    path = tmp_path_factory.mktemp("unranked") / "unranked.pb"
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, None, "x")
        gain = tf.compat.v1.placeholder(tf.float32, None, "gain")
        tf.multiply(x, gain, "y")
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


@pytest.mark.parametrize("options", [
    {"input_shapes": {"x": (2, 3), "gain": ()}},
    {"input_shapes": {"x": (2, 3), "gain": (3,)}},
    {"input_shapes": {"x": (2, 3)}, "values": {"gain": 0.5}},
    {"input_shapes": {"x": (2, 3)}, "values": {"gain": [0.5, 2, 4]}},
    {"input_shapes": {"x": (2, 3), "gain": (2, 3)}, "values": {"gain": 0.5}},
])  # fmt: skip
def test_options_give_the_shapes_of_unranked_inputs(options, unranked: Path) -> None:
    graph = converted(unranked, **options)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    gain = np.full(options["input_shapes"].get("gain", ()), 0.25, np.float32)
    got, _ = run_graph(graph, {"x": x} | ({"gain": gain} if "gain" in graph.inputs else {}))
    assert ("gain" in graph.inputs) == ("values" not in options)
    expected = x * np.array(options.get("values", {}).get("gain", 0.25), np.float32)
    np.testing.assert_array_equal(got["y"], expected)


def test_a_missing_shape_of_an_unranked_input_names_both_options(unranked: Path) -> None:
    with pytest.raises(
        ShapeError,
        match=(
            r"--input-shape gain=1,28 \(or gain= for one number\), or its value with --value gain="
        ),
    ):
        converted(unranked, input_shapes={"x": (2, 3)})


def test_refused_operators_are_not_converted() -> None:
    assert not REFUSED.keys() & {*OPERATORS, *COMPLEX, *FOLDS.ops}
    unregistered = {name for name in REFUSED if not hasattr(tf.raw_ops, name)}
    assert {name for name in unregistered if "SimpleML" not in name} == {"TRTEngineOp"}


def test_a_saved_model_and_a_frozen_graph_have_the_same_operators(tmp_path: Path) -> None:
    one, other = converted(saved("pools", tmp_path)), converted(FOLDER / "pools.pb")
    assert sorted(node.op for node in one.nodes) == sorted(node.op for node in other.nodes)
    assert arrays("pools")


def recurrent(folder: Path, layers: list[keras.Layer]) -> tuple[keras.Model, Path]:
    keras.utils.set_random_seed(2)
    model = keras.Sequential([keras.Input((None, 4)), *layers])
    model.export(folder, verbose=False)
    return model, folder / "saved_model.pb"


@pytest.mark.parametrize("name", ["LSTM", "GRU", "SimpleRNN", "Bidirectional"])
@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.sample(3)
def test_recurrent_layers_are_recurrences_of_any_length(
    name: str, sequences: bool, tmp_path: Path
) -> None:
    layers = keras.layers
    layer = (
        layers.Bidirectional(layers.LSTM(3, return_sequences=sequences))
        if name == "Bidirectional"
        else getattr(layers, name)(3, return_sequences=sequences)
    )
    model, path = recurrent(tmp_path, [layer])
    graph = converted(path)
    assert "Scan" in {node.op for node in graph.nodes}
    assert "Loop" not in {node.op for node in graph.nodes}
    for batch, steps in ((1, 1), (2, 7), (3, 20)):
        x = np.random.default_rng(steps).normal(size=(batch, steps, 4)).astype(np.float32)
        (y,) = run_graph(graph, {next(iter(graph.inputs)): x})[0].values()
        assert np.abs(y - model(x).numpy()).max() < 1e-5


@pytest.fixture
def old_control_flow():
    tf.compat.v1.disable_control_flow_v2()
    yield
    tf.compat.v1.enable_control_flow_v2()


def test_a_loop_of_tensorflow_1_matches(old_control_flow: None, tmp_path: Path) -> None:
    """A loop of Enter, Switch and NextIteration around TensorArrays, with a condition inside."""
    v1 = tf.compat.v1
    rng = np.random.default_rng(5)
    kernel = rng.normal(0, 0.5, (7, 3)).astype(np.float32)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        x = v1.placeholder(tf.float32, (None, None, 4), name="x")
        steps = tf.shape(x)[1]
        sequence = tf.TensorArray(tf.float32, steps).unstack(tf.transpose(x, (1, 0, 2)))
        results = tf.TensorArray(tf.float32, steps)

        def step(number, state, written):
            mixed = tf.matmul(tf.concat([sequence.read(number), state], 1), kernel)
            state = tf.cond(tf.reduce_sum(mixed) > 0, lambda: tf.tanh(mixed), lambda: mixed * 0.5)
            return number + 1, state, written.write(number, state)

        _, last, results = v1.while_loop(
            lambda number, *_: number < steps, step, (0, tf.zeros((tf.shape(x)[0], 3)), results)
        )
        tf.identity(last, name="last")
        tf.identity(results.stack(), name="all")
        operators = {node.op for node in graph.as_graph_def().node}
        path = tmp_path / "old.pb"
        path.write_bytes(graph.as_graph_def().SerializeToString())
        values = {steps: rng.normal(size=(2, steps, 4)).astype(np.float32) for steps in (1, 6)}
        expected = {
            steps: session.run({"last": "last:0", "all": "all:0"}, {"x:0": value})
            for steps, value in values.items()
        }
    assert {"TensorArrayV3", "Enter", "NextIteration", "Merge", "Switch", "Exit"} <= operators
    model = converted(path)
    for steps, value in values.items():
        got, _ = run_graph(model, {"x": value})
        assert mismatch(Sample("old", model, {}, expected[steps]), got) is None


def test_a_saved_model_of_tensorflow_1_matches(old_control_flow: None, tmp_path: Path) -> None:
    """Variables are nodes of the graph, and assignments restore them."""
    v1 = tf.compat.v1
    x = np.random.default_rng(4).normal(size=(3, 5)).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        features = v1.placeholder(tf.float32, (None, 5), name="features")
        plain = v1.get_variable(
            "scope/plain",
            (5, 4),
            initializer=v1.random_normal_initializer(seed=1),
            use_resource=False,
        )
        resource = v1.get_variable(
            "scope/resource",
            (4,),
            initializer=v1.random_normal_initializer(seed=2),
            use_resource=True,
        )
        result = tf.nn.softmax(tf.matmul(features, plain) + resource)
        session.run(v1.global_variables_initializer())
        v1.saved_model.simple_save(session, str(tmp_path / "saved"), {"x": features}, {"y": result})
        expected = session.run(result, {features: x})
    graph = converted(tmp_path / "saved" / "saved_model.pb")
    got, _ = run_graph(graph, {"x": x})
    assert mismatch(Sample("old", graph, {}, {"y": expected}), got) is None
    assert sorted(graph.slots) == ["scope/plain", "scope/resource"]


def test_exponentially_many_inlined_nodes_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each function calls the next one four times: 30 levels would inline 4**30 nodes."""
    monkeypatch.setattr(walk, "MOST_TENSORS", 10_000)
    graph = tf.compat.v1.GraphDef()
    for number in range(30):
        function = graph.library.function.add()
        function.signature.name = f"f{number}"
        function.signature.input_arg.add(name="x", type=1)
        function.signature.output_arg.add(name="y", type=1)
        for index in range(4):
            node = function.node_def.add(
                name=f"n{index}", op=f"f{number + 1}" if number < 29 else "Relu"
            )
            node.input.append(
                "x"
                if index == 0
                else f"n{index - 1}:y:0"
                if number < 29
                else f"n{index - 1}:activations:0"
            )
        function.ret["y"] = "n3:y:0" if number < 29 else "n3:activations:0"
    graph.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    graph.node.add(name="y", op="f0", input=["x"])
    path = tmp_path / "bomb.pb"
    path.write_bytes(graph.SerializeToString())
    with pytest.raises(
        SourceError, match="its inlined functions have more than 10000 tensors, which is the limit"
    ):
        read_model(path)
