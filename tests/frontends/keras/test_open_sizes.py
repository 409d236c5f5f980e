"""Layers over an axis whose size is set at run time agree with Keras at several sizes."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.backends.harness import Job, run
from tests.frontends.keras.cases import randomise
from tests.passes.running import optimised
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import TARGETS
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.ops.table import infer
from webkiln.program import program

SIZES = (4, 7, 32)
STACKS = {
    "convolution, same": lambda x: layers.Conv1D(3, 3, padding="same")(x),
    "convolution, valid": lambda x: layers.Conv1D(3, 3)(x),
    "convolution, strided": lambda x: layers.Conv1D(
        3, 3, strides=2, padding="same", activation="relu"
    )(x),
    "convolution, causal": lambda x: layers.Conv1D(3, 3, padding="causal", dilation_rate=2)(x),
    "depthwise": lambda x: layers.DepthwiseConv1D(3, padding="same")(x),
    "separable": lambda x: layers.SeparableConv1D(5, 3, padding="same")(x),
    "transposed": lambda x: layers.Conv1DTranspose(3, 3, strides=2, padding="same")(x),
    "maximum": lambda x: layers.MaxPooling1D(2)(x),
    "average, same": lambda x: layers.AveragePooling1D(3, strides=2, padding="same")(x),
    "global average": lambda x: layers.GlobalAveragePooling1D()(x),
    "layer normalisation": lambda x: layers.LayerNormalization()(x),
    "batch normalisation": lambda x: layers.BatchNormalization()(x),
    "softmax over it": lambda x: layers.Softmax(axis=1)(x),
    "concatenation": lambda x: layers.Concatenate()([x, layers.Dense(2)(x)]),
    "concatenation along it": lambda x: layers.Concatenate(axis=1)([x, layers.ReLU()(x)]),
    "upsampling": lambda x: layers.UpSampling1D(2)(x),
    "upsampling, bilinear": lambda x: layers.Reshape((-1, 4))(
        layers.UpSampling2D((2, 1), interpolation="bilinear")(layers.Reshape((-1, 1, 4))(x))
    ),
    "upsampling, bicubic": lambda x: layers.Reshape((-1, 4))(
        layers.UpSampling2D((2, 1), interpolation="bicubic")(layers.Reshape((-1, 1, 4))(x))
    ),
    "resizing": lambda x: layers.Resizing(5, 2, interpolation="lanczos3")(
        layers.Reshape((-1, 2, 2))(x)
    ),
    "group normalisation": lambda x: layers.GroupNormalization(2)(x),
    "einstein sum": lambda x: layers.EinsumDense("...c,cd->...d", 3)(x),
    "padding": lambda x: layers.ZeroPadding1D(2)(x),
    "cropping": lambda x: layers.Cropping1D(1)(x),
    "permutation": lambda x: layers.Permute((2, 1))(x),
    "reshape": lambda x: layers.Reshape((-1, 2))(x),
    "inner part": lambda x: x[:, 1:-1],
    "every other, backwards": lambda x: x[:, ::-2],
    "first three": lambda x: x[:, :3],
    "last": lambda x: x[:, -1],
    "products": lambda x: layers.Dot(axes=(2, 2))([x, x]),
    "convolution, pooling, recurrence": lambda x: layers.LSTM(5)(
        layers.MaxPooling1D(2)(layers.Conv1D(6, 3, padding="same")(x))
    ),
    "two branches": lambda x: layers.GRU(3, return_sequences=True)(
        layers.Concatenate()([x, layers.Conv1D(2, 5, padding="same")(x)])
    ),
}


@pytest.fixture(scope="module")
def stacks():
    made = {}
    for name, build in STACKS.items():
        x = keras.Input((None, 4))
        model = keras.Model(x, build(x))
        randomise(model)
        graph = KerasConverter(input_shapes={"": (2, "T", 4)}).convert(model)
        verify(graph, infer)
        made[name] = (model, graph)
    return made


def values(size):
    return np.random.default_rng(size).normal(size=(2, size, 4)).astype(np.float32)


@pytest.mark.parametrize("name", STACKS)
def test_graphs_agree_with_keras(stacks, name):
    model, graph = stacks[name]
    for size in SIZES:
        (got,) = run_graph(graph, {graph.inputs[0]: values(size)})[0].values()
        assert relative_error(got, np.asarray(model(values(size)))) < 1e-5, size


@pytest.mark.parametrize("backend", representative(["js", "wasm", "webgpu", "webgl"], "js", "wasm"))
@pytest.mark.sample("js")
def test_backends_agree_with_keras(stacks, backend, tmp_path):
    tasks = [(name, size) for name in STACKS for size in SIZES]
    jobs = [
        Job(graph, {graph.inputs[0]: values(size)}, constant_values(graph, graph.weights))
        for _, graph, size in _all(stacks, tasks)
    ]
    for (model, _, size), outputs, task in zip(
        _all(stacks, tasks), run(jobs, backend, tmp_path), tasks, strict=True
    ):
        (got,) = outputs.values()
        assert relative_error(got, np.asarray(model(values(size)))) < 1e-4, task


def _all(stacks, tasks):
    return [(*stacks[name], size) for name, size in tasks]


def test_sizes_that_may_be_too_small_are_guarded(stacks):
    def guards(name):
        return {
            guard["size"] for guard in program(stacks[name][1], TARGETS["js"], "float32")["guards"]
        }

    assert guards("convolution, valid") == {"T - 3", "T - 2"}
    assert guards("last") == guards("convolution, same") == guards("products") == set()


def test_names_are_allowed_for_open_sizes_only():
    x = keras.Input((5, 4))
    with pytest.raises(ShapeError, match=r"its shape is \[None, 5, 4\] .* got \[1, 'T', 4\]"):
        KerasConverter(input_shapes={"": (1, "T", 4)}).convert(keras.Model(x, layers.ReLU()(x)))


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (
            layers.Resizing(5, 4, interpolation="area", name="r"),
            r"r \(Resize\): axis 1 is resized from T to 5; area requires sizes that are known",
        ),
        (
            layers.Resizing(5, 4, antialias=True, name="r"),
            r"r \(Resize\): axis 1 is resized from T to 5; antialias requires sizes that are known",
        ),
    ],
)
def test_averages_of_open_sizes_are_refused(layer, message):
    x = keras.Input((None, 4, 3))
    with pytest.raises(ShapeError, match=message):
        KerasConverter(input_shapes={"": (1, "T", 4, 3)}).convert(keras.Model(x, layer(x)))


def test_two_names_that_must_be_equal_are_guarded():
    a, b = keras.Input((None, 4), name="a"), keras.Input((None, 4), name="b")
    model = keras.Model([a, b], layers.Add(name="sum")([a, b]))
    graph = KerasConverter(input_shapes={"a": (1, "T", 4), "b": (1, "S", 4)}).convert(model)
    assert [(guard.layer, str(guard.a), str(guard.b)) for guard in graph.guards] == [
        ("sum", "T", "S")
    ]
    assert (
        not KerasConverter(input_shapes={"a": (1, "T", 4), "b": (1, "T", 4)}).convert(model).guards
    )


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
@pytest.mark.sample("js")
def test_recurrences_over_batches_of_any_size(backend, tmp_path):
    """The initial states are zeros of an open size, and the names of sizes are keywords in the
    languages of backends.
    """
    x = keras.Input((None, 3, 4))
    model = keras.Model(x, layers.GRU(2)(layers.TimeDistributed(layers.LSTM(3))(x)))
    randomise(model)
    graph = optimised(
        KerasConverter(input_shapes={"": ("max", "constructor", 3, 4)}).convert(model)
    )
    sets = [
        np.random.default_rng(n).normal(size=(n, steps, 3, 4)).astype(np.float32)
        for n, steps in ((1, 1), (3, 2), (2, 40))
    ]
    jobs = [
        Job(graph, {graph.inputs[0]: inputs}, constant_values(graph, graph.weights))
        for inputs in sets
    ]
    for inputs, outputs in zip(sets, run(jobs, backend, tmp_path), strict=True):
        (got,) = outputs.values()
        assert relative_error(got, np.asarray(model(inputs))) < 1e-4


def test_stateful_layers_need_a_fixed_batch_size():
    x, layer = keras.Input((5, 4)), layers.GRU(3, name="g")
    model = keras.Model(x, layer(x))
    layer.stateful = True
    with pytest.raises(
        ShapeError, match=r"g \(GRU\): keeps its states between runs, .* the batch size is N"
    ):
        KerasConverter(input_shapes={"": ("N", 5, 4)}).convert(model)
