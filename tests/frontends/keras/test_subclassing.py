"""Reimplementations of the layers and models of Keras's subclassing guide agree with Keras,
including those that draw random numbers.
"""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from webkiln.backends.compare import relative_error
from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.handlers import HANDLERS
from webkiln.frontends.keras.in_memory import describe_model
from webkiln.frontends.keras.reference import compute_reference, input_table
from webkiln.ops.evaluate import run_graph
from webkiln.random_inputs import DISTRIBUTIONS, sample

SETS = ("natural0", "natural1", "extreme")


@pytest.fixture
def agree():
    """Convert a model in memory and compare its graph with Keras on the reference's input sets, to
    1e-5 or ten times Keras's noise.
    """

    def check(model, batch=3):
        spec, blobs = describe_model(model, handled=HANDLERS.handles, batch_size=batch)
        graph = KerasConverter(batch_size=batch).convert(spec, blobs)
        arrays, _ = compute_reference(keras, model, spec, input_table(spec, batch, {}, {}))
        for name in SETS:
            outputs, _ = run_graph(graph, {key: arrays[f"{name}/in/{key}"] for key in graph.inputs})
            for key, got in outputs.items():
                expected = arrays[f"{name}/out/{key}"]
                bound = max(1e-5, 10 * float(arrays[f"{name}/noise/{key}"]))
                assert relative_error(got, expected) <= bound, key
        return graph

    return check


def functional(layer, *shape):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


@keras.saving.register_keras_serializable(package="subclassing")
class Linear(L.Layer):
    """Weights are created at the first call, when the width of the input is known."""

    def __init__(self, units=8, **options):
        super().__init__(**options)
        self.units = units

    def build(self, shape):
        self.w = self.add_weight(
            shape=(shape[-1], self.units), initializer="random_normal", trainable=True, name="w"
        )
        self.b = self.add_weight(
            shape=(self.units,), initializer="random_normal", trainable=True, name="b"
        )

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class ComputeSum(L.Layer):
    def __init__(self, width, **options):
        super().__init__(**options)
        self.total = self.add_weight(
            initializer="zeros", shape=(width,), trainable=False, name="total"
        )

    def call(self, inputs):
        self.total.assign_add(ops.sum(inputs, axis=0))
        return inputs + self.total


class MLPBlock(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.first, self.second, self.third = Linear(8), Linear(8), Linear(1)

    def call(self, inputs):
        x = ops.relu(self.first(inputs))
        return self.third(ops.relu(self.second(x)))


class ActivityRegularizationLayer(L.Layer):
    def call(self, inputs):
        self.add_loss(0.1 * ops.mean(inputs))
        return inputs


class OuterWithLoss(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.inner = ActivityRegularizationLayer()
        self.dense = L.Dense(4, kernel_regularizer=keras.regularizers.l2(1e-3))

    def call(self, inputs):
        return self.dense(self.inner(inputs))


class CustomDropout(L.Layer):
    def __init__(self, rate, **options):
        super().__init__(**options)
        self.rate = rate
        self.seeds = keras.random.SeedGenerator(1337)

    def call(self, inputs, training=None):
        return keras.random.dropout(inputs, rate=self.rate, seed=self.seeds) if training else inputs


class LogisticEndpoint(L.Layer):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.loss = keras.losses.BinaryCrossentropy(from_logits=True)

    def call(self, targets, logits, sample_weights=None):
        self.add_loss(self.loss(targets, logits, sample_weights))
        return ops.softmax(logits)


class Residual(L.Layer):
    def __init__(self, filters, **options):
        super().__init__(**options)
        self.stages = [
            [L.Conv2D(filters, 3, padding="same"), L.BatchNormalization()] for _ in range(2)
        ]
        self.short = {"conv": L.Conv2D(filters, 1)}

    def call(self, inputs, training=False):
        x = inputs
        for conv, norm in self.stages:
            x = ops.relu(norm(conv(x), training=training))
        return x + self.short["conv"](inputs)


class ResNet(keras.Model):
    def __init__(self, classes=5, **options):
        super().__init__(**options)
        self.blocks = [Residual(4), Residual(6)]
        self.pool = L.GlobalAveragePooling2D()
        self.dropout = CustomDropout(0.5)
        self.head = keras.Sequential(
            [L.Dense(8, activation="relu"), L.Dense(classes, activation="softmax")]
        )

    def call(self, inputs, training=None):
        x = inputs
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(self.dropout(self.pool(x), training=training))


class Sampling(L.Layer):
    def __init__(self, **options):
        super().__init__(**options)
        self.seeds = keras.random.SeedGenerator(1337)

    def call(self, inputs):
        mean, log_variance = inputs
        batch, width = ops.shape(mean)[0], ops.shape(mean)[1]
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(
            shape=(batch, width), seed=self.seeds
        )


class Encoder(L.Layer):
    def __init__(self, latent=2, hidden=6, name="encoder", **options):
        super().__init__(name=name, **options)
        self.project = L.Dense(hidden, activation="relu")
        self.mean, self.log_variance = L.Dense(latent), L.Dense(latent)
        self.sampling = Sampling()

    def call(self, inputs):
        x = self.project(inputs)
        mean, log_variance = self.mean(x), self.log_variance(x)
        return mean, log_variance, self.sampling((mean, log_variance))


class Decoder(L.Layer):
    def __init__(self, width, hidden=6, name="decoder", **options):
        super().__init__(name=name, **options)
        self.project, self.output_ = (
            L.Dense(hidden, activation="relu"),
            L.Dense(width, activation="sigmoid"),
        )

    def call(self, inputs):
        return self.output_(self.project(inputs))


class VariationalAutoEncoder(keras.Model):
    def __init__(self, width, name="autoencoder", **options):
        super().__init__(name=name, **options)
        self.encoder, self.decoder = Encoder(), Decoder(width)

    def call(self, inputs):
        mean, log_variance, z = self.encoder(inputs)
        self.add_loss(-0.5 * ops.mean(log_variance - ops.square(mean) - ops.exp(log_variance) + 1))
        return self.decoder(z)


@pytest.mark.parametrize(
    "layer",
    [
        Linear(4),
        ComputeSum(6),
        MLPBlock(),
        ActivityRegularizationLayer(),
        OuterWithLoss(),
        CustomDropout(0.5),
    ],
    ids=lambda layer: layer.name,
)
def test_layers(agree, layer):
    agree(functional(layer, 6))


def test_layers_with_a_config_are_reloaded(tmp_path):
    model = functional(Linear(4, name="linear"), 6)
    model.save(tmp_path / "m.keras")
    loaded = keras.saving.load_model(tmp_path / "m.keras")
    graphs = [KerasConverter().convert(each) for each in (model, loaded)]
    assert graphs[0] == graphs[1]
    assert graphs[0].slots == {"linear/w", "linear/b"}


def test_an_endpoint_with_losses(agree):
    features, targets = keras.Input((3,), name="features"), keras.Input((4,), name="targets")
    logits = L.Dense(4, name="logits")(features)
    agree(keras.Model([features, targets], LogisticEndpoint(name="predictions")(targets, logits)))


def test_models_in_models(agree):
    model = ResNet(name="resnet")
    model(np.zeros((1, 8, 8, 3), "float32"))
    graph = agree(model)
    assert {
        "resnet/residual/conv2d/kernel",
        "resnet/residual_1/batch_normalization_2/gamma",
        "resnet/sequential/dense/bias",
    } <= graph.slots
    agree(functional(ResNet(name="resnet"), 8, 8, 3))


def test_the_autoencoder_and_its_subgraphs(agree):
    model = VariationalAutoEncoder(5)
    model(np.zeros((1, 5), "float32"))
    graph = agree(model)
    assert graph.inputs == ("input", "sampling_noise")
    assert str(graph.variables["sampling_noise"].distribution) == "normal(mean=0.0, stddev=1.0)"
    assert graph.type("sampling_noise").shape == (3, 2)
    assert agree(functional(model.encoder, 5)).inputs == ("x", "sampling_noise")
    assert agree(functional(model.decoder, 2)).inputs == ("x",)


DRAWS = {
    "normal": lambda shape: keras.random.normal(shape, mean=2.0, stddev=3.0),
    "truncated_normal": lambda shape: keras.random.truncated_normal(shape, stddev=0.5, seed=7),
    "uniform": lambda shape: keras.random.uniform(shape, -1.0, 4.0),
    "randint": lambda shape: keras.random.randint(shape, 2, 9),
}


class Keyed(keras.Model):
    def __init__(self, **options):
        super().__init__(**options)
        self.words, self.dense = L.Embedding(9, 4, mask_zero=True), L.Dense(3)

    def call(self, x):
        return {"z": self.dense(x), "a": x * 2, "m": self.words(ops.cast(x > 0, "int32"))}


def test_outputs_of_a_dict_have_its_keys(agree):
    model = Keyed(name="keyed")
    inputs = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")
    expected = model(inputs)
    graph = agree(model)
    assert list(graph.outputs) == ["a", "m", "z"]
    outputs, _ = run_graph(graph, {"input": inputs})
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, rtol=1e-5, atol=1e-6)


class Drawing(L.Layer):
    def __init__(self, draw, **options):
        super().__init__(**options)
        self.draw = draw

    def call(self, x):
        _, first, second = (DRAWS[self.draw](ops.shape(x)) for _ in range(3))
        return x * ops.cast(first, x.dtype) - ops.cast(second, x.dtype)


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_become_inputs(agree, name):
    graph = agree(functional(Drawing(name, name="noisy"), 4))
    assert graph.inputs == ("x", "noisy_noise_2", "noisy_noise_3")
    assert graph.variables["noisy_noise_2"].distribution.name == name
    assert graph.type("noisy_noise_3").dtype == ("int32" if name == "randint" else "float32")


def test_samples_follow_their_distribution():
    def drawn(name, *parameters, dtype="float32"):
        return sample(
            name, dict(zip(DISTRIBUTIONS[name], parameters, strict=True)), (10_000,), dtype, 3
        )

    normal, cut = drawn("normal", 2.0, 3.0), drawn("truncated_normal", 2.0, 3.0)
    assert (
        abs(normal.mean() - 2) < 0.1
        and abs(normal.std() - 3) < 0.1
        and np.abs(normal - 2).max() > 6
    )
    assert abs(cut.mean() - 2) < 0.1 and np.abs(cut - 2).max() <= 6
    assert -1 <= drawn("uniform", -1.0, 4.0).min() < drawn("uniform", -1.0, 4.0).max() < 4
    assert set(drawn("randint", 2, 9, dtype="int32").tolist()) == set(range(2, 9))


REFUSED = {
    "dropout": lambda x: keras.random.dropout(x, 0.5),
    "shuffle": keras.random.shuffle,
    "categorical": lambda x: keras.random.categorical(x, 1),
    "gamma": lambda x: keras.random.gamma((3, 4), 1.0),
    "binomial": lambda x: keras.random.binomial((3, 4), 5, 0.5),
    "beta": lambda x: keras.random.beta((3, 4), 1.0, 1.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_random_numbers_are_refused(name):
    class Custom(L.Layer):
        def call(self, x):
            return REFUSED[name](x)

        def compute_output_shape(self, shape):
            return shape

    with pytest.raises(
        UnsupportedError,
        match=(
            rf"custom \(Custom\): keras.random.{name} inside call .* normal, truncated_normal,"
            r" uniform"
        ),
    ):
        KerasConverter().convert(functional(Custom(name="custom"), 4))


def test_noise_of_layers_called_twice_is_refused():
    noisy = Drawing("normal", name="noisy")
    x = keras.Input((4,), name="x")
    with pytest.raises(
        UnsupportedError, match="noisy: draws random numbers and is called more than once"
    ):
        KerasConverter().convert(keras.Model(x, noisy(noisy(x))))


def test_training_inside_a_call_is_refused():
    class Custom(L.Layer):
        def __init__(self, **options):
            super().__init__(**options)
            self.drop = L.Dropout(0.5, name="drop")

        def call(self, x):
            return self.drop(x, training=True)

    with pytest.raises(
        UnsupportedError, match=r"custom/drop \(Dropout\): it is called with training=True"
    ):
        KerasConverter().convert(functional(Custom(name="custom"), 4))
