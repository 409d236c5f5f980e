"""The call of user-defined layers without a handler is traced on symbolic tensors."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L
from keras import ops

from tests.frontends.keras.custom_layers import Block, layer_of, model_of, refusal
from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.ops.evaluate import run_graph


def test_nested_layers_loops_weights_and_shapes(compare):
    graph = compare(model_of(Block(name="block")))
    assert {
        "block/gain0",
        "block/dense/kernel",
        "block/dense_2/bias",
        "block/layer_normalization/gamma",
    } <= graph.slots


def test_several_inputs_and_outputs(compare):
    class Both(L.Layer):
        def call(self, x, y, scale=1.0):
            return {"difference": x - y, "sum": (x + y) * scale}

    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    outputs = Both(name="both")(x, y, scale=3.0)
    compare(keras.Model([x, y], [outputs["sum"], outputs["difference"]]))


def test_subclassed_model(compare):
    class Small(keras.Model):
        def __init__(self):
            super().__init__(name="small")
            self.first, self.second = L.Dense(4, activation="tanh"), L.Dense(2)

        def call(self, x):
            return self.second(self.first(x))

    model = Small()
    model(np.zeros((1, 5), "float32"))
    compare(model)
    unbuilt = Small()
    with pytest.raises(SourceError, match="call the model once"):
        KerasConverter().convert(unbuilt)


def test_dropout_inside_a_layer_is_inactive(compare):
    compare(model_of(layer_of(lambda layer, x: layer.drop(x), drop=L.Dropout(0.5))))


@pytest.mark.filterwarnings("ignore")
def test_tensorflow_functions_are_refused():
    class Custom(L.Layer):
        def call(self, x):
            return tf.nn.relu(x)

        def compute_output_shape(self, shape):
            return shape

    assert "TensorFlow function" in refusal(model_of(Custom(name="custom")))


def test_tensors_computed_from_constants_become_literals(compare):
    made = layer_of(
        lambda layer, x: x * ops.linspace(0.0, 1.0, 6) + ops.cast(ops.arange(6) >= 2, "float32")
    )
    assert not compare(model_of(made)).slots


def test_layers_may_be_called_with_constants(compare):
    """A table of positions, as in vision transformers, in a layer with a handler and in a traced
    one.
    """

    class Doubled(L.Layer):
        def __init__(self):
            super().__init__()
            self.table = L.Embedding(5, 4)

        def build(self, shape):
            self.table.build(shape)

        def call(self, positions):
            return 2 * self.table(positions)

    def build(self, shape):
        self.table, self.doubled, self.dense = L.Embedding(5, 4), Doubled(), L.Dense(4)
        self.positions = ops.expand_dims(ops.arange(5), 0)
        for layer in (self.table, self.doubled, self.dense):
            layer.build((1, 5, 4))

    def call(self, x):
        positions = np.array([[1, 2, 3, 4, 0]])
        return (
            x
            + self.table(self.positions)
            + self.doubled(positions)
            + self.dense(ops.ones((1, 5, 4)))
            + self.table(self.positions)
        )

    compare(model_of(layer_of(call, build), (5, 4)))


def test_other_concrete_tensors_are_refused():
    inner = L.Dense(3)
    inner.build((None, 6))
    computed = layer_of(lambda layer, x: x * ops.sum(inner.kernel, axis=-1), inner=inner)
    assert "neither a weight nor a literal" in refusal(model_of(computed))
    hidden = layer_of(lambda layer, x: x * layer.table, table=tf.constant([1.0] * 6))
    assert "neither a weight nor a literal" in refusal(model_of(hidden))


def test_arrays_and_integer_tensors_become_literals(compare):
    graph = compare(
        model_of(
            layer_of(
                lambda layer, x: (
                    x * np.arange(6, dtype="float32") + ops.take(x, ops.arange(6)[::-1], axis=-1)
                )
            )
        )
    )
    assert not graph.slots
    large = layer_of(lambda layer, x: ops.matmul(x, np.ones((6, 400), "float32")))
    assert not compare(model_of(large)).slots


@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("policy", ["float16", "mixed_float16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
def test_a_call_receives_cast_inputs(dtype, policy, autocast, compare):
    class Casts(L.Layer):
        def call(self, x, others):
            return ops.cast(ops.cumsum(x, -1) > 0, x.dtype), ops.cast(
                ops.sin(others[0]), others[0].dtype
            )

    x, y = (keras.Input((6,), dtype=dtype, name=name) for name in "xy")
    model = keras.Model([x, y], Casts(dtype=policy, autocast=autocast, name="custom")(x, [y]))
    compare(model, tolerance=2e-3 if policy == "mixed_float16" else 2e-5)


def test_a_call_that_needs_the_batch_size(compare):
    model = model_of(layer_of(lambda layer, x: ops.reshape(x, (ops.shape(x)[0] * 2, 3))))
    compare(model, batch=3)
    from webkiln.frontends.keras.in_memory import describe_model

    spec, _ = describe_model(model, handled=HANDLERS.handles, batch_size=3)
    with pytest.raises(ShapeError, match="traced for 3, not 1"):
        KerasConverter(batch_size=1).convert(spec)


def test_masks_are_passed_to_the_call(compare):
    class Custom(L.Layer):
        def call(self, x, mask=None):
            return x if mask is None else ops.where(mask[..., None], x, 9.0)

    x = keras.Input((4, 2), name="x")
    model = keras.Model(x, Custom(name="custom")(L.Masking(mask_value=1.0)(x)))
    graph = KerasConverter().convert(model)
    inputs = np.array([[[1, 1], [2, 2], [1, 2], [1, 1]]], "float32")
    outputs, _ = run_graph(graph, {"x": inputs})
    assert np.array_equal(outputs["custom"], np.array(model(inputs)))


def test_losses_are_ignored(compare):
    def call(layer, x):
        layer.add_loss(ops.sum(x))
        return x * 2

    assert [node.op for node in compare(model_of(layer_of(call))).nodes] == ["Mul"]


def test_calls_that_differ_are_refused():
    layer = layer_of(lambda layer, x: ops.reshape(x, (-1, ops.shape(x)[-1] // 2)))
    x = keras.Input((8,), name="x")
    assert "2 calls execute different operations" in refusal(keras.Model(x, layer(layer(x))))


def test_lambda_layers_in_memory_are_traced(compare):
    compare(model_of(L.Lambda(lambda x: x * 2 + 1)))


def test_tracing_does_not_change_the_layer():
    layer = Block(name="block")
    model = model_of(layer)
    before = dict(vars(layer))
    KerasConverter().convert(model)
    assert all(vars(layer)[name] is value for name, value in before.items())
    assert isinstance(layer.gain[0], keras.Variable)
    assert keras.random.normal((2,)).shape == (2,)


class Pair(L.Layer):
    """Returns one tensor or two, which `compute_output_shape` does not report."""

    def call(self, x, cache=None):
        return x if cache is None else (x + cache, cache * 2)

    def compute_output_shape(self, shape):
        return shape


def test_outputs_are_those_of_the_call_despite_compute_output_shape(compare):
    class Outer(L.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.pair = Pair()

        def call(self, x):
            y, cache = self.pair(x, cache=x * 3)
            return y - cache

    compare(model_of(Outer(name="outer")))


def halved_gelu(x):
    return ops.gelu(x, approximate=True) / 2


def test_user_defined_activations_are_traced(compare):
    graph = compare(model_of(L.Dense(5, activation=halved_gelu, name="dense")))
    assert {slot.rpartition("/")[2] for slot in graph.slots} == {"kernel", "bias"}


def test_a_subclassed_model_called_with_a_list_is_refused():
    class Difference(keras.Model):
        def call(self, pair):
            return pair[0] - pair[1]

    model = Difference(name="difference")
    model([np.ones((2, 3), "float32"), np.ones((2, 3), "float32")])
    with pytest.raises(
        SourceError,
        match=(
            "difference: the arguments of its call are not all tensors, such as a list of tensors;"
            " pass each tensor as a separate argument"
        ),
    ):
        KerasConverter().convert(model)
