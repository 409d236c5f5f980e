"""Custom layers without a handler: their call is run on symbolic tensors."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L
from keras import ops

from webkiln.errors import ShapeError, SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.ops.evaluate import next_states, run_graph


def model_of(layer, shape=(6,)):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


def layer_of(call, build=None, **attributes):
    """A layer called `custom` whose call is a function of (layer, x)."""

    class Custom(L.Layer):
        def build(self, shape):
            if build is not None:
                build(self, shape)
            self.built = True

        def call(self, x):
            return call(self, x)

    layer = Custom(name="custom")
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer


def refused(model, *, batch=1):
    with pytest.raises(UnsupportedError) as error:
        KerasConverter(batch_size=batch).convert(model)
    ((where, what, _),) = error.value.items
    assert where == "custom (Custom)"
    return what


class Block(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.parts = [L.Dense(6, activation="relu") for _ in range(3)]
        self.norm = L.LayerNormalization()
        self.drop = L.Dropout(0.5)

    def build(self, shape):
        self.gain = [self.add_weight(name=f"gain{index}", shape=(6,)) for index in range(2)]
        for part in (*self.parts, self.norm):
            part.build(shape)
        self.built = True

    def call(self, x, training=None):
        for part in self.parts:
            x = x + self.drop(self.norm(part(x)), training=training)
        if training:
            x = x * 0
        width = ops.shape(x)[-1]
        x = ops.reshape(ops.reshape(x, (-1, width // 2, 2)), (-1, width))
        return ops.sqrt(ops.abs(self.gain[0])) * x + ops.matmul(x, self.parts[0].kernel) * (
            self.gain[1] * 2
        )


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


def test_state_is_kept_between_runs():
    def build(layer, shape):
        layer.total = layer.add_weight(name="total", shape=(), initializer="zeros", trainable=False)

    def call(layer, x):
        layer.total.assign_add(ops.sum(x))
        return x * 0 + layer.total

    graph = KerasConverter().convert(model_of(layer_of(call, build), (2,)))
    (state,) = graph.states
    assert (state.name, state.initial) == ("custom/total", "custom/total")
    ones = {"x": np.ones((1, 2), "float32")}
    outputs, values = run_graph(graph, ones)
    assert outputs["custom"].tolist() == [[2, 2]]
    outputs, _ = run_graph(graph, ones, states=next_states(graph, values))
    assert outputs["custom"].tolist() == [[4, 4]]


def test_reads_before_an_assignment_see_the_old_value():
    def build(layer, shape):
        layer.last = layer.add_weight(name="last", shape=(2,), initializer="zeros", trainable=False)

    def call(layer, x):
        alias = layer.last
        before = alias + 0
        alias.assign(x[0])
        alias.assign(alias * 10)
        return ops.stack([before, alias + 0])

    graph = KerasConverter().convert(model_of(layer_of(call, build), (2,)))
    outputs, values = run_graph(graph, {"x": np.array([[1, 2]], "float32")})
    assert outputs["custom"].tolist() == [[0, 0], [10, 20]]
    assert next_states(graph, values)["custom/last"].tolist() == [10, 20]


def test_a_stateful_layer_called_twice_goes_on_counting():
    def build(layer, shape):
        layer.count = layer.add_weight(name="count", shape=(), initializer="zeros", trainable=False)

    def call(layer, x):
        layer.count.assign_add(1.0)
        return x + layer.count

    layer = layer_of(call, build)
    x = keras.Input((1,), name="x")
    graph = KerasConverter().convert(keras.Model(x, layer(layer(x))))
    outputs, values = run_graph(graph, {"x": np.zeros((1, 1), "float32")})
    assert outputs["custom"].item() == 3
    assert next_states(graph, values)["custom/count"] == 2


def test_dropout_inside_a_layer_is_not_random(compare):
    compare(model_of(layer_of(lambda layer, x: layer.drop(x), drop=L.Dropout(0.5))))


@pytest.mark.filterwarnings("ignore")
def test_tensorflow_functions_are_refused():
    class Custom(L.Layer):
        def call(self, x):
            return tf.nn.relu(x)

        def compute_output_shape(self, shape):
            return shape

    assert "TensorFlow function" in refused(model_of(Custom(name="custom")))


def test_tensors_that_are_computed_of_constants_in_the_call_are_structure(compare):
    made = layer_of(
        lambda layer, x: x * ops.linspace(0.0, 1.0, 6) + ops.cast(ops.arange(6) >= 2, "float32")
    )
    assert not compare(model_of(made)).slots


def test_a_layer_may_be_called_with_constants_alone(compare):
    """A table of positions, as vision transformers have it, by a layer with a handler and by one
    that is traced itself.
    """

    class Doubled(L.Layer):
        def __init__(self):
            super().__init__()
            self.table = L.Embedding(5, 4)

        def build(self, shape):
            self.table.build(shape)

        def call(self, places):
            return 2 * self.table(places)

    def build(self, shape):
        self.table, self.doubled, self.dense = L.Embedding(5, 4), Doubled(), L.Dense(4)
        self.places = ops.expand_dims(ops.arange(5), 0)
        for layer in (self.table, self.doubled, self.dense):
            layer.build((1, 5, 4))

    def call(self, x):
        places = np.array([[1, 2, 3, 4, 0]])
        return (
            x
            + self.table(self.places)
            + self.doubled(places)
            + self.dense(ops.ones((1, 5, 4)))
            + self.table(self.places)
        )

    compare(model_of(layer_of(call, build), (5, 4)))


def test_other_concrete_tensors_are_refused():
    inner = L.Dense(3)
    inner.build((None, 6))
    computed = layer_of(lambda layer, x: x * ops.sum(inner.kernel, axis=-1), inner=inner)
    assert "neither a weight nor a literal" in refused(model_of(computed))
    hidden = layer_of(lambda layer, x: x * layer.table, table=tf.constant([1.0] * 6))
    assert "neither a weight nor a literal" in refused(model_of(hidden))


def test_literals_and_integer_tensors_are_structure(compare):
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


def test_integers_stay_integers_in_a_call(compare):
    x = keras.Input((6,), dtype="int32", name="x")
    graph = compare(
        keras.Model(x, layer_of(lambda layer, x: ops.floor_divide(x, 2) + (1 << 24) + 1)(x))
    )
    assert {graph.type(name).dtype for name in graph.outputs.values()} == {"int32"}


@pytest.mark.parametrize("autocast", [True, False])
@pytest.mark.parametrize("policy", ["float16", "mixed_float16", "float32", "float64"])
@pytest.mark.parametrize("given", ["float16", "float32", "float64", "int32"])
def test_a_call_sees_its_inputs_as_they_were_cast(given, policy, autocast, compare):
    class Told(L.Layer):
        def call(self, x, others):
            return ops.cast(ops.cumsum(x, -1) > 0, x.dtype), ops.cast(
                ops.sin(others[0]), others[0].dtype
            )

    x, y = (keras.Input((6,), dtype=given, name=name) for name in "xy")
    model = keras.Model([x, y], Told(dtype=policy, autocast=autocast, name="custom")(x, [y]))
    compare(model, tolerance=2e-3 if policy == "mixed_float16" else 2e-5)


def test_a_call_that_needs_the_batch_size(compare):
    model = model_of(layer_of(lambda layer, x: ops.reshape(x, (ops.shape(x)[0] * 2, 3))))
    compare(model, batch=3)
    from webkiln.frontends.keras.in_memory import describe_model

    spec, _ = describe_model(model, handled=HANDLERS.handles, batch_size=3)
    with pytest.raises(ShapeError, match="traced for 3, not 1"):
        KerasConverter(batch_size=1).convert(spec)


def test_masks_are_honoured(compare):
    class Custom(L.Layer):
        def call(self, x, mask=None):
            return x if mask is None else ops.where(mask[..., None], x, 9.0)

    x = keras.Input((4, 2), name="x")
    model = keras.Model(x, Custom(name="custom")(L.Masking(mask_value=1.0)(x)))
    graph = KerasConverter().convert(model)
    given = np.array([[[1, 1], [2, 2], [1, 2], [1, 1]]], "float32")
    outputs, _ = run_graph(graph, {"x": given})
    assert np.array_equal(outputs["custom"], np.array(model(given)))


def test_losses_are_ignored(compare):
    def call(layer, x):
        layer.add_loss(ops.sum(x))
        return x * 2

    assert [node.op for node in compare(model_of(layer_of(call))).nodes] == ["Mul"]


def test_calls_that_differ_are_refused():
    layer = layer_of(lambda layer, x: ops.reshape(x, (-1, ops.shape(x)[-1] // 2)))
    x = keras.Input((8,), name="x")
    assert "2 calls execute different operations" in refused(keras.Model(x, layer(layer(x))))


def test_lambda_in_memory_is_the_users_own_code(compare):
    compare(model_of(L.Lambda(lambda x: x * 2 + 1)))


def test_tracing_leaves_the_layer_as_it_was():
    layer = Block(name="block")
    model = model_of(layer)
    before = dict(vars(layer))
    KerasConverter().convert(model)
    assert all(vars(layer)[name] is value for name, value in before.items())
    assert isinstance(layer.gain[0], keras.Variable)
    assert keras.random.normal((2,)).shape == (2,)


class Ordered(L.Layer):
    """Takes tensors by names whose order is not that of the alphabet."""

    def call(self, x, scale=None, offset=None):
        return x["second"] * scale + x["first"] - 2 * offset


def test_arguments_by_name_arrive_where_they_are_meant(compare):
    second, first, scale, offset = (
        keras.Input((6,), name=name) for name in ("second", "first", "scale", "offset")
    )
    y = Ordered()({"second": second, "first": first}, scale=scale, offset=offset)
    compare(keras.Model([second, first, scale, offset], y))


class StatesInside(L.Layer):
    """Calls a layer of its own with a state, as decoders call attention with the place of the next
    token.
    """

    def __init__(self, **options):
        super().__init__(**options)
        self.inner = Ordered()

    def build(self, _):
        self.total = self.add_weight(name="total", shape=(6,), initializer="ones", trainable=False)

    def call(self, x):
        y = self.inner({"second": x, "first": x}, scale=self.total, offset=self.total.value)
        self.total.assign_add(x[0])
        return y


def test_a_layer_may_be_called_with_a_state(compare):
    graph = compare(model_of(StatesInside(name="outer")))
    assert len(graph.states) == 1


class Pair(L.Layer):
    """Gives one tensor or two, as `compute_output_shape` does not know."""

    def call(self, x, cache=None):
        return x if cache is None else (x + cache, cache * 2)

    def compute_output_shape(self, shape):
        return shape


def test_outputs_inside_a_call_are_those_of_the_call_itself(compare):
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


def test_an_activation_of_the_users_is_traced(compare):
    graph = compare(model_of(L.Dense(5, activation=halved_gelu, name="dense")))
    assert {slot.rpartition("/")[2] for slot in graph.slots} == {"kernel", "bias"}


OPERATORS = {
    "&": (lambda x: x & 6, "int32"),
    "|": (lambda x: 6 | x, "uint8"),
    "^": (lambda x: x ^ x[:, ::-1], "int64"),
    "~": (lambda x: ~x, "int8"),
    "~ of bools": (lambda x: ~x & True, "bool"),
    "/": (lambda x: x / 2, "int32"),
    "/ from the left": (lambda x: 7 / (x + 1), "uint8"),
    "/ of a size": (lambda x: x / ops.shape(x)[1], "int64"),
    "//": (lambda x: x // -2, "int32"),
    "%": (lambda x: x % 3, "uint8"),
    "* of bools": (lambda x: x * 3, "bool"),
    "* by wide numbers": (lambda x: x * np.arange(6.0), "float32"),
    "* from the left": (lambda x: np.arange(6.0) * x, "float32"),
    "+ a number of numpy": (lambda x: x + np.float64(1.5), "float32"),
    "number of numpy +": (lambda x: np.float64(1.5) + x, "float32"),
    "+ narrower": (lambda x: x + np.arange(6), "int32"),
    "@": (lambda x: x @ np.ones((6, 2)), "float32"),
    "@ from the left": (lambda x: np.ones((4, 2)) @ x, "float32"),
    "== in where": (lambda x: ops.where(x == 0, 5, x), "int32"),
    "!=": (lambda x: (x != 1) & (x != 2), "int64"),
    "== None": (lambda x: x * (2 if x == None else 3), "int32"),  # noqa: E711
    "== another": (lambda x: x[:, ::-1] == x, "uint8"),
    "[:1]": (lambda x: x[:1] + x[1:], "float32"),
    "[-1]": (lambda x: x[-1], "float32"),
    "[numpy]": (lambda x: x[:, np.int64(2) : np.int32(5)], "float32"),
    "[...]": (lambda x: x[...] + x[None][0], "float32"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_are_those_of_the_tensors_that_a_call_is_given(name, compare):
    compute, dtype = OPERATORS[name]
    x = keras.Input((6,), dtype=dtype, name="x")
    compare(keras.Model(x, layer_of(lambda layer, x: compute(x))(x)))


def test_operators_of_weights_are_those_of_keras(compare):
    def build(layer, _):
        layer.table = layer.add_weight(
            name="table", shape=(3, 6), dtype="int32", initializer="ones"
        )
        layer.gain = layer.add_weight(name="gain", shape=(6,))

    def call(layer, x):
        chosen = ops.where(layer.gain == layer.gain[0], 2.0, 3.0)
        return x[:, :3] * layer.gain[:3] * layer.gain[3:] + ops.sum(layer.table / 2) + chosen[:3]

    compare(model_of(layer_of(call, build)))


def test_a_subclassed_model_that_takes_a_list_is_refused_by_name():
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
