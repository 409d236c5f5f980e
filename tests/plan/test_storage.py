"""Steps over narrower storage compute the same as the operators' references, within the range of
the narrower dtypes.
"""

import numpy as np
import pytest

from tests.backends.harness import expected, node_job
from tests.programs import lower
from webkiln.backends.compare import relative_error
from webkiln.errors import ShapeError, UnsupportedError
from webkiln.ir.types import itemsize
from webkiln.nest.expr import DOUBLE, FLOAT, LONG, UINT, ULONG, axis, bitcast, cast, walk
from webkiln.nest.interpret import interpret
from webkiln.nest.semantics import compute
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Loops, Memory, Target
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS
from webkiln.plan.storage import WRAPPERS, stored

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
TARGET = Target("narrow", Loops(), memory=Memory(STORAGE))
DTYPES = ["float16", "float64", "int64", "uint64", "int8", "uint8", "int16", "uint16", "bool"]

MATRICES = dict.fromkeys(
    ("Cholesky", "LU", "QR", "SVD", "SolveTriangular", "SymmetricEigen"),
    "matrices are float32 or float64",
)
BYTES = {"BitCast": "the element size must not change"}
NARROW_PRODUCTS = dict.fromkeys(
    ("ConvInteger", "MatMulInteger", "MatMulBlocks"), "operands are int8 or uint8"
)
FIXED_POINT = dict.fromkeys(
    (
        "DoublingHighMul",
        "Requantize",
        "RequantizeSum",
        "RoundingShiftRight",
        "ScaleAway",
        "ScaleByMultiplier",
        "ScaleWide",
    ),
    "fixed-point operators compute in int32",
)
NOT_FLOAT = (
    BYTES
    | dict.fromkeys(("If", "Loop", "Scan"), "bodies have their own dtypes")
    | {"Resize": "interpolation computes in float32"}
)
IN_BLOCKS = dict.fromkeys(("MatMulBlocks", "QuantizeBlocks"), "their dtypes are fixed")
NOT_INTEGER = BYTES | FIXED_POINT
REJECTED = {
    "float16": NOT_FLOAT | MATRICES | IN_BLOCKS,
    "float64": NOT_FLOAT | IN_BLOCKS,
    "bool": {},
    "uint8": NOT_INTEGER | {"MatMulBlocks": "codes of rows are int8"},
} | dict.fromkeys(("int16", "uint16", "int64", "uint64"), NOT_INTEGER | NARROW_PRODUCTS)
"""Operators without samples in a dtype, with the reason. int8 is not
listed.
"""
ON_THE_HOST = dict.fromkeys(
    ("NonMaxSuppression", "NonZero", "ScatterElements", "ScatterND", "Sort", "Unique"),
    "procedures, which are not lowered to narrower storage",
)
HOSTED = {
    "float64": ON_THE_HOST | MATRICES,
    "bool": dict.fromkeys(("NonZero", "Sort", "If", "Loop"), "procedures, branches and loops"),
}
"""Operators whose samples are not only nest calls. `ON_THE_HOST` for dtypes that are not listed."""


def cases(dtype):
    """Samples of all operators, with integer operands (where they are values) or float operands in
    another dtype.
    """
    kinds = {"float": "f", "uint": "u", "int": "i", "bool": "b"}
    kind = next(letter for name, letter in kinds.items() if dtype.startswith(name))
    for name, operator in OPERATORS.items():
        for case in operator.cases():
            inputs = [np.abs(a) if kind == "u" and a.dtype.kind == "i" else a for a in case.inputs]
            arrays = [
                a.astype(dtype) if a.dtype.kind == kind.replace("u", "i") else a for a in inputs
            ]
            yield name, case, arrays


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_on_narrowed_storage(dtype):
    count, rejected, hosted = 0, set(), set()
    for name, case, arrays in cases(dtype):
        changed = type(case)(tuple(arrays), case.attrs, case.tolerance, case.name)
        if all(a.dtype != dtype for a in arrays):
            continue
        try:
            job = node_job(name, changed, trained=False)
        except ShapeError:
            rejected.add(name)
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
        for output, reference in expected(name, changed).items():
            source = lowered.root(job.graph.outputs[output])
            result = (
                values[source].reshape(reference.shape).astype(reference.dtype).astype(np.float64)
            )
            if dtype == "uint64" and reference.dtype == dtype:
                reference = reference.astype(np.uint32)  # noqa: PLW2901 (differences wrap at the narrower size)
            if dtype == "int64" and reference.dtype == dtype:
                reference = np.clip(reference, -(2**31), 2**31 - 1)  # noqa: PLW2901 (empty minima and maxima are those of the storage)
            tolerance = max(case.tolerance, 2e-3 if dtype == "float16" else 1e-5)
            assert relative_error(result, reference) <= tolerance, (
                name,
                case.attrs,
                result,
                reference,
            )
        count += 1
    assert count > 2
    assert rejected == REJECTED.get(dtype, NOT_INTEGER).keys()
    assert hosted == HOSTED.get(dtype, ON_THE_HOST).keys()


def test_stores_wrap_and_round():
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
        np.testing.assert_array_equal(
            evaluate(WRAPPERS[dtype](leaf), leaf, ints), ints.astype(dtype)
        )
    for dtype in ("uint8", "uint16"):
        root = WRAPPERS[dtype](cast(leaf, UINT))
        np.testing.assert_array_equal(evaluate(root, leaf, ints), ints.astype(dtype))
    root = WRAPPERS["float16"](bitcast(leaf, FLOAT))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(
            evaluate(root, leaf, halves.view(np.int32)),
            halves.astype(np.float16).astype(np.float32),
        )


@pytest.mark.parametrize(
    ("source", "dtype"),
    [("float16", "uint16"), ("int16", "float16"), ("float64", "int64"), ("uint64", "float64")],
)
def test_bitcasts_of_converted_dtypes_are_rejected(source, dtype):
    job = node_job("BitCast", Case((np.arange(6).astype(source),), {"dtype": dtype}), trained=False)
    converted = next(name for name in (source, dtype) if STORAGE.get(name, name) != name)
    with pytest.raises(
        UnsupportedError,
        match=(
            rf"BitCast: it reinterprets the bytes of {converted}, which narrow stores as"
            rf" {STORAGE[converted]}\."
            r" Build for wasm"
        ),
    ):
        stored(lower(job.graph).steps, TARGET)


@pytest.mark.parametrize(
    ("source", "dtype"),
    [("int64", "uint64"), ("int16", "uint16"), ("bool", "uint8"), ("float32", "int32")],
)
def test_bitcasts_between_integers_of_one_width_are_supported(source, dtype):
    job = node_job("BitCast", Case((np.arange(6).astype(source),), {"dtype": dtype}), trained=False)
    assert stored(lower(job.graph).steps, TARGET)
