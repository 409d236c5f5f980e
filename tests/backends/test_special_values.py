"""Every scalar operation and combiner on every printer, at values where languages disagree, against
the numpy semantics.
"""

import numpy as np
import pytest

from tests.backends.harness import Prepared, call_program, run_programs, schedule_of
from tests.backends.special_values import DTYPES, FLOATS, INTS, UINTS, VALUES
from tests.hosts import PAGES as EVERY_PAGE
from webkiln.backends.browsers import why_not
from webkiln.backends.table import REGISTRY
from webkiln.codegen import wgsl_workgroups
from webkiln.ir.types import Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import (
    ANY,
    BITS,
    BOOL,
    COMPARISONS,
    FLOAT,
    INT,
    NUMBER,
    OPERATIONS,
    UINT,
    apply,
    bitcast,
    cast,
    select,
)
from webkiln.nest.interpret import interpret
from webkiln.nest.nest import COMBINERS
from webkiln.nest.schedule import Tile, Workgroup
from webkiln.nest.steps import View
from webkiln.plan.vectors import SCALAR_ONLY

PRINTERS = [
    ("js", "", 1),
    ("wasm", "simd", 1),
    ("wasm", "simd", 8),
    ("wasm", "relaxed", 8),
    ("webgpu", "", 1),
    ("webgpu", "", 8),
    ("webgpu", "aligned", 8),
    ("webgl", "", 1),
    ("webgl", "", 4),
]
OTHERS = [name for name in EVERY_PAGE if name != "chromium"]
LEGS = [(*row, "") for row in PRINTERS] + [
    (*row, name) for name in OTHERS for row in PRINTERS if why_not(name, row[0]) is None
]
"""Each printer in Node, or in Chromium if it needs a GPU, and in the other browsers."""
COMBINED = [
    leg
    for leg in dict.fromkeys((backend, variant, browser) for backend, variant, _, browser in LEGS)
    if leg[1] not in ("relaxed", "aligned")
]
SHADERS = ("webgpu", "webgl")
"""Printers with 32-bit types only, which may flush denormal numbers to zero."""
ESTIMATED = {"filtered"}
"""Operations whose second operand is an estimate of the first, which vectors may return."""
INEXACT = {"exp", "log", "log1p", "expm1", "sin", "cos", "tanh", "erf", "pow", "turn", "madd"}
TOLERANCE = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 2e-13}


def types_of(backend, width):
    """The types of values, or of the lanes of vectors."""
    if width > 1 and backend == "webgl":
        return (FLOAT,)
    return (FLOAT, INT, UINT, BOOL) if width > 1 or backend in SHADERS else ANY


def operations(type_, width, types=ANY, divides=False):
    """Yield (label, result type, formula over two operands of `type_`) for all operations on the
    type, with vectors of `width`, whose result is one of `types`. `divides`: whether vectors divide
    integers.
    """
    rows, scalar = [], SCALAR_ONLY - {"idiv"} if divides else SCALAR_ONLY
    for op, (arity, supported) in OPERATIONS.items():
        excluded = op in scalar | ESTIMATED or op in ("shl", "shr")
        if type_ in supported and not (width > 1 and excluded):
            result = BOOL if op in COMPARISONS else type_
            rows.append(
                (op, result, lambda a, b, op=op, arity=arity: apply(op, *(a, b, a)[:arity]))
            )
    if type_ in NUMBER:
        rows.append(("select", type_, lambda a, b: select(apply("lt", a, b), a, b)))
    for other in types:
        if other != type_:
            rows.append((f"cast {other}", other, lambda a, b, other=other: cast(a, other)))
            if other in BITS.get(type_, ()):
                rows.append(
                    (f"bitcast {other}", other, lambda a, b, other=other: bitcast(a, other))
                )
    return [row for row in rows if row[1] in types]


def pairs(type_):
    """All pairs of values, repeated to fill vectors."""
    a, b = (side.ravel() for side in np.meshgrid(VALUES[type_], VALUES[type_]))
    size = -(-a.size // 8) * 8
    return np.resize(a, size), np.resize(b, size)


def vector_call(type_, width, types=ANY, divides=False):
    """One nest with one output per operation."""
    a, b = pairs(type_)
    rows = operations(type_, width, types, divides)
    views = [View(name, Type(DTYPES[type_], a.shape)) for name in ("a", "b")]
    outs = [View(f"y{n}", Type(DTYPES[result], a.shape)) for n, (_, result, _) in enumerate(rows)]
    low = Lowering(views, outs, "vectors")
    nest = low.nest()
    index = nest.axes(a.shape)
    loaded = [nest.load(view, index) for view in views]
    for out, (_, _, formula) in zip(outs, rows, strict=True):
        nest.store(out, formula(*loaded))
    nest.done()
    return low.calls[0], [label for label, _, _ in rows], {"a": a, "b": b}


def oracle(call, inputs):
    outputs = [np.zeros(view.shape, view.type.dtype) for view in call.outputs]
    with np.errstate(all="ignore"):
        interpret(
            call.nest,
            [inputs[view.name].reshape(view.shape) for view in call.inputs],
            call.args,
            outputs,
        )
    return outputs


def flushed(values):
    """Flush denormal numbers to zero."""
    small = (
        (np.abs(values) < np.finfo(np.float32).tiny)
        if values.dtype == np.float32
        else np.zeros(values.shape, bool)
    )
    return np.where(small, np.copysign(0, values), values) if small.any() else values


def agrees_on_shaders(backend, label, got, expected, zeroed, inputs):
    """WebGPU composes `pow`, whose error grows with the exponent. `expected`: the values of the
    oracle. `zeroed`: its values with denormal inputs flushed.
    """
    same = agrees(label, got, expected, inputs)
    for reference in (expected, zeroed):
        same |= agrees(label, flushed(got), flushed(reference), inputs)
    if label == "pow" and backend == "webgpu":
        with np.errstate(all="ignore"):
            exponent = np.abs(inputs["b"] * np.log(np.abs(inputs["a"].astype(np.float64))))
            same |= np.abs(got - expected) <= TOLERANCE[got.dtype] * exponent * np.abs(expected)
    return same


def agrees(label, got, expected, inputs):
    if got.dtype.kind != "f":
        return got == expected
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    if label.split()[0] not in INEXACT:
        return same
    tolerance = TOLERANCE[got.dtype]
    with np.errstate(all="ignore"):
        close = (
            np.abs(got.astype(np.float64) - expected)
            <= tolerance * np.abs(expected.astype(np.float64)) + 1e-37
        )
    if label in ("sin", "cos", "erf", "turn"):
        close |= np.abs(got.astype(np.float64) - expected) <= tolerance
    return same | close


@pytest.mark.parametrize(("backend", "variant", "width", "browser"), LEGS, ids=str)
@pytest.mark.sample(6)
def test_operations(backend, variant, width, browser, tmp_path):
    supported = types_of(backend, width)
    types = [type_ for type_ in supported if operations(type_, width, supported)]
    divides = REGISTRY[backend].target.vectors.divides
    calls = [vector_call(type_, width, supported, divides) for type_ in types]
    prepared = []
    for call, _, inputs in calls:
        axis = call.nest.axes[0].axis
        aligned = variant == "aligned"
        fields = {"whole": True, "aligned": True} if aligned else {}
        tile = Tile(axis, width) if width > 1 else Tile()
        schedule = schedule_of(backend, axis, tile, **fields)
        prepared.append(Prepared(call_program(call, schedule, backend), inputs))
    results = run_programs(prepared, backend, tmp_path, variant, browser)
    wrong = []
    for type_, (call, labels, inputs), outputs in zip(types, calls, results, strict=True):
        flat = {name: flushed(value) for name, value in inputs.items()}
        rows = zip(call.outputs, labels, oracle(call, inputs), oracle(call, flat), strict=True)
        for view, label, expected, zeroed in rows:
            got = outputs[view.name]
            if backend in SHADERS:
                same = agrees_on_shaders(backend, label, got, expected, zeroed, inputs)
            else:
                same = agrees(label, got, expected, inputs)
            wrong += [
                (type_, label, inputs["a"][n], inputs["b"][n], got[n], expected[n])
                for n in np.flatnonzero(~same)[:3]
            ]
    assert not wrong, "\n".join(map(str, wrong))


ROWS = {
    FLOAT: np.array(
        [
            [1, 5, 5, 2],
            [0.5, np.nan, 3, np.nan],
            [-np.inf, -np.inf, -np.inf, -np.inf],
            [np.inf, 1, -3.4e38, 2],
            [-0.0, 0.0, -0.0, 1e-40],
            [3.4e38, 1, 1, -1],
        ],
        np.float32,
    ),
    INT: np.array(
        [
            [1, 5, 5, 2],
            [-7, -7, 0, -(2**31)],
            [2**31 - 1, 1, 2, 3],
            [-(2**31), -(2**31), 3, 0],
            [0, 0, 0, 0],
            [65536, 65536, 3, 1],
        ],
        np.int32,
    ),
}


def reduction_call(type_, rows):
    combiners = list(COMBINERS)
    low_inputs = [View("x", Type(DTYPES[type_], rows.shape))]
    outs = [View(f"y{n}", Type(DTYPES[type_], rows.shape[:1])) for n in range(len(combiners))]
    positions = [
        View(f"at{n}", Type("int32", rows.shape[:1]))
        for n, name in enumerate(combiners)
        if name.startswith("arg")
    ]
    low = Lowering(low_inputs, [*outs, *positions], "reductions")
    nest = low.nest()
    index = (*nest.axes(rows.shape[:1]), nest.reduce(rows.shape[1]))
    value = nest.load(low_inputs[0], index)
    reductions = [nest.accumulate(name, value) for name in combiners]
    for out, result in zip(outs, reductions, strict=True):
        nest.store(out, result)
    for out, result in zip(
        positions,
        [r for r, name in zip(reductions, combiners, strict=True) if name.startswith("arg")],
        strict=True,
    ):
        nest.store(out, nest.index_of(result))
    nest.done()
    return low.calls[0], {"x": rows}


@pytest.mark.parametrize(("backend", "variant", "browser"), COMBINED, ids=str)
@pytest.mark.sample(5)
def test_combiners_of_extremes_and_empty_rows(backend, variant, browser, tmp_path):
    calls = [reduction_call(type_, rows) for type_, rows in ROWS.items()]
    calls += [reduction_call(type_, rows[:, :0]) for type_, rows in ROWS.items()]
    prepared = [
        Prepared(call_program(call, schedule_of(backend, call.nest.axes[0].axis), backend), inputs)
        for call, inputs in calls
    ]
    for (call, inputs), outputs in zip(
        calls, run_programs(prepared, backend, tmp_path, variant, browser), strict=True
    ):
        zeroed = (
            {name: flushed(value) for name, value in inputs.items()}
            if backend in SHADERS
            else inputs
        )
        for view, expected, other in zip(
            call.outputs, oracle(call, inputs), oracle(call, zeroed), strict=True
        ):
            got = outputs[view.name]
            if backend not in SHADERS:
                np.testing.assert_array_equal(got, expected, err_msg=f"{view.name} of {COMBINERS}")
            else:
                references = [flushed(expected), flushed(other)]
                assert any(
                    np.array_equal(flushed(got), item, equal_nan=item.dtype.kind == "f")
                    for item in references
                ), (
                    view.name,
                    got,
                    references,
                )


@pytest.mark.parametrize("along", ["elements", "rows"])
@pytest.mark.parametrize(
    ("backend", "variant"),
    [("js", ""), ("wasm", "simd"), ("wasm", "relaxed"), ("webgpu", ""), ("webgl", "")],
)
def test_lanes_keep_extremes(backend, variant, along, tmp_path):
    rows = np.concatenate(
        [np.roll(np.tile(ROWS[FLOAT], 6)[:, :23], shift, axis=1) for shift in range(4)]
    )
    low = Lowering(
        [View("x", Type("float32", rows.shape))],
        [View(name, Type("float32", rows.shape[:1])) for name in ("max", "min")],
        "extremes",
    )
    nest = low.nest()
    if along == "elements":
        low.inputs = (low.inputs[0].reshaped(rows.shape[::-1]),)
        (row,) = nest.axes(rows.shape[:1])
        value = nest.load(low.inputs[0], (nest.reduce(rows.shape[1]), row))
    else:
        (row,) = nest.axes(rows.shape[:1])
        value = nest.load(low.inputs[0], (row, nest.reduce(rows.shape[1])))
    for out in low.outputs:
        nest.store(out, nest.accumulate(out.name, value))
    nest.done()
    (call,) = low.calls
    schedule = schedule_of(backend, "a0", Tile("a0" if along == "elements" else "r0", 8))
    (outputs,) = run_programs(
        [
            Prepared(
                call_program(call, schedule, backend), {"x": rows if along == "rows" else rows.T}
            )
        ],
        backend,
        tmp_path,
        variant,
    )
    for name, function in (("max", np.max), ("min", np.min)):
        compared = flushed if backend in SHADERS else np.asarray
        np.testing.assert_array_equal(
            compared(outputs[name]), compared(function(rows, axis=1)), err_msg=name
        )


@pytest.mark.parametrize("subgroups", [True, False])
@pytest.mark.parametrize("length", [0, 3, 256, 1001])
def test_groups_of_invocations_reduce_one_row(length, subgroups, tmp_path, monkeypatch):
    if not subgroups:
        monkeypatch.setattr(wgsl_workgroups, "BY_SUBGROUP", {})
    rng = np.random.default_rng(length)
    rows = rng.integers(-9, 9, (5, length)).astype(np.float32)
    for value, row in zip((np.nan, np.inf, -np.inf), rows, strict=False):
        row[length // 2 : length // 2 + 1] = value
    names = ("sum", "max", "min")
    low = Lowering(
        [View("x", Type("float32", rows.shape))],
        [View(name, Type("float32", (5,))) for name in names],
        "groups",
    )
    nest = low.nest()
    value = nest.load(low.inputs[0], (*nest.axes((5,)), nest.reduce(length)))
    for out in low.outputs:
        nest.store(out, nest.accumulate(out.name, value))
    nest.done()
    (call,) = low.calls
    schedule = schedule_of("webgpu", "a0", Tile("r0", 4), workgroup=Workgroup(parts=64))
    (outputs,) = run_programs(
        [Prepared(call_program(call, schedule, "webgpu"), {"x": rows})],
        "webgpu",
        tmp_path,
    )
    for name, expected in zip(names, oracle(call, {"x": rows}), strict=True):
        np.testing.assert_array_equal(outputs[name], expected, err_msg=name)


def test_the_vectors_contain_special_values():
    assert np.isnan(FLOATS).any()
    assert np.isinf(FLOATS).sum() == 2
    assert (FLOATS[1], np.signbit(FLOATS[1])) == (0, True)
    assert {2**31 - 1, -(2**31)} <= set(INTS.tolist())
    assert 2**32 - 1 in UINTS.tolist()
    assert 0 < FLOATS[np.argmin(np.where(FLOATS > 0, FLOATS, np.inf))] < np.finfo(np.float32).tiny
