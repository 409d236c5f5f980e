"""Steps over narrower storage compute what the operators' references do, as far as the narrower
dtypes can hold it.
"""

import numpy as np
import pytest

from tests.backends.harness import expected, node_job
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.ir.types import itemsize
from webkiln.lower.lower import lower
from webkiln.nest.expr import DOUBLE, FLOAT, LONG, UINT, ULONG, axis, bitcast, cast, walk
from webkiln.nest.interpret import interpret
from webkiln.nest.semantics import compute
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS
from webkiln.plan.storage import KEPT, stored

STORAGE = {
    "float64": "float32",
    "float16": "float32",
    "int64": "int32",
    "int16": "int32",
    "int8": "int32",
    "uint64": "uint32",
    "uint16": "uint32",
    "uint8": "uint32",
    "bool": "uint32",
}
TARGET = Target("narrow", 1, ((1, 1),), (1, 1), (1, 1), 1, packs=False, storage=STORAGE)
DTYPES = ["float16", "float64", "int64", "uint64", "int8", "uint8", "int16", "uint16", "bool"]

MATRICES = dict.fromkeys(
    ("Cholesky", "LU", "QR", "SVD", "SolveTriangular", "SymmetricEigen"),
    "matrices are float32 or float64",
)
BYTES = {"BitCast": "elements have as many bytes before and after"}
FIXED_POINT = dict.fromkeys(
    ("DoublingHighMul", "RoundingShiftRight", "ScaleAway", "ScaleByMultiplier", "ScaleWide"),
    "fixed-point operators compute in int32",
)
OF_FLOATS = (
    BYTES
    | dict.fromkeys(("If", "Loop", "Scan"), "bodies have dtypes of their own")
    | {"Resize": "what interpolates is float32"}
)
REFUSED = {"float16": OF_FLOATS | MATRICES, "float64": OF_FLOATS, "bool": {}}
"""Operators of which samples do not exist in a dtype, with the reason; in the dtypes that are not
here, those of other whole numbers.
"""
OF_WHOLE_NUMBERS = BYTES | FIXED_POINT
ON_THE_HOST = dict.fromkeys(
    ("NonMaxSuppression", "NonZero", "ScatterElements", "ScatterND", "Sort", "Unique"),
    "procedures, which are not lowered to narrower storage",
)
HOSTED = {
    "float64": ON_THE_HOST | MATRICES,
    "bool": dict.fromkeys(("NonZero", "Sort", "If", "Loop"), "procedures, branches and loops"),
}
"""Operators of which samples are not calls of nests alone; in the dtypes that are not here,
`ON_THE_HOST`.
"""


def cases(dtype):
    """Samples of all operators, with integer operands (where they mean values) or float ones in
    another dtype.
    """
    kinds = {"float": "f", "uint": "u", "int": "i", "bool": "b"}
    kind = next(letter for name, letter in kinds.items() if dtype.startswith(name))
    for name, operator in OPERATORS.items():
        for case in operator.cases():
            given = [np.abs(a) if kind == "u" and a.dtype.kind == "i" else a for a in case.inputs]
            arrays = [
                a.astype(dtype) if a.dtype.kind == kind.replace("u", "i") else a for a in given
            ]
            yield name, case, arrays


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_on_narrowed_storage(dtype):
    tried, refused, hosted = 0, set(), set()
    for name, case, arrays in cases(dtype):
        changed = type(case)(tuple(arrays), case.attrs, case.tolerance, case.name)
        if all(a.dtype != dtype for a in arrays):
            continue
        try:
            job = node_job(name, changed, trained=False)
        except ShapeError:
            refused.add(name)
            continue
        lowered = lower(job.graph)
        steps = stored(lowered.steps, TARGET)
        values = {
            n: np.ascontiguousarray(v).astype(STORAGE.get(str(v.dtype), v.dtype))
            for n, v in job.inputs.items()
        }
        if not all(isinstance(step, NestCall) for step in steps):
            hosted.add(name)
            continue
        for step in steps:
            assert isinstance(step, NestCall)
            assert not {DOUBLE, LONG, ULONG} & {e.type for e in walk(step.nest.roots)}
            for view in step.outputs:
                assert itemsize(view.type.dtype) == 4
                values.setdefault(view.name, np.zeros(view.shape, view.type.dtype))
            outs = [values[view.name].reshape(view.shape) for view in step.outputs]
            interpret(
                step.nest,
                [values[view.name].reshape(view.shape) for view in step.inputs],
                step.args,
                outs,
            )
            for view, out in zip(step.outputs, outs, strict=True):
                values[view.name] = out
        for output, wanted in expected(name, changed).items():
            source = lowered.roots[job.graph.outputs[output]]
            got = values[source].reshape(wanted.shape).astype(wanted.dtype).astype(np.float64)
            if dtype == "uint64" and wanted.dtype == dtype:
                wanted = wanted.astype(np.uint32)  # noqa: PLW2901 (differences wrap at the narrower size)
            if dtype == "int64" and wanted.dtype == dtype:
                wanted = np.clip(wanted, -(2**31), 2**31 - 1)  # noqa: PLW2901 (the extremes of nothing are those of the storage)
            tolerance = max(case.tolerance, 2e-3 if dtype == "float16" else 1e-5)
            assert relative_error(got, wanted) <= tolerance, (name, case.attrs, got, wanted)
        tried += 1
    assert tried > 2
    assert refused == REFUSED.get(dtype, OF_WHOLE_NUMBERS).keys()
    assert hosted == HOSTED.get(dtype, ON_THE_HOST).keys()


def test_what_a_store_keeps():
    def evaluate(root, leaf, value):
        results = {}
        for expr in walk([root]):
            results[expr] = (
                value if expr is leaf else compute(expr, [results[a] for a in expr.args])
            )
        return results[root]

    ints = np.array(
        [0, 1, -1, 127, 128, -129, 255, 256, 65535, -65537, 2**31 - 1, -(2**31)], np.int32
    )
    halves = np.array(
        [
            0.0,
            -0.0,
            1.0,
            1.0009766,
            65504,
            65519.9,
            65520,
            1e9,
            -1e9,
            6e-8,
            2.9e-8,
            3e-8,
            -6.1e-5,
            0.1,
            np.inf,
            np.nan,
            2049,
            2051,
        ],
        np.float32,
    )
    leaf = axis("x")
    for dtype in ("int8", "int16"):
        np.testing.assert_array_equal(evaluate(KEPT[dtype](leaf), leaf, ints), ints.astype(dtype))
    for dtype in ("uint8", "uint16"):
        root = KEPT[dtype](cast(leaf, UINT))
        np.testing.assert_array_equal(evaluate(root, leaf, ints), ints.astype(dtype))
    root = KEPT["float16"](bitcast(leaf, FLOAT))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            evaluate(root, leaf, halves.view(np.int32)),
            halves.astype(np.float16).astype(np.float32),
        )


@pytest.mark.parametrize(
    ("given", "dtype"),
    [("float16", "uint16"), ("int16", "float16"), ("float64", "int64"), ("uint64", "float64")],
)
def test_bytes_that_are_held_otherwise_cannot_be_looked_at(given, dtype):
    job = node_job("BitCast", Case((np.arange(6).astype(given),), {"dtype": dtype}), trained=False)
    held = next(name for name in (given, dtype) if STORAGE.get(name, name) != name)
    with pytest.raises(
        UnsupportedError,
        match=(
            rf"BitCast: it looks at the bytes of {held}, which narrow holds as {STORAGE[held]}\."
            r" Build for wasm"
        ),
    ):
        stored(lower(job.graph).steps, TARGET)


@pytest.mark.parametrize(
    ("given", "dtype"),
    [("int64", "uint64"), ("int16", "uint16"), ("bool", "uint8"), ("float32", "int32")],
)
def test_bytes_of_whole_numbers_may_be_looked_at(given, dtype):
    job = node_job("BitCast", Case((np.arange(6).astype(given),), {"dtype": dtype}), trained=False)
    assert stored(lower(job.graph).steps, TARGET)
