"""Every operator in every dtype that it accepts, at the values where a dtype goes wrong: ties,
signs, both ends of its range, infinities.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.sampling import representative
from webkiln.errors import ShapeError
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import DTYPES, Type, is_float, is_integer
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS, evaluate, infer

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
"""Halves of the narrower dtype, and where the integers end."""


def edges(dtype: str) -> np.ndarray:
    """Values at which an operator of a dtype may go wrong."""
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype.startswith("float"):
        with np.errstate(over="ignore"):
            return np.array([*REALS, *TIES[dtype]], dtype)
    limits = np.iinfo(dtype)
    wanted = [
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
        sorted({value for value in [*wanted, *ends] if limits.min <= value <= limits.max}), dtype
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
"""Operators with numbers that are no truth values; type rules leave that to frontends."""
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
}
"""Operators whose operands must suit each other; their own cases have them in every dtype that they
accept.
"""
ONLY = {"RoundedQuotient": ("float32",)}
DIVIDING = {"Rem", "Mod", "FloorDiv"}
"""What they give of a quotient that is not exact hangs on its last bit."""
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
"""Operators whose results have no error but that of the dtype; of others the elements may differ by
TOLERANCE.
"""
TOLERANCE = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-6}
LEAST = {"float16": 1e-6, "float32": 1e-7, "float64": 1e-7}


@dataclass(frozen=True)
class Tried:
    """A case of an operator, and where its values come from."""

    label: str
    op: str
    case: Case


def operands(case: Case) -> list[int]:
    """The operands that share the dtype of the data: that of the first, or of the second where the
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
        infer(Node(op, tuple(map(str, range(len(types)))), ("y",), dict(case.attrs), op), types)
    except ShapeError:
        return False
    return True


def pool_of(op: str, dtype: str) -> np.ndarray:
    if op in DIVIDING and is_float(dtype):
        return np.array(
            [value for value in REALS if op != "FloorDiv" or not np.isinf(value)], dtype
        )
    return edges(dtype)


def filled(op: str, dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Every edge once where there is room, in any order; of what is summed up, numbers that need no
    rounding, and whole ones that fit.
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


def retyped(op: str, case: Case, dtype: str, seed: int) -> Case:
    """The case with its data in another dtype, every edge of which is somewhere in it."""
    changed = set(operands(case))
    inputs = [
        filled(op, dtype, item.shape, seed + at) if at in changed else item
        for at, item in enumerate(case.inputs)
    ]
    return replace(case, inputs=tuple(inputs))


def crossed(op: str, case: Case, dtype: str) -> Case:
    """The case of an elementwise operator with each edge, of two operands each with each."""
    changed, found, pool = operands(case), list(case.inputs), pool_of(op, dtype)
    for position in changed:
        found[position] = pool if position == changed[-1] else pool[:, None]
    if op == "Where":
        found[0] = np.arange(pool.size) % 3 > 0
    return replace(case, inputs=tuple(found))


def dtypes_of(op: str) -> list[str]:
    if op in ONLY:
        return list(ONLY[op])
    return [
        dtype
        for dtype in DTYPES
        if not (op in REAL_ONLY and not is_float(dtype)) and not (op in NO_BOOL and dtype == "bool")
    ]


def tried(op: str, *, every: bool) -> Iterator[Tried]:
    """The cases in every dtype; one that takes turns in each, where not `every` is asked for."""
    operator = OPERATORS[op]
    cases = [(number, case) for number, case in enumerate(operator.cases()) if case.inputs]
    seen = set()
    for turn, dtype in enumerate(dtypes_of(op)):
        some = (
            [cases[turn % len(cases)]]
            if cases and not every and not operator.elementwise
            else cases
        )
        for number, case in some:
            made = (
                crossed(op, case, dtype)
                if operator.elementwise
                else retyped(op, case, dtype, number)
            )
            key = (dtype, repr(sorted(case.attrs.items())), operator.elementwise or number)
            if key not in seen and accepts(op, made):
                seen.add(key)
                yield Tried(f"{op} {number} {case.name} {dtype} {dict(case.attrs)}", op, made)


def graph_of(cases: list[Tried]) -> tuple[Job, dict[str, tuple[Tried, np.ndarray]]]:
    """One graph with a node a case, which share nothing."""
    nodes, variables, inputs, outputs, wanted = [], {}, {}, {}, {}
    for number, item in enumerate(cases):
        attrs = {
            **item.case.attrs,
            **({"count": f"u{number}"} if "count" in item.case.attrs else {}),
        }
        names = [f"x{number}_{position}" for position in range(len(item.case.inputs))]
        types = [Type(str(value.dtype), value.shape) for value in item.case.inputs]
        node = Node(item.op, tuple(names), ("?",), attrs, item.label)
        results = infer(node, types)
        made = tuple(f"y{number}_{position}" for position in range(len(results)))
        nodes.append(replace(node, outputs=made))
        variables |= {
            name: Variable(name, type_)
            for name, type_ in zip((*names, *made), (*types, *results), strict=True)
        }
        inputs |= zip(names, item.case.inputs, strict=True)
        outputs |= {name: name for name in made}
        wanted |= {
            name: (item, value)
            for name, value in zip(made, evaluate(node, item.case.inputs), strict=True)
        }
    return Job(Graph("dtypes", tuple(nodes), variables, tuple(inputs), outputs), inputs), wanted


def wrong(item: Tried, got: np.ndarray, wanted: np.ndarray) -> str | None:
    """Which elements differ, by more than the dtype allows; non-finite ones have to be the same."""
    if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
        return (
            f"{item.label}: gives {got.dtype}{list(got.shape)}, expected"
            f" {wanted.dtype}{list(wanted.shape)}"
        )
    same = got == wanted
    if wanted.dtype.kind == "f":
        same |= np.isnan(got) & np.isnan(wanted)
        dtype = str(wanted.dtype)
        if item.op not in EXACT:
            a, b = got.astype(np.float64), wanted.astype(np.float64)
            with np.errstate(all="ignore"):
                same |= (
                    np.isfinite(a)
                    & np.isfinite(b)
                    & (np.abs(a - b) <= TOLERANCE[dtype] * np.abs(b) + LEAST[dtype])
                )
    if same.all():
        return None
    at = tuple(int(place[0]) for place in np.nonzero(~same))
    return (
        f"{item.label}: {got[at]!r} at {at}, expected {wanted[at]!r}; {np.mean(~same):.1%} differ"
    )


CROSSES = [(backend, every) for backend in ("js", "wasm") for every in (False, True)]


@pytest.mark.parametrize(
    ("backend", "every"), representative(CROSSES, ("js", False), ("wasm", False))
)
def test_operators_in_every_dtype(backend: str, every: bool, tmp_path: Path) -> None:
    """One graph for each operator."""
    made = [
        graph_of(cases)
        for op in OPERATORS
        if op not in OWN_VALUES and (cases := list(tried(op, every=every)))
    ]
    found = run([job for job, _ in made], backend, tmp_path)
    assert not [
        message
        for (_, wanted), outputs in zip(made, found, strict=True)
        for name, (item, value) in wanted.items()
        if (message := wrong(item, outputs[name], value))
    ]
    assert sum(len(wanted) for _, wanted in made) > 700


CASTS = [(source, target) for source in DTYPES for target in DTYPES if source != target]


def cast_reference(x: np.ndarray, target: str) -> np.ndarray:
    """Floats to integers truncate and saturate, NaN gives 0; integers wrap; to floats it rounds to
    even.
    """
    if target == "bool":
        return x != 0
    if x.dtype.kind != "f" or not is_integer(target):
        with np.errstate(over="ignore"):
            return x.astype(target)
    limits = np.iinfo(target)
    return np.array(
        [
            (
                0
                if np.isnan(v)
                else limits.max
                if v >= limits.max
                else limits.min
                if v <= limits.min
                else int(v)
            )
            for v in x.tolist()
        ],
        target,
    )


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_casts_between_all_dtypes(backend: str, tmp_path: Path) -> None:
    """Against a definition of their own; vectors and what is left over take different code, so the
    edges are there more than once.
    """
    made = [
        (
            Tried(
                f"{source} to {target}",
                "Cast",
                Case((np.tile(edges(source), 3),), {"dtype": target}),
            )
        )
        for source, target in CASTS
    ]
    job, _ = graph_of(made)
    (outputs,) = run([job], backend, tmp_path)
    found = [
        wrong(
            item, outputs[f"y{n}_0"], cast_reference(item.case.inputs[0], item.case.attrs["dtype"])
        )
        for n, item in enumerate(made)
    ]
    assert not [message for message in found if message]
