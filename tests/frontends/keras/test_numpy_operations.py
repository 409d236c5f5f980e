"""The operations of keras.ops.numpy and keras.ops.core, and their dtypes, agree with Keras, in
functional models in memory and from files.
"""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from tests.frontends.keras.operation_cases import CASES, MORE
from tests.frontends.keras.operation_models import build
from tests.frontends.keras.operation_rows import FILED
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.policies import storable
from webkiln.ir.serial import to_json
from webkiln.ops.evaluate import run_graph
from webkiln.ops.functional.operands import ABOVE, promote


@pytest.mark.parametrize("name", [*CASES, *MORE])
@pytest.mark.sample(FILED["numpy"])
def test_operation(compare, name, tmp_path):
    model = build((CASES | MORE)[name], batch=2)
    graph = compare(model, tolerance=1e-4)
    model.save(tmp_path / "m.keras")
    assert to_json(KerasConverter(batch_size=2).convert(tmp_path / "m.keras")) == to_json(graph)


def test_cases_use_their_operation():
    used = {
        name: {type(operation).__name__ for operation in build(function, batch=2).operations}
        for name, function in CASES.items()
    }
    assert {name for name in CASES if name not in used[name]} <= {"Argpartition", "Conj"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_dtypes_are_promoted_as_keras_does(count):
    weak = {"int": int, "float": float}
    for dtypes in itertools.combinations_with_replacement(ABOVE, count):
        assert promote(dtypes) == keras.backend.result_type(
            *(weak.get(dtype, dtype) for dtype in dtypes)
        ), dtypes


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("bounds", [None, (-2, 3)])
def test_histogram(dtype, bounds):
    """Operations that no model of Keras runs on TensorFlow."""
    x = keras.Input((), batch_size=50, dtype=dtype, name="x")
    graph = KerasConverter().convert(keras.Model(x, ops.histogram(x, bins=4, range=bounds)))
    values = (np.random.default_rng(3).normal(size=50) * 3).astype(dtype)
    got, _ = run_graph(graph, {"x": values})
    for value, expected in zip(
        got.values(), ops.histogram(values, bins=4, range=bounds), strict=True
    ):
        assert value.dtype == np.array(expected).dtype
        np.testing.assert_allclose(value, np.array(expected), rtol=1e-6)


DTYPES = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "int64",
    "bfloat16",
    "float16",
    "float32",
    "float64",
)
OF_ONE = (
    "angle arctan arcsinh argsort average cbrt ceil conj copy corrcoef cos count_nonzero cumprod"
    " cumsum deg2rad diag diagonal diff exp fabs floor i0 isfinite isinf isreal max mean median min"
    " nan_to_num nancumsum nanmax nanmean nanmedian nansum nanvar negative prod ptp rad2deg ravel"
    " round sign signbit sin sinc sinh sort sqrt square std sum tan trace tril trunc var vander"
).split()
OF_TWO = (
    "add append arctan2 bitwise_and bitwise_left_shift correlate cross divide dot fmax fmod"
    " floor_divide gcd greater heaviside hypot inner isclose kron lcm logaddexp matmul maximum mod"
    " multiply outer power subtract tensordot vdot where_true"
).split()


def case(function, dtypes):
    """The dtypes that are declared, that the graph has, and that Keras returns; None if Keras does
    not accept the input dtypes.
    """
    rng = np.random.default_rng(5)
    flat = "vander" in function.__name__ or "correlate" in function.__name__
    values = [
        rng.integers(0 if dtype.startswith(("u", "b")) else -3, 4, (3,) if flat else (3, 3)).astype(
            "float32"
        )
        for dtype in dtypes
    ]
    values = [
        (
            np.where(values[1] == 0, 2, values[1])
            if place and function.__name__ in {"mod", "fmod", "floor_divide", "divide"}
            else x
        )
        for place, x in enumerate(values)
    ]
    values = [
        np.abs(x) if function.__name__ in {"power", "bitwise_left_shift"} else x for x in values
    ]
    tensors = [ops.cast(x, dtype) for x, dtype in zip(values, dtypes, strict=True)]
    try:
        wanted = np.array(
            ops.cast(result, "float32")
            if (result := function(*tensors)).dtype.name == "bfloat16"
            else result
        )
        inputs = [
            keras.Input(batch_shape=x.shape, dtype=dtype)
            for x, dtype in zip(values, dtypes, strict=True)
        ]
        model = keras.Model(inputs, function(*inputs))
    except Exception:  # noqa: BLE001 - Keras refuses dtypes in many ways
        return None
    graph = KerasConverter().convert(model)
    arrays = [
        np.array(ops.cast(x, "float32") if dtype == "bfloat16" else x)
        for x, dtype in zip(tensors, dtypes, strict=True)
    ]
    got, _ = run_graph(graph, dict(zip(graph.inputs, arrays, strict=True)))
    return storable(model.output.dtype), next(iter(got.values())), wanted


def where_true(x, y):
    return ops.where(ops.greater(ops.cast(x, "float32"), 0.0), x, y)


def check(function, dtypes):
    found = case(function, dtypes)
    if found is None:
        return 0
    declared, got, expected = found
    assert got.dtype.name == declared, (function.__name__, dtypes)
    half = any(dtype in ("bfloat16", "float16") for dtype in dtypes)
    np.testing.assert_allclose(
        got.astype("float64"),
        expected.astype("float64"),
        rtol=3e-2 if half else 1e-4,
        atol=3e-2 if half else 1e-5,
        err_msg=f"{function.__name__}{dtypes}",
    )
    return 1


@pytest.mark.parametrize("name", OF_ONE)
@pytest.mark.sample(12)
def test_dtypes_of_unary_operations(name):
    assert sum(check(getattr(ops, name), [dtype]) for dtype in DTYPES) >= 4


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.sample(6)
def test_dtypes_of_binary_operations(name):
    function = where_true if name == "where_true" else getattr(ops, name)
    pairs = itertools.combinations_with_replacement(
        ("bool", "uint8", "int8", "uint32", "int32", "int64", "bfloat16", "float16", "float64"), 2
    )
    assert sum(check(function, dtypes) for dtypes in pairs) >= 10


@pytest.mark.parametrize("scalar", [2, 1.5, np.float32(1.5), np.int64(2), True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_are_weakly_typed_and_numpy_scalars_are_not(dtype, scalar):
    check(lambda x: ops.multiply(x, scalar), [dtype])
