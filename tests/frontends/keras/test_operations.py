"""Every keras.ops operation of the table agrees with Keras, in Functional models."""

import keras
import pytest
from keras import ops

from tests.frontends.keras import image_rows, linalg_rows, math_rows, nn_rows
from tests.frontends.keras.operation_cases import CASES
from tests.frontends.keras.operation_expressions import EXPRESSIONS
from tests.frontends.keras.operation_models import BINARY, LOGICAL, POSITIVE, UNARY, build
from tests.frontends.keras.operation_rows import FILED
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.operations.table import OF_TENSORS, OPERATIONS
from webkiln.frontends.keras.spec import CALLING


@pytest.mark.parametrize("name", UNARY)
def test_unary(compare, name):
    compare(build(lambda x, y: getattr(ops, name)(x), batch=2))


@pytest.mark.parametrize("name", POSITIVE)
def test_positive(compare, name):
    compare(build(lambda x, y: getattr(ops, name)(ops.abs(x) + 0.1)))


@pytest.mark.parametrize("name", BINARY)
def test_binary(compare, name):
    compare(build(lambda x, y: getattr(ops, name)(ops.abs(x) + 0.1, y)))


@pytest.mark.parametrize("name", LOGICAL)
def test_logical(compare, name):
    compare(build(lambda x, y: getattr(ops, name)(x > 0, y > 0)))


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.sample(FILED["expressions"])
def test_expression(compare, name, tmp_path):
    model = build(EXPRESSIONS[name], batch=2)
    graph = compare(model)
    model.save(tmp_path / "m.keras")
    assert KerasConverter(batch_size=2).convert(tmp_path / "m.keras") == graph


NUMBERS = {
    "mod": ("uint8", lambda x: ops.mod(x, 3)),
    "mod below": ("uint8", lambda x: x % -3),
    "fmod": ("float16", lambda x: ops.fmod(x, 1.3)),
    "arctan2": ("float16", lambda x: ops.arctan2(0.1, x)),
    "logaddexp": ("float16", lambda x: ops.logaddexp(x, 0.1)),
    "gcd": ("int8", lambda x: ops.gcd(x, 6)),
    "outer": ("uint8", lambda x: ops.outer(x, 3)),
    "dot": ("float16", lambda x: ops.dot(x, 0.1)),
    "nextafter": ("float16", lambda x: ops.nextafter(x, 0.1)),
    "kron": ("int8", lambda x: ops.kron(x, 2)),
    "equal": ("float16", lambda x: ops.equal(x * 0 + 0.1, 0.1)),
    "greater": ("uint8", lambda x: x > -1),
    "less": ("uint8", lambda x: x < 300),
    "less_equal": ("float16", lambda x: x * 0 + 0.3 <= 0.3),
    "isclose": ("uint8", lambda x: ops.isclose(x, 258)),
    "power": ("float16", lambda x: ops.power(x, 3)),
    "add": ("int8", lambda x: x + 3),
    "maximum": ("float16", lambda x: ops.maximum(x, 0.1)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_python_numbers_are_weakly_typed_as_in_keras(compare, name):
    dtype, function = NUMBERS[name]
    x = keras.Input((3, 4), dtype=dtype, name="x")
    compare(keras.Model(x, function(x)), tolerance=1e-3)


def test_operators_of_tensors_are_operations():
    assert set(OPERATIONS) >= OF_TENSORS


def test_every_operation_is_tested():
    rows = (
        name.split()[0]
        for module in (nn_rows, image_rows, linalg_rows, math_rows)
        for name in module.ROWS
    )
    spelled = {name.replace("_", "") for name in (*UNARY, *POSITIVE, *BINARY, *LOGICAL, *rows)}
    written = {
        "where",
        "clip",
        "einsum",
        "normalize",
        "threshold",
        "cast",
        "converttotensor",
        "fulllike",
        "matmul",
        "dot",
        "moments",
        "norm",
        "batchnorm",
        "layernorm",
        "rmsnorm",
        "reshape",
        "expanddims",
        "swapaxes",
        "moveaxis",
        "concatenate",
        "stack",
        "split",
        "unstack",
        "getitem",
        "slice",
        "pad",
        "broadcastto",
        "tile",
        "repeat",
        "take",
        "logicalnot",
        "convtranspose",
    }
    elsewhere = {name.lower() for name in (*CASES, *CALLING)} | {"histogram", "ndim"}
    assert {name.lower() for name in OPERATIONS} <= spelled | written | elsewhere
