"""Cases of every operator in every dtype."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Node
from webkiln.ir.types import DTYPES, Type, is_float
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS, attributes_of, infer

REALS = [0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, 1.0, -1.0, 3.0, -7.0, 100.0, np.inf, -np.inf, np.nan]
TIES = {
    "float16": [2048.0, 2046.0, 65504.0, -65504.0, 6.1e-5, 6e-8, -3e-6, 0.1],
    "float32": [
        2049.0,
        2051.0,
        4098.0,
        4102.0,
        65519.9,
        65520.0,
        -65536.0,
        2.98e-8,
        8.9e-8,
        3.1e-5,
        2147483648.0,
        -2147484000.0,
        255.5,
        -128.7,
        0.1,
    ],
    "float64": [2049.0, 2051.0, 16777217.0, 1.0000000001, 4294967296.5, -3e9, 255.5, -128.7, 1e300],
}
"""Ties of the narrower dtype, and the ends of the integer ranges."""


def edges(dtype: str) -> np.ndarray:
    """Values at which an operator of a dtype may fail."""
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array([*REALS, *TIES[dtype]], dtype)
    limits = np.iinfo(dtype)
    values = [
        0,
        1,
        2,
        3,
        5,
        7,
        8,
        31,
        100,
        127,
        128,
        200,
        255,
        32768,
        65536,
        2**31,
        -1,
        -2,
        -3,
        -7,
        -8,
        -100,
        -128,
        -(2**31),
    ]
    ends = [limits.max, limits.max - 1, limits.min, limits.min + 1, limits.max // 2 + 1]
    return np.array(
        sorted({value for value in [*values, *ends] if limits.min <= value <= limits.max}), dtype
    )


REAL_ONLY = {
    "Softmax",
    "LogSoftmax",
    "BatchNorm",
    "Sample",
    "AvgPool",
    "AdaptiveAvgPool",
    "Interpolate",
    "Resize",
}
NO_BOOL = {
    "MatMul",
    "Einsum",
    "Conv",
    "MaxPool",
    "MaxPoolIndex",
    "AdaptiveMaxPool",
    "ScatterElements",
    "ScatterND",
    "CumSum",
    "CumProd",
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ArgMax",
    "ArgMin",
}
"""Operators on numbers, not on truth values. Type rules do not enforce this; frontends do."""
OWN_VALUES = {
    "LU",
    "Cholesky",
    "SolveTriangular",
    "QR",
    "SymmetricEigen",
    "SVD",
    "NonMaxSuppression",
    "Scan",
    "If",
    "Loop",
    "DoublingHighMul",
    "RoundingShiftRight",
    "ScaleByMultiplier",
    "ScaleWide",
    "ScaleAway",
    "Requantize",
    "RequantizeSum",
}
"""Operators whose operands depend on each other. Their sample cases cover every dtype that they
accept.
"""
ONLY = {"RoundedQuotient": ("float32",)}
DIVIDING = {"Rem", "Mod", "FloorDiv"}
"""Operators whose result for an inexact quotient depends on its last bit."""
EXACT = {
    "Identity",
    "Neg",
    "Abs",
    "Sign",
    "Square",
    "Floor",
    "Ceil",
    "Round",
    "Relu",
    "Relu6",
    "Clip",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Max",
    "Min",
    "Where",
    "Cast",
    "BitCast",
    "Reshape",
    "Transpose",
    "Broadcast",
    "Concat",
    "Slice",
    "Pad",
    "PadFrom",
    "Gather",
    "GatherElements",
    "GatherND",
    "Sort",
    "Unique",
    "MaxPool",
    "AdaptiveMaxPool",
    "ReduceMax",
    "ReduceMin",
    *DIVIDING,
}
"""Operators whose results have only the rounding error of the dtype. Results of others may differ
by TOLERANCE.
"""


@dataclass(frozen=True)
class DtypeCase:
    """A case of an operator, and the source of its values."""

    label: str
    op: str
    case: Case


def operands(case: Case) -> list[int]:
    """The operands with the dtype of the data: that of the first operand, or of the second if the
    first is a condition.
    """
    dtypes = [str(np.asarray(item).dtype) for item in case.inputs]
    main = (
        dtypes[1]
        if dtypes[:1] == ["bool"] and len(dtypes) > 1 and dtypes[1] != "bool"
        else next(iter(dtypes), "")
    )
    return [position for position, dtype in enumerate(dtypes) if dtype == main]


def accepts(op: str, case: Case) -> bool:
    types = [Type(str(item.dtype), item.shape) for item in case.inputs]
    try:
        infer(
            Node(op, tuple(map(str, range(len(types)))), ("y",), attributes_of(op, case.attrs), op),
            types,
        )
    except ShapeError:
        return False
    return True


def pool_of(op: str, dtype: str) -> np.ndarray:
    if op in DIVIDING and is_float(dtype):
        return np.array(
            [value for value in REALS if op != "FloorDiv" or not np.isinf(value)], dtype
        )
    return edges(dtype)


def fill_values(op: str, dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Every edge value once if there is room, in random order. For sums, use numbers that need no
    rounding, and small integers.
    """
    rng = np.random.default_rng(seed)
    if is_float(dtype):
        pool = np.array([-2.5, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.5, 3.0], dtype)
    else:
        pool = (
            edges(dtype)
            if op != "Conv"
            else edges(dtype)[np.abs(edges(dtype).astype(np.float64)) <= 7]
        )
    size = int(np.prod(shape))
    return rng.permutation(np.resize(rng.permutation(pool), size)).reshape(shape)


def retype(op: str, case: Case, dtype: str, seed: int) -> Case:
    """The case with its data in another dtype, including every edge value."""
    changed = set(operands(case))
    inputs = [
        fill_values(op, dtype, item.shape, seed + at) if at in changed else item
        for at, item in enumerate(case.inputs)
    ]
    return replace(case, inputs=tuple(inputs))


def cross_edges(op: str, case: Case, dtype: str) -> Case:
    """The case of an elementwise operator with each edge value; two operands with each pair."""
    changed, inputs, pool = operands(case), list(case.inputs), pool_of(op, dtype)
    for position in changed:
        inputs[position] = pool if position == changed[-1] else pool[:, None]
    if op == "Where":
        inputs[0] = np.arange(pool.size) % 3 > 0
    return replace(case, inputs=tuple(inputs))


def dtypes_of(op: str) -> list[str]:
    if op in ONLY:
        return list(ONLY[op])
    return [
        dtype
        for dtype in DTYPES
        if not (op in REAL_ONLY and not is_float(dtype)) and not (op in NO_BOOL and dtype == "bool")
    ]


def cases_of(op: str, *, every: bool) -> Iterator[DtypeCase]:
    """The cases in every dtype. Unless `every`, the cases rotate through the dtypes."""
    operator = OPERATORS[op]
    cases = [(number, case) for number, case in enumerate(operator.cases()) if case.inputs]
    yielded = set()
    for index, dtype in enumerate(dtypes_of(op)):
        some = (
            [cases[index % len(cases)]]
            if cases and not every and not operator.traits.elementwise
            else cases
        )
        for number, case in some:
            variant = (
                cross_edges(op, case, dtype)
                if operator.traits.elementwise
                else retype(op, case, dtype, number)
            )
            key = (dtype, repr(sorted(case.attrs.items())), operator.traits.elementwise or number)
            if key not in yielded and accepts(op, variant):
                yielded.add(key)
                yield DtypeCase(
                    f"{op} {number} {case.name} {dtype} {dict(case.attrs)}", op, variant
                )
