"""Variables that a SavedModel assigns when it runs are states of the bundle."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.tensorflow.samples import converted
from tests.models.states import runs_and_reset
from webkiln.build.descriptor import generate_descriptor
from webkiln.errors import UnsupportedError
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import next_states, run_graph
from webkiln.recipe.values import USUAL_BACKENDS

X = tf.TensorSpec([2, 4], tf.float32, name="x")


class Passing(tf.Module):
    """x [2] -> the previous values of its variables. The new values are not computed: an input,
    constants, a weight, values of other variables.
    """

    def __init__(self) -> None:
        self.input = tf.Variable([5.0, 6.0], name="input")
        self.fixed = tf.Variable([7.0, 8.0], name="fixed")
        self.scalar = tf.Variable(9.0, name="scalar")
        self.weight = tf.Variable([2.0, 3.0], name="weight")
        self.copied = tf.Variable([0.5, 0.25], name="copied")
        self.odd, self.even = (
            tf.Variable([1.0, 3.0], name="odd"),
            tf.Variable([0.0, 2.0], name="even"),
        )
        self.same = tf.Variable([4.0, -4.0], name="same")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def run(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        assigned = (self.input, self.fixed, self.copied, self.odd, self.even, self.same)
        before = [variable.read_value() for variable in assigned]
        scalar, weight = self.scalar.read_value(), self.weight.read_value()
        following = (x, tf.constant([-1.0, -2.0]), weight, before[4], before[3], before[5])
        for variable, value in zip(assigned, following, strict=True):
            variable.assign(value)
        self.scalar.assign(-3.0)
        return {"y": tf.stack([*before, tf.fill([2], scalar), weight])}


class Counting(tf.Module):
    """Reads variables before, between and after assignments, some of them in called functions."""

    def __init__(self) -> None:
        generator = np.random.default_rng(0)
        self.count = tf.Variable(3, name="count")
        self.level = tf.Variable(tf.ones([2, 4]), name="level")
        self.weight = tf.Variable(generator.normal(size=(4, 4)).astype(np.float32), name="weight")

    @tf.function
    def advance(self, x: tf.Tensor) -> None:
        self.level.assign(tf.tanh(self.level @ self.weight + x))

    @tf.function(input_signature=[X])
    def run(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        before = self.level.read_value()
        self.advance(x)
        between = self.level * 2.0
        self.advance(x + 1.0)
        self.count.assign_add(2)
        self.level.assign_sub(x * 0.1)
        return {
            "before": before,
            "between": between,
            "after": self.level.read_value(),
            "count": self.count.read_value(),
        }

    @tf.function(input_signature=[X])
    def reset(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        self.level.assign(tf.zeros([2, 4]))
        return {"y": x + self.level}

    @tf.function(input_signature=[X])
    def sometimes(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        if tf.reduce_sum(x) > 0.0:
            self.level.assign(x)
        return {"y": x + self.level}

    @tf.function(input_signature=[X])
    def partly(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        self.level[0].assign(x[0])
        return {"y": x + self.level}


def saved(folder: Path, name: str, kind: type[tf.Module] = Counting) -> Path:
    module = kind()
    tf.saved_model.save(module, str(folder), signatures=getattr(module, name))
    return folder / "saved_model.pb"


def check(path: Path, inputs: Callable[[int], Any], *, runs: int = 3) -> Graph:
    """Compare consecutive runs with those of TensorFlow."""
    graph = converted(path)
    (name,) = graph.inputs
    function = tf.saved_model.load(str(path.parent)).signatures["serving_default"]
    states = None
    for number in range(runs):
        x = inputs(number)
        expected = {key: value.numpy() for key, value in function(**{name: tf.constant(x)}).items()}
        got, values = run_graph(graph, {name: x}, states=states)
        states = next_states(graph, values)
        for key, value in expected.items():
            np.testing.assert_allclose(
                got[key], value, rtol=1e-5, atol=1e-6, err_msg=f"{key} of run {number}"
            )
    return graph


def random(*shape: int) -> Callable[[int], np.ndarray]:
    return lambda number: np.random.default_rng(number).normal(size=shape).astype(np.float32)


def test_reads_see_earlier_assignments(tmp_path: Path) -> None:
    graph = check(saved(tmp_path, "run"), random(2, 4))
    assert {state.name: str(graph.type(state.input)) for state in graph.states} == {
        "level": "float32[2,4]",
        "count": "int32[]",
    }
    assert "weight" in graph.slots


def test_a_constant_can_be_assigned(tmp_path: Path) -> None:
    check(saved(tmp_path, "reset"), random(2, 4))


def test_inputs_weights_and_other_states_can_be_assigned(tmp_path: Path) -> None:
    graph = check(saved(tmp_path, "run", Passing), random(2))
    assert len(graph.states) == 7


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[float]]]:
    """A bundle, and the outputs of TensorFlow in two runs and in one after a reset."""
    folder = tmp_path_factory.mktemp("passing")
    graph = converted(saved(folder / "saved", "run", Passing))
    for backend in USUAL_BACKENDS:
        generate_descriptor(backend, graph).save(folder / "bundle")
    x, module = tf.ones([2]), Passing()
    expected = [np.ravel(module.run(x)["y"]).tolist() for _ in range(2)]
    return folder / "bundle", [*expected, expected[0]]


@pytest.mark.parametrize("backend", USUAL_BACKENDS)
def test_assigned_inputs_weights_and_states_persist_on_a_backend(
    passing: tuple[Path, list[list[float]]], backend: str
) -> None:
    bundle, expected = passing
    assert runs_and_reset(bundle, backend).reshape(3, -1).tolist() == expected


def test_stateful_layers_match(tmp_path: Path) -> None:
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(2, 5, 3)),
            layers.LSTM(4, stateful=True, return_sequences=True),
            layers.GRU(3, stateful=True),
        ]
    )
    model.export(tmp_path, verbose=False)
    assert len(check(tmp_path / "saved_model.pb", random(2, 5, 3)).states) == 3


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sometimes", r"assigns a variable that a branch or loop reads or assigns"),
        ("partly", r"ResourceStridedSliceAssign.*changes part of a variable"),
    ],
)
def test_unsupported_assignments_are_listed(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=rf"(?s){message}"):
        converted(saved(tmp_path, name))
