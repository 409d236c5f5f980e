"""Layers over an axis whose size is set at run time agree with Keras at several sizes."""

import keras
import numpy as np
import pytest
from keras import layers

from tests.backends.harness import Job, run
from tests.frontends.keras.cases import randomise
from tests.passes.running import optimised
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.ops.table import infer

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
            guard["size"] for guard in program(stacks[name][1], REGISTRY["js"], "float32")["guards"]
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
    assert [(guard.layer, str(guard.a), str(guard.b)) for guard in graph.constraints.guards] == [
        ("sum", "T", "S")
    ]
    assert (
        not KerasConverter(input_shapes={"a": (1, "T", 4), "b": (1, "T", 4)})
        .convert(model)
        .constraints.guards
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


FULLY_CONVOLUTIONAL = {
    "image": lambda x: layers.Conv2DTranspose(2, 3, strides=2, padding="same")(
        layers.MaxPooling2D(2)(layers.Conv2D(4, 3, padding="same", activation="relu")(x))
    ),
    "pooled": lambda x: layers.Dense(3)(
        layers.GlobalAveragePooling2D()(layers.SeparableConv2D(4, 3, strides=2)(x))
    ),
    "skipped": lambda x: layers.Concatenate()(
        [x, layers.UpSampling2D(2)(layers.MaxPooling2D(2)(x))]
    ),
}


@pytest.mark.parametrize("name", FULLY_CONVOLUTIONAL)
def test_open_axes_of_images_have_names_by_default(name):
    x = keras.Input((None, None, 3), name="photo")
    model = keras.Model(x, FULLY_CONVOLUTIONAL[name](x))
    randomise(model)
    graph = KerasConverter().convert(model)
    even = name == "skipped"
    sizes = "2*photo_1_by2,2*photo_2_by2" if even else "photo_1,photo_2"
    assert str(graph.type(graph.inputs[0])) == f"float32[1,{sizes},3]"
    for shape in ((1, 8, 12, 3), (1, 14, 10, 3)):
        image = np.random.default_rng(1).normal(size=shape).astype("float32")
        (got,) = run_graph(graph, {graph.inputs[0]: image})[0].values()
        assert relative_error(got, np.asarray(model(image))) < 1e-5


def test_open_axes_of_sequences_have_names_by_default():
    first, second = keras.Input((None, 42), name="first"), keras.Input((None,), name="b.c")
    ids = layers.Embedding(9, 42)(second)
    model = keras.Model([first, second], layers.LSTM(5)(layers.Concatenate(axis=1)([first, ids])))
    graph = KerasConverter().convert(model)
    for sizes in ((3, 5), (7, 2)):
        values = [
            np.random.default_rng(2).normal(size=(1, sizes[0], 42)).astype("float32"),
            np.random.default_rng(3).integers(0, 9, (1, sizes[1])).astype("float32"),
        ]
        (got,) = run_graph(graph, dict(zip(graph.inputs, values, strict=True)))[0].values()
        assert relative_error(got, np.asarray(model(values))) < 1e-5
    types = [str(graph.type(name)) for name in graph.inputs]
    assert types == ["float32[1,first_1,42]", "float32[1,b_c_1]"]


def test_sizes_are_renamed_and_set():
    x = keras.Input((None, 4), name="x")
    model = keras.Model(x, layers.ReLU()(x))

    def shape(**options):
        graph = KerasConverter(**options).convert(model)
        return str(graph.type(graph.inputs[0])).removeprefix("float32")

    assert shape() == "[1,x_1,4]"
    assert shape(batch_size=3) == "[3,x_1,4]"
    assert shape(dims={"x_1": "T"}) == "[1,T,4]"
    assert shape(dims={"x_1": 9}) == "[1,9,4]"
    assert shape(input_shapes={"": (2, 6, 4)}) == "[2,6,4]"
    with pytest.raises(ShapeError, match=r"there is no size called T; sizes are x_1"):
        shape(dims={"T": 3})
    with pytest.raises(ShapeError, match=r"there is no size called x_1; sizes are all known"):
        shape(dims={"x_1": 3}, input_shapes={"x": (1, 6, 4)})


def test_equal_names_of_sizes_are_refused():
    a, b = keras.Input((None, 4), name="a.b"), keras.Input((None, 4), name="a_b")
    with pytest.raises(ShapeError, match=r"axis 1 of a\.b and axis 1 of a_b would both be called"):
        KerasConverter().convert(keras.Model([a, b], [layers.ReLU()(a), layers.ReLU()(b)]))


@pytest.mark.parametrize(
    "layer",
    [
        layers.Resizing(5, 4, interpolation="area", name="r"),
        layers.Resizing(5, 4, antialias=True, name="r"),
    ],
)
def test_layers_that_need_known_sizes_name_the_options(layer):
    x = keras.Input((None, 4, 3), name="x")
    message = r"set it in the build with --dim x_1=16, or with --input-shape x=1,16,4,3$"
    with pytest.raises(ShapeError, match=message):
        KerasConverter().convert(keras.Model(x, layer(x)))
