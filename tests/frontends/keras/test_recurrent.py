"""Recurrent layers agree with Keras: cells, masks, both directions, states, wrappers; from memory
and from files.
"""

from itertools import product

import keras
import numpy as np
import pytest
from keras import layers

from tests.backends.harness import Job, run
from tests.frontends.keras.cases import randomise
from tests.passes.running import optimised
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, next_states, run_graph
from webkiln.ops.table import infer


@keras.saving.register_keras_serializable("tests")
class MinimalCell(layers.Layer):
    """The cell of Keras's guide to RNN layers; its state and output have different widths."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units, self.state_size, self.output_size = units, units, 2 * units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), name="kernel")
        self.recurrent = self.add_weight(shape=(self.units, self.units), name="recurrent")

    def call(self, x, states):
        h = keras.ops.tanh(x @ self.kernel + states[0] @ self.recurrent)
        return keras.ops.concatenate([h, -h], axis=-1), [h]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class StartedCell(MinimalCell):
    """A cell whose initial state is a constant row."""

    def get_initial_state(self, batch_size=None):
        return [keras.ops.ones((batch_size, self.units)) * 0.5]


class LearntCell(MinimalCell):
    """A cell with a trainable initial state."""

    def build(self, shape):
        super().build(shape)
        self.first = self.add_weight(shape=(self.units,), name="first")

    def get_initial_state(self, batch_size=None):
        return keras.ops.broadcast_to(
            keras.ops.expand_dims(self.first, 0), (batch_size, self.units)
        )


def sequential(*stack, shape=(5, 4)):
    return keras.Sequential([keras.Input(shape), *stack])


def masked(layer, **kwargs):
    return lambda: sequential(layers.Masking(), layer(**kwargs))


def functional(kind, **kwargs):
    def build():
        x = keras.Input((5, 4))
        return keras.Model(x, kind(**kwargs)(x))

    return build


def with_initial_states(layer, count, **kwargs):
    def build():
        x, states = keras.Input((5, 4)), [keras.Input((3,)) for _ in range(count)]
        y = layer(x, initial_state=states if count > 1 else states[0])
        return keras.Model([x, *states], y)

    return build


def embedded():
    return keras.Sequential(
        [
            keras.Input((6,), dtype="int32"),
            layers.Embedding(4, 3, mask_zero=True),
            layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
            layers.GRU(3),
        ]
    )


def scores():
    x, mask = keras.Input((5, 4)), keras.Input((5, 4), dtype="bool")
    return keras.Model(
        [x, mask], [layers.Softmax()(x, mask=mask), layers.Softmax(axis=1)(x, mask=mask)]
    )


def behind_a_model():
    x, y = keras.Input((5, 4)), keras.Input((5, 4))
    inner = keras.Model(x, layers.LSTM(4, return_sequences=True)(x))
    return keras.Model(y, layers.GRU(2)(inner(layers.Masking()(y))))


def both_ends():
    x = keras.Input((5, 4))
    forward, *states = layers.Bidirectional(
        layers.LSTM(3, return_sequences=True, return_state=True)
    )(layers.Masking()(x))
    return keras.Model(x, [forward, *states])


def shared():
    a, b, layer = keras.Input((5, 4)), keras.Input((5, 4)), layers.LSTM(3)
    return keras.Model([a, b], layers.Subtract()([layer(a), layer(b)]))


def called_twice():
    x, y = keras.Input((5, 4)), keras.Input((5, 4))
    inner = keras.Model(x, layers.LSTM(4, return_sequences=True)(x))
    return keras.Model(y, inner(inner(y)))


def shown_and_read():
    x, y = keras.Input((5, 4)), keras.Input((5, 4))
    z = keras.Model(x, layers.LSTM(4, return_sequences=True)(x))(y)
    return keras.Model(y, [z, layers.GRU(2)(z)])


def inner_model():
    return keras.Sequential(
        [keras.Input((4,)), layers.Dense(3, activation="relu"), layers.Dense(2)]
    )


MODELS = {
    "simple": lambda: sequential(layers.SimpleRNN(3)),
    "simple sequences": lambda: sequential(
        layers.SimpleRNN(3, return_sequences=True, activation="relu", use_bias=False)
    ),
    "lstm": lambda: sequential(layers.LSTM(3)),
    "lstm sequences": lambda: sequential(
        layers.LSTM(3, return_sequences=True, recurrent_activation="hard_sigmoid", use_bias=False)
    ),
    "lstm backwards": lambda: sequential(layers.LSTM(3, return_sequences=True, go_backwards=True)),
    "gru": lambda: sequential(layers.GRU(3)),
    "gru sequences": lambda: sequential(
        layers.GRU(3, return_sequences=True, activation="softsign")
    ),
    "gru reset before": lambda: sequential(layers.GRU(3, reset_after=False)),
    "gru without bias": lambda: sequential(layers.GRU(3, use_bias=False, return_sequences=True)),
    "gru backwards last": lambda: sequential(layers.GRU(3, go_backwards=True)),
    "unrolled": lambda: sequential(layers.LSTM(3, unroll=True)),
    "states": functional(layers.LSTM, units=3, return_state=True, return_sequences=True),
    "initial states": with_initial_states(layers.LSTM(3), 2),
    "initial state": with_initial_states(layers.GRU(3, return_sequences=True), 1),
    "masked simple": masked(layers.SimpleRNN, units=3, return_sequences=True),
    "masked lstm": masked(layers.LSTM, units=3),
    "masked lstm sequences": masked(layers.LSTM, units=3, return_sequences=True),
    "masked lstm backwards": masked(layers.LSTM, units=3, return_sequences=True, go_backwards=True),
    "masked gru zeros": masked(
        layers.GRU, units=3, return_sequences=True, zero_output_for_mask=True
    ),
    "masked gru zeros last": masked(layers.GRU, units=3, zero_output_for_mask=True),
    "masked, through dense and dropout": lambda: sequential(
        layers.Masking(), layers.Dense(3), layers.Dropout(0.5), layers.LSTM(2)
    ),
    "masked average": lambda: sequential(layers.Masking(), layers.GlobalAveragePooling1D()),
    "scores under a mask": scores,
    "model under a mask": lambda: sequential(
        layers.Masking(), keras.Sequential([keras.Input((5, 4)), layers.Dense(3), layers.LSTM(2)])
    ),
    "behind a model under a mask": lambda: sequential(
        layers.Masking(), keras.Sequential([keras.Input((5, 4)), layers.Dense(3)]), layers.LSTM(2)
    ),
    "behind a recurrent model under a mask": behind_a_model,
    "behind a wrapped layer under a mask": lambda: sequential(
        layers.Masking(), layers.SpectralNormalization(layers.Dense(3)), layers.LSTM(2)
    ),
    "embedded": embedded,
    "bidirectional": lambda: sequential(layers.Bidirectional(layers.LSTM(3))),
    "bidirectional sequences": lambda: sequential(
        layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode="sum")
    ),
    "bidirectional average": lambda: sequential(
        layers.Bidirectional(layers.SimpleRNN(3, return_sequences=True), merge_mode="ave")
    ),
    "bidirectional product": lambda: sequential(
        layers.Bidirectional(layers.GRU(3), merge_mode="mul")
    ),
    "bidirectional, two layers": lambda: sequential(
        layers.Bidirectional(
            layers.LSTM(3, return_sequences=True),
            backward_layer=layers.GRU(2, return_sequences=True, go_backwards=True),
        )
    ),
    "bidirectional states": both_ends,
    "bidirectional pair": functional(layers.Bidirectional, layer=layers.GRU(3), merge_mode=None),
    "stacked": lambda: sequential(
        layers.RNN(
            [layers.LSTMCell(3), layers.GRUCell(2), layers.SimpleRNNCell(4)], return_sequences=True
        )
    ),
    "stacked, last": lambda: sequential(layers.RNN([layers.LSTMCell(3), layers.LSTMCell(2)])),
    "own cell": lambda: sequential(layers.RNN(MinimalCell(3), return_sequences=True)),
    "own cell, last": masked(layers.RNN, cell=MinimalCell(3)),
    "own cell with a start": lambda: sequential(layers.RNN(StartedCell(3))),
    "own cell with a learnt start": masked(layers.RNN, cell=LearntCell(3), go_backwards=True),
    "own cells with a start, stacked": lambda: sequential(
        layers.RNN([layers.LSTMCell(2), LearntCell(3), StartedCell(3)])
    ),
    "shared": shared,
    "model called twice": called_twice,
    "model shown and read": shown_and_read,
    "time distributed": lambda: sequential(
        layers.TimeDistributed(layers.Dense(3, activation="tanh"))
    ),
    "time distributed convolution": lambda: sequential(
        layers.TimeDistributed(layers.Conv2D(3, 3, padding="same")), shape=(3, 6, 5, 2)
    ),
    "time distributed model": lambda: sequential(layers.TimeDistributed(inner_model())),
    "deep": lambda: sequential(
        layers.LSTM(4, return_sequences=True), layers.GRU(3, return_sequences=True), layers.LSTM(2)
    ),
}


def prepared(model, shapes=None):
    randomise(model)
    graph = KerasConverter(batch_size=2, input_shapes=shapes).convert(model)
    verify(graph, infer)
    return graph


def inputs_of(model, steps=None, seed=3):
    """Values with masked steps at the start, inside and at the end."""
    generator = np.random.default_rng(seed)
    made = []
    for tensor in model.inputs:
        shape = tuple(2 if axis == 0 else size or steps for axis, size in enumerate(tensor.shape))
        if tensor.dtype != "float32":
            made.append(generator.integers(0, 3, shape).astype(tensor.dtype))
        else:
            made.append(generator.normal(size=shape).astype(np.float32))
            if len(shape) == 3:
                made[-1][0, [0, -1]] = made[-1][1, 2 % shape[1]] = 0
    return made


def outputs_of(model, inputs):
    results = model(inputs if len(inputs) > 1 else inputs[0], training=False)
    return [np.asarray(item) for item in keras.tree.flatten(results)]


@pytest.mark.parametrize("name", MODELS)
def test_graphs_agree_with_keras(name):
    model = MODELS[name]()
    graph, inputs = prepared(model), inputs_of(model)
    outputs, _ = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    for got, expected in zip(outputs.values(), outputs_of(model, inputs), strict=True):
        assert relative_error(got, expected) < 1e-5


FILES = [name for name in MODELS if not name.startswith("own cell")]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.sample(8)
def test_files_give_the_same_graph(name, tmp_path):
    model = MODELS[name]()
    inputs = inputs_of(model)
    randomise(model)
    model.save(tmp_path / "model.keras")
    graph = KerasConverter(batch_size=2).convert(tmp_path / "model.keras")
    outputs, _ = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    for got, expected in zip(outputs.values(), outputs_of(model, inputs), strict=True):
        assert relative_error(got, expected) < 1e-5


def job(model, graph, inputs):
    return Job(
        graph, dict(zip(graph.inputs, inputs, strict=True)), constant_values(graph, graph.weights)
    )


@pytest.mark.parametrize(
    ("backend", "every"),
    representative([("js", 4), ("js", 1), ("wasm", 1), ("webgpu", 1), ("webgl", 1)], ("js", 4)),
)
def test_backends_agree_with_keras(backend, every, tmp_path):
    built = {name: make() for name, make in list(MODELS.items())[::every]}
    graphs = {name: optimised(prepared(model)) for name, model in built.items()}
    inputs = {name: inputs_of(model) for name, model in built.items()}
    jobs = [job(built[name], graphs[name], inputs[name]) for name in built]
    for name, outputs in zip(built, run(jobs, backend, tmp_path), strict=True):
        for got, expected in zip(
            outputs.values(), outputs_of(built[name], inputs[name]), strict=True
        ):
            assert relative_error(got, expected) < 1e-4, name


def open_ended():
    """A stack over sequences of any length: masks, both directions, all outputs and the last."""
    x = keras.Input((None, 4))
    both = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(layers.Masking()(x))
    dense = layers.TimeDistributed(layers.Dense(6, activation="relu"))(both)
    backwards = layers.GRU(4, return_sequences=True, go_backwards=True)(dense)
    return keras.Model(
        x, [layers.SimpleRNN(3)(backwards), backwards, layers.GlobalMaxPooling1D()(dense)]
    )


LENGTHS = (1, 2, 7, 64, 100)


@pytest.mark.parametrize(
    ("backend", "lengths"),
    representative(
        [("js", (1, 2, 7)), *product(["js", "wasm", "webgpu", "webgl"], [LENGTHS])],
        ("js", (1, 2, 7)),
    ),
)
def test_sequences_of_any_length(backend, lengths, tmp_path):
    model = open_ended()
    graph = prepared(model, {"": (2, "T", 4)})
    assert [str(graph.type(name)) for name in graph.outputs.values()] == [
        "float32[2,3]",
        "float32[2,T,4]",
        "float32[2,6]",
    ]
    batches = [inputs_of(model, steps, seed=steps) for steps in lengths]
    results = run([job(model, graph, inputs) for inputs in batches], backend, tmp_path)
    for inputs, outputs in zip(batches, results, strict=True):
        for got, expected in zip(outputs.values(), outputs_of(model, inputs), strict=True):
            assert relative_error(got, expected) < 2e-4, inputs[0].shape


def test_stateful_cells_with_custom_initial_states_are_refused():
    x = keras.Input(batch_shape=(2, 5, 4))
    model = keras.Model(x, layers.RNN(StartedCell(3), stateful=True, name="kept")(x))
    with pytest.raises(
        ShapeError,
        match=(
            r"kept \(RNN\): keeps its states between runs, and its cell overrides get_initial_state"
        ),
    ):
        KerasConverter(batch_size=2).convert(model)


def test_states_persist_between_runs():
    x = keras.Input(batch_shape=(2, 5, 4))
    model = keras.Model(x, layers.LSTM(3, stateful=True, return_sequences=True)(x))
    graph = prepared(model)
    model.layers[1].reset_states()
    states = {state.name: np.zeros((2, 3), np.float32) for state in graph.states}
    assert len(states) == 2
    for seed in range(3):
        inputs = inputs_of(model, seed=seed)
        outputs, values = run_graph(graph, {graph.inputs[0]: inputs[0]}, states=states)
        states = next_states(graph, values)
        assert relative_error(next(iter(outputs.values())), outputs_of(model, inputs)[0]) < 1e-5


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sample(6)
def test_passes_do_not_change_results(name):
    model = MODELS[name]()
    graph, inputs = prepared(model), inputs_of(model)
    changed = optimised(graph)
    named = dict(zip(graph.inputs, inputs, strict=True))
    for got, expected in zip(
        run_graph(changed, named)[0].values(), outputs_of(model, inputs), strict=True
    ):
        assert relative_error(got, expected) < 1e-5
