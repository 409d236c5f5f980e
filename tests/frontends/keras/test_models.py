"""Models with branches, nested models and shared layers."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from webkiln.errors import ShapeError, SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.axis import OrderC, OrderNCHW
from webkiln.ir.text import print_graph
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse


def branched():
    """Several inputs and outputs, a nested Functional that is called twice, a nested Sequential and
    a shared layer.
    """
    a, b = keras.Input((6, 6, 2), name="a"), keras.Input((6, 6, 2), name="b")
    inner_in = keras.Input((6, 6, 2))
    inner = keras.Model(inner_in, L.Conv2D(3, 3, name="conv")(inner_in), name="inner")
    tail = keras.Sequential(
        [L.Conv2D(3, 2, activation="relu"), L.BatchNormalization()], name="tail"
    )
    shared = L.Dense(4, name="shared")
    x, y = tail(inner(a)), tail(inner(b))
    both = L.Concatenate(name="both")([shared(x), shared(y)])
    return keras.Model(
        [a, b],
        [L.Flatten(name="flat")(both), L.GlobalMaxPooling2D(name="top")(shared(x))],
        name="branched",
    )


@pytest.mark.parametrize("suffix", ["keras", "h5"])
def test_nested_shared_and_branched(compare, tmp_path, suffix):
    model = branched()
    graph = compare(model)
    model.save(tmp_path / f"m.{suffix}")
    assert KerasConverter(batch_size=2).convert(tmp_path / f"m.{suffix}") == graph
    assert {"inner/conv/kernel", "shared/kernel"} <= graph.slots
    assert list(graph.outputs) == ["flat", "top"]


def test_dictionaries_name_inputs_and_outputs(compare, tmp_path):
    a, b = keras.Input((4,), name="first"), keras.Input((4,), name="second")
    model = keras.Model({"p": a, "q": b}, {"sum": a + b, "product": L.Multiply()([a, b])})
    model.save(tmp_path / "m.keras")
    graph = KerasConverter().convert(tmp_path / "m.keras")
    assert graph.inputs == ("p", "q")
    outputs, _ = run_graph(
        graph, {"p": np.full((1, 4), 2, "float32"), "q": np.full((1, 4), 3, "float32")}
    )
    assert outputs["sum"][0, 0] == 5
    assert outputs["product"][0, 0] == 6


def test_one_layer_object_in_two_models_shares_its_slots(compare, tmp_path):
    shared = L.Dense(4, name="shared")
    x = keras.Input((4,), name="x")
    one = keras.Sequential([keras.Input((4,)), shared], name="one")
    two = keras.Sequential([keras.Input((4,)), shared, L.ReLU()], name="two")
    model = keras.Model(x, two(one(x)))
    graph = compare(model)
    assert graph.slots == {"one/shared/kernel", "one/shared/bias"}
    model.save(tmp_path / "m.keras")
    with pytest.raises(SourceError, match=r"two/shared \(Dense\): the file has no weight 'kernel'"):
        KerasConverter().convert(tmp_path / "m.keras")


def test_equal_weights_of_different_layers_have_separate_slots():
    x = keras.Input((3,), name="x")
    model = keras.Model(
        x,
        L.Dense(3, name="p", kernel_initializer="ones")(
            L.Dense(3, name="q", kernel_initializer="ones")(x)
        ),
    )
    assert {"p/kernel", "q/kernel"} <= KerasConverter().convert(model).slots


def test_graph_in_text_form():
    x = keras.Input((4, 4, 1), name="image")
    y = L.Conv2D(2, 3, padding="same", strides=2, activation="relu", name="conv")(x)
    y = L.BatchNormalization(name="norm")(y)
    model = keras.Model(
        x, L.Dense(3, activation="softmax", name="scores")(L.Flatten(name="flat")(y)), name="small"
    )
    graph = KerasConverter().convert(model)
    assert print_graph(graph) == EXPECTED
    assert parse(EXPECTED) == graph


EXPECTED = """\
graph small
input image: float32[1,4,4,1] N,H,W,C
slot conv/bias: float32[2] C
slot conv/kernel: float32[3,3,1,2]
slot norm/beta: float32[2] C
slot norm/gamma: float32[2] C
slot norm/moving_mean: float32[2] C
slot norm/moving_variance: float32[2] C
slot scores/bias: float32[3] C
slot scores/kernel: float32[8,3]
conv: float32[1,2,2,2] N,H,W,C = Conv(image, conv/kernel, conv/bias) \
{"dilation":[1,1],"out_dims":[0,3,1,2],"pad_high":[1,1],\
"pad_low":[0,0],"strides":[2,2],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]} @conv
conv.2: float32[1,2,2,2] N,H,W,C = Relu(conv) @conv
norm: float32[1,2,2,2] N,H,W,C = \
BatchNorm(conv.2, norm/gamma, norm/beta, norm/moving_mean, norm/moving_variance) \
{"axis":3,"epsilon":0.001} @norm
flat: float32[1,8] N,C = Reshape(norm) {"shape":[1,8]} @flat
scores: float32[1,3] N,C = MatMul(flat, scores/kernel) @scores
scores.2: float32[1,3] N,C = Add(scores, scores/bias) @scores
scores.3: float32[1,3] N,C = Softmax(scores.2) {"axis":1} @scores
output scores = scores.3
"""


def test_channels_first_models_have_that_order():
    x = keras.Input((2, 5, 5), name="x")
    model = keras.Model(x, L.MaxPooling2D(data_format="channels_first")(x))
    graph = KerasConverter().convert(model)
    assert graph.variables["x"].order == OrderNCHW


def test_open_axes_stay_open_unless_they_are_set():
    x = keras.Input((None, 3), name="x")
    model = keras.Model(x, L.Conv1D(2, 3)(x))
    assert list(map(str, KerasConverter().convert(model).variables["x"].shape)) == ["1", "x_1", "3"]
    graph = KerasConverter(input_shapes={"x": [2, 9, 3]}).convert(model)
    assert graph.variables["x"].shape == (2, 9, 3)
    with pytest.raises(ShapeError, match=r"got \[2, 9, 4\]"):
        KerasConverter(input_shapes={"x": [2, 9, 4]}).convert(model)
    with pytest.raises(ShapeError, match="there is no input y; inputs are x"):
        KerasConverter(input_shapes={"y": [1]}).convert(model)


def test_everything_unsupported_is_listed_at_once():
    x, z = (keras.Input((6,), dtype="int32", name=name) for name in "xz")
    inner = keras.Model(z, ops.bincount(z), name="inner")
    model = keras.Model(x, [ops.bincount(x), inner(x)])
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(model)
    assert [where for where, _, _ in error.value.items] == [
        "bincount_1 (Bincount)",
        "inner/bincount (Bincount)",
    ]


def test_training_modes_are_refused():
    x = keras.Input((6,), name="x")
    y = L.Dense(3, dtype="float8_from_float32", name="small")(x)
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(keras.Model(x, L.Dropout(0.5, name="drop")(y, training=True)))
    assert [(where, what) for where, what, _ in error.value.items] == [
        ("small (Dense)", "it is quantized to float8 by quantize()"),
        ("drop (Dropout)", "it is called with training=True"),
    ]


class Scale(L.Layer):
    def build(self, shape):
        self.factor = self.add_weight(name="factor", shape=(shape[-1],))

    def call(self, x):
        return x * self.factor


def test_user_handlers_take_precedence_and_receive_the_layer():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, Scale(name="second")(Scale(name="first")(x)))
    seen = []

    @KerasConverter.register_handler("Scale")
    def scale(converter, layer):
        seen.append((layer.name, layer.class_name, tuple(layer.weights)))
        refs = converter.get_input_tensor(layer)
        assert converter.has_variable(refs[0])
        assert not converter.has_variable(converter.get_output_tensor(layer)[0])
        factor = converter.convert_to_constant_variable(layer.factor, OrderC)
        converter.set_variable(
            converter.get_output_tensor(layer)[0], converter.get_variable(refs[0]) * factor
        )

    @KerasConverter.register_handler("Scale", layer_name="second")
    def twice(converter, layer):
        converter.set_variable(
            converter.get_output_tensor(layer)[0],
            2 * converter.get_variable(converter.get_input_tensor(layer)[0]) + 1,
        )

    graph = KerasConverter().convert(model)
    assert seen == [("first", "Scale", ("factor",))]
    assert graph.slots == {"first/factor"}
    assert [node.op for node in graph.nodes] == ["Mul", "Mul", "Add"]


def test_errors_for_missing_attributes_list_the_existing_ones():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, Scale(name="s")(x))

    @KerasConverter.register_handler("Scale")
    def scale(converter, layer):
        layer.bias

    with pytest.raises(
        AttributeError, match=r"s \(Scale\) has no weight or config value 'bias'; weights: factor"
    ):
        KerasConverter().convert(model)


def test_tutorial():
    class BiasLayer(L.Layer):
        def build(self, shape):
            self.bias = self.add_weight(name="bias", shape=(shape[1],), initializer="uniform")

        def call(self, x):
            return x + self.bias

    @KerasConverter.register_handler("BiasLayer")
    def bias_handler(converter, layer):
        x = converter.get_variable(converter.get_input_tensor(layer)[0])
        b = converter.convert_to_constant_variable(layer.bias, OrderC)
        converter.set_variable(converter.get_output_tensor(layer)[0], x + b)

    x = keras.Input((10,))
    model = keras.Model(x, BiasLayer()(x))
    model.layers[1].set_weights([np.full(10, 100.0)])
    handled = KerasConverter(batch_size=1).convert(model)
    KerasConverter.handlers.clear()
    traced = KerasConverter(batch_size=1).convert(model)
    for graph in (handled, traced):
        outputs, _ = run_graph(graph, {graph.inputs[0]: np.arange(10, dtype="float32")[None]})
        assert next(iter(outputs.values())).tolist() == [list(range(100, 110))]


def test_sources_that_are_not_models():
    with pytest.raises(SourceError, match=r"expected a keras.Model or the path .*, got int"):
        KerasConverter().convert(7)
    with pytest.raises(ShapeError, match="batch_size is 0"):
        KerasConverter(batch_size=0)


def test_weights_with_equal_bytes_and_different_shapes_are_distinct(compare):
    x = keras.Input((4, 3), name="x")
    y = L.EinsumDense("abc,cde->abde", (None, 2, 3), bias_axes="de", name="wide")(x)
    model = keras.Model(x, L.Dense(6, name="flat")(L.Reshape((4, 6))(y)))
    compare(model, weights=False)
