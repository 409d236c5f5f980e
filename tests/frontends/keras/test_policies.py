"""Dtype policies and input dtypes: casts, computed and declared dtypes agree with Keras.
`dtype_cross` and `operation_cross` test all combinations.
"""

from functools import reduce
from importlib import import_module

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from tests.frontends.keras import dtype_cross, operation_cross
from tests.frontends.keras.layer_cases import LAYER_CASES
from tests.sampling import representative
from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.policies import PROMOTED
from webkiln.ops.evaluate import run_graph
from webkiln.passes.pipeline import PASSES

FIRST = [(name, cases[0]) for rows in LAYER_CASES.values() for name, cases in rows.items()]
HALF_INPUTS = ("int32", "float32")


def refute(policy, dtypes, folder, every):
    """The errors of layers; every `every`-th layer is tested."""
    errors = []
    for name, case in FIRST[::every]:
        for dtype in dtypes:
            for source, result in dtype_cross.attempt(name, case, dtype, policy, folder).items():
                if result.verdict in ("wrong", "refused"):
                    errors.append(f"{name} {dtype} {source}: {result.reason}")
    return errors


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("dtype", "every"),
    representative(
        [("float16", 4), ("uint8", 4), *((dtype, 1) for dtype in dtype_cross.DTYPES)],
        ("float16", 4),
        ("uint8", 4),
    ),
)
def test_layers_accept_each_dtype(dtype, every, tmp_path):
    assert refute("float32", [dtype], tmp_path, every) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("policy", "every"),
    representative(
        [
            ("mixed_float16", 5),
            *((policy, 1) for policy in dtype_cross.POLICIES if policy != "float32"),
        ],
        ("mixed_float16", 5),
    ),
)
def test_layers_under_each_policy(policy, every, tmp_path):
    assert refute(policy, HALF_INPUTS, tmp_path, every) == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize("every", representative([12, 1], 12))
def test_operations_accept_each_dtype(every):
    wrong = []
    for number, (name, function, operands) in enumerate(operation_cross.cases()):
        if number % every == 0 and (
            found := operation_cross.attempt(function, operands)
        ).verdict in ("wrong", "refused"):
            wrong += [f"{name}: {found.reason}"] if not name.startswith("power") else []
    assert wrong == []


def single(layer, shape=(4,), dtype="float32"):
    x = keras.Input(shape, dtype=dtype, name="x")
    return keras.Model(x, layer(x), name="single")


@pytest.mark.parametrize("policy", dtype_cross.POLICIES)
@pytest.mark.parametrize("suffix", ["keras", "h5"])
@pytest.mark.sample(4)
def test_files_and_memory_give_equal_graphs(policy, suffix, tmp_path):
    """A chain under one policy whose last layer computes in float32, as Keras recommends."""
    x = keras.Input((8, 8, 3), dtype="uint8", name="x")
    with_policy = {"dtype": policy}
    y = L.Conv2D(4, 3, **with_policy)(L.Rescaling(1 / 255, **with_policy)(x))
    y = L.Conv2D(4, 3, **with_policy)(L.ReLU(**with_policy)(L.BatchNormalization(**with_policy)(y)))
    y = L.GlobalAveragePooling2D(**with_policy)(L.ReLU(**with_policy)(y))
    model = keras.Model(x, L.Dense(3, activation="softmax", dtype="float32")(y), name="chain")
    model.save(tmp_path / f"m.{suffix}")
    graph = KerasConverter().convert(model)
    assert KerasConverter().convert(tmp_path / f"m.{suffix}") == graph
    inputs = np.random.default_rng(1).integers(0, 256, (1, 8, 8, 3)).astype("uint8")
    optimised = reduce(
        lambda g, name: import_module(f"webkiln.passes.{name}").run(g), PASSES, graph
    )
    for made in (graph, optimised):
        got = next(iter(run_graph(made, {"x": inputs}, graph.weights)[0].values()))
        assert got.dtype == np.float32
        assert np.abs(got - np.array(model(inputs))).max() < dtype_cross.POLICIES[policy]


def test_a_nested_model_casts_to_the_dtypes_of_its_inputs(compare):
    inner_input = keras.Input((4,), name="inner_input")
    inner = keras.Model(inner_input, ops.floor(inner_input / 2), name="inner")
    x = keras.Input((4,), dtype="int32", name="x")
    compare(keras.Model(x, inner(x)))


@pytest.mark.parametrize("policy", ["float16", "float64"])
@pytest.mark.parametrize("name", sorted(PROMOTED))
def test_integers_are_promoted_to_float32_under_every_policy(policy, name):
    """Values out of the range of float16 and beyond the precision of float32; the next layer reads
    the computed dtype, not the declared one.
    """
    options = {"activation": "leaky_relu"} if name == "Activation" else {}
    shape = (3,) * int(name[-2]) if name.startswith("Global") else ()
    x = keras.Input((*shape, 4), dtype="int32", name="x")
    promoted = getattr(L, name)(**options, dtype=policy)(x)
    model = keras.Model(
        x, [promoted, L.Rescaling(1e-6, dtype="float32")(promoted)], name="promoted"
    )
    inputs = (np.random.default_rng(0).integers(-9, 9, (1, *shape, 4)) * 10**8 + 7).astype("int32")
    got = list(run_graph(KerasConverter().convert(model), {"x": inputs})[0].values())
    with np.errstate(over="ignore"):
        expected = [
            np.array(result).astype(policy if number == 0 else "float32")
            for number, result in enumerate(model(inputs))
        ]
    for value, reference in zip(got, expected, strict=True):
        assert value.dtype == reference.dtype
        assert np.allclose(value, reference, rtol=1e-6)


def test_float64_values_out_of_the_range_of_float32():
    model = single(L.Activation("exponential", dtype="float64"), dtype="int32")
    inputs = np.array([[1, 80, 89, 700]], "int32")
    got = next(iter(run_graph(KerasConverter().convert(model), {"x": inputs})[0].values()))
    assert got.dtype == np.float64
    assert np.allclose(got, np.array(model(inputs)), rtol=1e-6)
    assert np.isinf(got[0, 2:]).all()


class Doubled(L.Layer):
    def call(self, x):
        return ops.add(x, x)


def test_inputs_of_user_defined_layers_are_cast_unless_autocast_is_off():
    for autocast, dtype in ((True, "float32"), (False, "float16")):
        layer = Doubled()
        layer.autocast = autocast
        graph = KerasConverter().convert(single(layer, dtype="float16"))
        value = np.array([[1000.0, 60000.0, 0.1, 2.0]], "float16")
        got = next(iter(run_graph(graph, {"x": value})[0].values()))
        assert got.dtype == dtype
        assert np.array_equal(got, np.array(layer(value)))


def layers_with_adapters():
    return {
        "dense": (L.Dense(3), (4,), "float32"),
        "einsum": (
            L.EinsumDense("abc,cde->abde", output_shape=(None, 3, 2), bias_axes="e"),
            (5, 4),
            "float32",
        ),
        "embedding": (L.Embedding(7, 3), (5,), "int32"),
        "reversible": (L.ReversibleEmbedding(7, 3), (5,), "int32"),
        "conv1": (L.Conv1D(4, 3), (9, 4), "float32"),
        "conv2": (L.Conv2D(4, 3, strides=2, padding="same"), (9, 9, 4), "float32"),
        "conv3": (L.Conv3D(4, 2, groups=2), (4, 4, 4, 4), "float32"),
    }


@pytest.mark.parametrize("name", list(layers_with_adapters()))
@pytest.mark.parametrize("source", ["memory", "m.keras", "m.h5"])
@pytest.mark.sample(7)
def test_low_rank_adapters(name, source, tmp_path):
    layer, shape, dtype = layers_with_adapters()[name]
    model = single(layer, shape, dtype)
    layer.enable_lora(2, lora_alpha=5)
    rng = np.random.default_rng(0)
    for variable in model.weights:
        variable.assign(rng.standard_normal(variable.shape))
    inputs = (
        rng.integers(0, 7, (2, *shape)).astype(dtype)
        if dtype == "int32"
        else rng.standard_normal((2, *shape)).astype(dtype)
    )
    if source != "memory":
        model.save(tmp_path / source)
    graph = KerasConverter(batch_size=2).convert(model if source == "memory" else tmp_path / source)
    got, expected = next(iter(run_graph(graph, {"x": inputs})[0].values())), np.array(model(inputs))
    assert np.abs(got - expected).max() < 1e-5 * np.abs(expected).max()


def quantized(mode):
    a, b = keras.Input((8,), name="a"), keras.Input((5,), dtype="int32", name="b")
    y = L.EinsumDense("ab,bc->ac", output_shape=8, name="einsum")(L.Dense(8, name="dense")(a))
    table = L.ReversibleEmbedding(7, 8, name="reversible")
    model = keras.Model([a, b], [y, L.Embedding(7, 8, name="words")(b), table(b)])
    model.quantize(mode)
    return model


@pytest.mark.parametrize("mode", ["int8", "int4"])
@pytest.mark.parametrize("source", ["memory", "m.keras", "m.h5"])
@pytest.mark.sample(2)
def test_quantized_layers_are_traced(mode, source, tmp_path):
    """Integer products are exact and scaled by the row scales of the input."""
    model = quantized(mode)
    inputs = [
        np.random.default_rng(0).standard_normal((3, 8)).astype("float32"),
        np.array([[0, 1, 6, 2, 2]] * 3, "int32"),
    ]
    if source == "memory":
        graph = KerasConverter(batch_size=3).convert(model)
    else:
        model.save(tmp_path / source)
        graph = KerasConverter(batch_size=3).convert(*load_model(tmp_path / source))
    outputs = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))[0]
    for got, expected in zip(outputs.values(), model(inputs), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("source", ["memory", "m.keras"])
def test_layers_quantized_to_float8_are_reported_together(source, tmp_path):
    model = quantized("float8")
    if source != "memory":
        model.save(tmp_path / source)
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(model) if source == "memory" else load_model(tmp_path / source)
    assert sorted(where for where, _, _ in error.value.items) == [
        "dense (Dense)",
        "einsum (EinsumDense)",
    ]
    assert {what for _, what, _ in error.value.items} == {"it is quantized to float8 by quantize()"}


def test_quantized_layers_are_traced_from_memory_only(tmp_path):
    quantized("int8").save(tmp_path / "m.keras")
    with pytest.raises(
        UnsupportedError,
        match=(
            r"dense \(Dense\): it is quantized to int8 by quantize\(\)\. Convert the model in"
            r" memory"
        ),
    ):
        KerasConverter().convert(tmp_path / "m.keras")


@pytest.mark.parametrize("value", [8.0, 5.0, 4.999, 5.001, -1.0, 9.0])
def test_relu_at_its_threshold(value):
    layer = L.ReLU(max_value=8, threshold=5, negative_slope=0.25)
    inputs = np.full((1, 4), value, "float32")
    got = next(iter(run_graph(KerasConverter().convert(single(layer)), {"x": inputs})[0].values()))
    assert np.allclose(got, np.array(layer(inputs)), rtol=1e-6)
