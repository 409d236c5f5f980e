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


class Handing(tf.Module):
    """x [2] -> what its variables were, each of which it hands something that nothing computes: an
    input, constants, a weight, what others were.
    """

    def __init__(self) -> None:
        self.given = tf.Variable([5.0, 6.0], name="given")
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
        assigned = (self.given, self.fixed, self.copied, self.odd, self.even, self.same)
        before = [variable.read_value() for variable in assigned]
        scalar, weight = self.scalar.read_value(), self.weight.read_value()
        following = (x, tf.constant([-1.0, -2.0]), weight, before[4], before[3], before[5])
        for variable, value in zip(assigned, following, strict=True):
            variable.assign(value)
        self.scalar.assign(-3.0)
        return {"y": tf.stack([*before, tf.fill([2], scalar), weight])}


class Counting(tf.Module):
    """Reads before and after assigning, by calls and by itself; what it returns in between is what
    was then.
    """

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


def check(path: Path, made: Callable[[int], Any], *, runs: int = 3) -> Graph:
    """Runs in a row give what TensorFlow's own runs in a row do."""
    graph = converted(path)
    (name,) = graph.inputs
    function = tf.saved_model.load(str(path.parent)).signatures["serving_default"]
    states = None
    for number in range(runs):
        x = made(number)
        wanted = {key: value.numpy() for key, value in function(**{name: tf.constant(x)}).items()}
        got, values = run_graph(graph, {name: x}, states=states)
        states = next_states(graph, values)
        for key, value in wanted.items():
            np.testing.assert_allclose(
                got[key], value, rtol=1e-5, atol=1e-6, err_msg=f"{key} of run {number}"
            )
    return graph


def random(*shape: int) -> Callable[[int], np.ndarray]:
    return lambda number: np.random.default_rng(number).normal(size=shape).astype(np.float32)


def test_what_is_read_is_what_was_assigned_before(tmp_path: Path) -> None:
    graph = check(saved(tmp_path, "run"), random(2, 4))
    assert {state.name: str(graph.type(state.input)) for state in graph.states} == {
        "level": "float32[2,4]",
        "count": "int32[]",
    }
    assert "weight" in graph.slots


def test_a_constant_may_be_assigned(tmp_path: Path) -> None:
    check(saved(tmp_path, "reset"), random(2, 4))


def test_what_nothing_computes_may_be_assigned(tmp_path: Path) -> None:
    graph = check(saved(tmp_path, "run", Handing), random(2))
    assert len(graph.states) == 7


@pytest.fixture(scope="module")
def handing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[list[float]]]:
    """A bundle, and what TensorFlow's model gives in two runs, and in one more from the beginning."""
    folder = tmp_path_factory.mktemp("handing")
    graph = converted(saved(folder / "saved", "run", Handing))
    for backend in USUAL_BACKENDS:
        generate_descriptor(backend, graph).save(folder / "bundle")
    x, module = tf.ones([2]), Handing()
    expected = [np.ravel(module.run(x)["y"]).tolist() for _ in range(2)]
    return folder / "bundle", [*expected, expected[0]]


@pytest.mark.parametrize("backend", USUAL_BACKENDS)
def test_what_nothing_computes_is_kept_on_a_backend(
    handing: tuple[Path, list[list[float]]], backend: str
) -> None:
    bundle, expected = handing
    assert runs_and_reset(bundle, backend).reshape(3, -1).tolist() == expected


def test_stateful_layers(tmp_path: Path) -> None:
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
def test_what_cannot_be_a_state_is_named(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=rf"(?s){message}"):
        converted(saved(tmp_path, name))
