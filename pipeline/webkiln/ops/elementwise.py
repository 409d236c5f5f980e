"""Elementwise operators: one row each. The formula is written once, as a scalar expression; the
reference is numpy in float64.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf, pi
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type, broadcast, is_float, is_integer, itemsize
from webkiln.nest.build import Lowering
from webkiln.nest.expr import (
    BOOL,
    FLOAT,
    INT,
    LONG,
    REAL,
    UINT,
    ULONG,
    Expr,
    apply,
    bitcast,
    cast,
    const,
    select,
)
from webkiln.nest.nest import COMPUTE
from webkiln.nest.semantics import erf
from webkiln.ops.operator import REQUIRED, Case, Operator, Work, define, linear, per_element

Formula = Callable[..., Expr]
FLOATS = np.array([[-3.5, -1.0, -0.25, 0.0, 0.5], [1.0, 1.5, 2.5, 20.0, -20.0]], np.float32)
POSITIVE = np.array([[1e-3, 0.5, 1.0], [2.0, 10.0, 300.0]], np.float32)
INTS = np.array([[-7, -1, 0], [1, 3, 12]], np.int32)
BOOLS = np.array([True, False, True])


def kind(dtype: str) -> str:
    return "float" if is_float(dtype) else "int" if is_integer(dtype) else "bool"


def elementwise(
    name: str,
    formula: Formula,
    reference: Callable[..., Array],
    cases: Iterable[Case],
    *,
    kinds: Sequence[str] = ("float",),
    arity: int = 1,
    result: str | None = None,
    attributes: dict[str, Any] | None = None,
    work: Work = linear,
) -> None:
    """Define an elementwise operator with numpy broadcasting of operands of the kinds, or just the
    dtypes, that `kinds` names.

    `formula(attrs, *operands)`, `reference(attrs, *arrays)`; `result` is its dtype, `work` its
    cost.
    """
    samples = tuple(cases)

    def infer(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
        dtypes = {item.dtype for item in types}
        if len(dtypes) != 1 or not {types[0].dtype, kind(types[0].dtype)} & {*kinds}:
            raise ShapeError(
                f"operands are {', '.join(map(str, types))}; all must have one dtype"
                f" ({' or '.join(kinds)})"
            )
        return (Type(result or types[0].dtype, broadcast(item.shape for item in types)),)

    def compute(attrs: Attributes, *arrays: Array) -> tuple[Array, ...]:
        wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
        return (np.asarray(reference(attrs, *wide)),)

    def lower(low: Lowering, attrs: Attributes) -> None:
        nest = low.nest()
        index = nest.axes(low.outputs[0].shape)
        nest.store(
            low.outputs[0], formula(attrs, *(nest.element(view, index) for view in low.inputs))
        )
        nest.done()

    define(
        Operator(
            name,
            infer,
            compute,
            lower,
            attributes or {},
            (arity, arity),
            lambda: samples,
            elementwise=True,
            work=work,
        )
    )


def unary(op: str) -> Formula:
    return lambda attrs, x: apply(op, x)


def binary(op: str) -> Formula:
    return lambda attrs, a, b: apply(op, a, b)


def samples(*inputs: Array, **attrs: Any) -> list[Case]:
    return [Case(inputs, attrs)]


def positive(x: Expr) -> Expr:
    """max(x, 0) that keeps NaN."""
    return select(apply("lt", x, const(0, x.type)), const(0, x.type), x)


def sigmoid(x: Expr) -> Expr:
    return 1.0 / (1.0 + apply("exp", -x))


def softplus(x: Expr) -> Expr:
    """log(1 + exp(x)) without overflow."""
    return positive(x) + apply("log1p", apply("exp", -apply("abs", x)))


def clip(attrs: Attributes, x: Expr) -> Expr:
    """Bounds below what an unsigned type holds are 0."""
    least = 0 if x.type in (UINT, ULONG) else -inf
    low, high = (const(max(attrs[side], least), x.type) for side in ("min", "max"))
    raised = select(apply("lt", x, low), low, x)
    return select(apply("gt", raised, high), high, raised)


def gelu(attrs: Attributes, x: Expr) -> Expr:
    """Hendrycks & Gimpel 2016; `approximate` is their tanh form."""
    if attrs["approximate"]:
        return 0.5 * x * (1.0 + apply("tanh", 0.7978845608028654 * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1.0 + apply("erf", x * 0.7071067811865476))


def gelu_reference(attrs: Attributes, x: Array) -> Array:
    if attrs["approximate"]:
        return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))))
    return np.asarray(0.5 * x * (1 + erf(x / np.sqrt(2))))


def exponential_below_zero(scale: float, alpha: float) -> Formula:
    return lambda attrs, x: select(
        apply("gt", x, const(0, x.type)), scale * x, (scale * alpha) * apply("expm1", x)
    )


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
ALL = ("float", "int")

elementwise(
    "Identity", lambda attrs, x: x, lambda attrs, x: x, samples(FLOATS), kinds=(*ALL, "bool")
)
elementwise("Neg", unary("neg"), lambda attrs, x: -x, [*samples(FLOATS), *samples(INTS)], kinds=ALL)
elementwise(
    "Abs", unary("abs"), lambda attrs, x: np.abs(x), [*samples(FLOATS), *samples(INTS)], kinds=ALL
)
elementwise(
    "Sign",
    unary("sign"),
    lambda attrs, x: np.sign(x),
    [*samples(FLOATS), *samples(INTS)],
    kinds=ALL,
)
elementwise("Square", lambda attrs, x: x * x, lambda attrs, x: x * x, samples(FLOATS), kinds=ALL)
elementwise("Floor", unary("floor"), lambda attrs, x: np.floor(x), samples(FLOATS))
elementwise("Ceil", unary("ceil"), lambda attrs, x: np.ceil(x), samples(FLOATS))
elementwise("Round", unary("rint"), lambda attrs, x: np.rint(x), samples(FLOATS))
elementwise("Sqrt", unary("sqrt"), lambda attrs, x: np.sqrt(x), samples(POSITIVE))
elementwise(
    "Rsqrt",
    lambda attrs, x: 1.0 / apply("sqrt", x),
    lambda attrs, x: 1 / np.sqrt(x),
    samples(POSITIVE),
)
elementwise("Reciprocal", lambda attrs, x: 1.0 / x, lambda attrs, x: 1 / x, samples(POSITIVE))
elementwise("Exp", unary("exp"), lambda attrs, x: np.exp(x), samples(FLOATS))
elementwise("Log", unary("log"), lambda attrs, x: np.log(x), samples(POSITIVE))
elementwise("Log1p", unary("log1p"), lambda attrs, x: np.log1p(x), samples(POSITIVE))
elementwise("Expm1", unary("expm1"), lambda attrs, x: np.expm1(x), samples(FLOATS))
elementwise("Sin", unary("sin"), lambda attrs, x: np.sin(x), samples(FLOATS))
elementwise("Cos", unary("cos"), lambda attrs, x: np.cos(x), samples(FLOATS))
elementwise("Tanh", unary("tanh"), lambda attrs, x: np.tanh(x), samples(FLOATS))
elementwise("Erf", unary("erf"), lambda attrs, x: erf(x), samples(FLOATS), work=per_element(8))
elementwise(
    "Sigmoid", lambda attrs, x: sigmoid(x), lambda attrs, x: 1 / (1 + np.exp(-x)), samples(FLOATS)
)
elementwise(
    "Silu",
    lambda attrs, x: x / (1.0 + apply("exp", -x)),
    lambda attrs, x: x / (1 + np.exp(-x)),
    samples(FLOATS),
)
elementwise(
    "Relu",
    lambda attrs, x: positive(x),
    lambda attrs, x: np.maximum(x, 0),
    [*samples(FLOATS), *samples(INTS)],
    kinds=ALL,
)
elementwise(
    "Relu6",
    lambda attrs, x: clip({"min": 0, "max": 6}, x),
    lambda attrs, x: np.clip(x, 0, 6),
    samples(FLOATS),
)
elementwise(
    "Softplus", lambda attrs, x: softplus(x), lambda attrs, x: np.logaddexp(x, 0), samples(FLOATS)
)
elementwise(
    "Softsign",
    lambda attrs, x: x / (1.0 + apply("abs", x)),
    lambda attrs, x: x / (1 + np.abs(x)),
    samples(FLOATS),
)
elementwise(
    "Gelu",
    gelu,
    gelu_reference,
    [Case((FLOATS,), {"approximate": flag}) for flag in (False, True)],
    attributes={"approximate": False},
    work=per_element(8),
)
elementwise(
    "Elu",
    lambda attrs, x: exponential_below_zero(1.0, attrs["alpha"])(attrs, x),
    lambda attrs, x: np.where(x > 0, x, attrs["alpha"] * np.expm1(x)),
    samples(FLOATS, alpha=0.7),
    attributes={"alpha": 1.0},
)
elementwise(
    "Selu", exponential_below_zero(SELU_SCALE, SELU_ALPHA),
    lambda attrs, x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)), samples(FLOATS),
)  # fmt: skip
elementwise(
    "LeakyRelu",
    lambda attrs, x: select(apply("lt", x, const(0, x.type)), x * attrs["alpha"], x),
    lambda attrs, x: np.where(x < 0, attrs["alpha"] * x, x),
    samples(FLOATS, alpha=0.3),
    attributes={"alpha": REQUIRED},
)
elementwise(
    "HardSigmoid", lambda attrs, x: clip({"min": 0, "max": 1}, x * (1 / 6) + 0.5),
    lambda attrs, x: np.clip(x / 6 + 0.5, 0, 1), samples(FLOATS),
)  # fmt: skip
elementwise(
    "Clip", clip, lambda attrs, x: np.clip(x, attrs["min"], attrs["max"]),
    samples(FLOATS, min=-1.0, max=2.0), kinds=ALL, attributes={"min": REQUIRED, "max": REQUIRED},
)  # fmt: skip
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5, 3e38], np.float32)


def is_infinite(attrs: Attributes, x: Expr) -> Expr:
    above, below = (apply("eq", x, const(value, x.type)) for value in (inf, -inf))
    if attrs["positive"] and attrs["negative"]:
        return apply("or", above, below)
    return (
        above if attrs["positive"] else below if attrs["negative"] else apply("and", above, below)
    )


def is_infinite_reference(attrs: Attributes, x: Array) -> Array:
    return np.asarray((np.isposinf(x) & attrs["positive"]) | (np.isneginf(x) & attrs["negative"]))


elementwise("IsNaN", unary("isnan"), lambda attrs, x: np.isnan(x), samples(SPECIAL), result="bool")
elementwise(
    "IsInf",
    is_infinite,
    is_infinite_reference,
    [
        Case((SPECIAL,), {"positive": p, "negative": n})
        for p in (True, False)
        for n in (True, False)
    ],
    result="bool",
    attributes={"positive": True, "negative": True},
)


def arctangent(attrs: Attributes, x: Expr) -> Expr:
    """Cephes: a polynomial below tan(pi / 8), of (x - 1) / (x + 1) up to tan(3 pi / 8), of -1 / x
    above.
    """
    size = apply("abs", x)
    far, middle = (
        apply("gt", size, const(2.414213562373095, x.type)),
        apply("gt", size, const(0.4142135623730950, x.type)),
    )
    near = select(far, -1.0 / size, select(middle, (size - 1.0) / (size + 1.0), size))
    start = select(
        far, const(pi / 2, x.type), select(middle, const(pi / 4, x.type), const(0, x.type))
    )
    z = near * near
    series = (
        ((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1
    ) * z * near + near
    return select(apply("lt", x, const(0, x.type)), -(start + series), start + series)


elementwise(
    "Atan",
    arctangent,
    lambda attrs, x: np.arctan(x),
    [*samples(FLOATS), *samples(FLOATS.astype(np.float64))],
)
elementwise("Not", unary("not"), lambda attrs, x: ~x, samples(BOOLS), kinds=("bool",))

FLOAT_PAIR = samples(FLOATS, FLOATS[:, :1] + np.float32(0.75))
INT_PAIR = samples(INTS, np.array([2, -3, 0], np.int32))
BOOL_PAIR = samples(BOOLS, np.array([[True], [False]]))

elementwise(
    "Add",
    lambda attrs, a, b: a + b,
    lambda attrs, a, b: a + b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Sub",
    lambda attrs, a, b: a - b,
    lambda attrs, a, b: a - b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Mul",
    lambda attrs, a, b: a * b,
    lambda attrs, a, b: a * b,
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Pow",
    binary("pow"),
    lambda attrs, a, b: np.power(a, b),
    samples(POSITIVE, np.array([2.0, -0.5, 1.5], np.float32)),
    arity=2,
)
elementwise(
    "Max",
    binary("max"),
    lambda attrs, a, b: np.maximum(a, b),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Min",
    binary("min"),
    lambda attrs, a, b: np.minimum(a, b),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)


def floor_quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    return apply("floor", a / b) if a.type in REAL else apply("floordiv", a, b)


def floor_remainder(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """With the sign of b; by an infinite number, what is of its sign is left, and anything else is
    that number.
    """
    if a.type not in REAL:
        return apply("floormod", a, b)
    same = apply(
        "or",
        apply("eq", apply("lt", a, const(0, a.type)), apply("lt", b, const(0, a.type))),
        apply("eq", a, const(0, a.type)),
    )
    return select(_reaches_infinity(a, b), select(same, a, b), a - apply("floor", a / b) * b)


def _reaches_infinity(a: Expr, b: Expr) -> Expr:
    """Whether a is finite and b is not."""
    largest = const(inf, a.type)
    return apply(
        "and", apply("lt", apply("abs", a), largest), apply("eq", apply("abs", b), largest)
    )


def quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """Of integers towards zero."""
    return a / b if a.type in REAL else apply("idiv", a, b)


def remainder(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """With the sign of a."""
    if a.type not in REAL:
        return apply("irem", a, b)
    return select(_reaches_infinity(a, b), a, a - apply("trunc", a / b) * b)


def towards_zero(a: Array, b: Array) -> Array:
    return a / b if a.dtype.kind == "f" else (a - np.fmod(a, b)) // b


def whole_or_zero(
    function: Callable[[Array, Array], Array],
) -> Callable[[Attributes, Array, Array], Array]:
    """Integer division by zero gives 0."""

    def compute(attrs: Attributes, a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return function(a, b)
        return np.where(b == 0, 0, function(a, np.where(b == 0, 1, b)))

    return compute


def rounded_quotient(attrs: Attributes, a: Expr, b: Expr) -> Expr:
    """The quotient is one of the operands' type before it is rounded, also where expressions are
    computed in float64.
    """
    quotient_ = a / b
    return apply("rint", bitcast(bitcast(quotient_, INT), FLOAT) if a.type == FLOAT else quotient_)


def rounded_quotient_reference(attrs: Attributes, a: Array, b: Array) -> Array:
    return np.rint((a / b).astype(np.float32))


HALVES = np.array([[0.35], [-1.05], [2.45]], np.float32)
elementwise(
    "RoundedQuotient",
    rounded_quotient,
    rounded_quotient_reference,
    samples(HALVES, np.array([0.1, 0.7, 0.02], np.float32)),
    arity=2,
)
REMAINDERS = samples(
    np.array([[0.0], [3.0], [-1.0], [np.inf]], np.float32),
    np.array([np.inf, -np.inf, 2.0, 0.0], np.float32),
)
elementwise(
    "Div", quotient, whole_or_zero(towards_zero), [*FLOAT_PAIR, *INT_PAIR], kinds=ALL, arity=2
)
elementwise(
    "Rem",
    remainder,
    whole_or_zero(np.fmod),
    [*FLOAT_PAIR, *INT_PAIR, *REMAINDERS],
    kinds=ALL,
    arity=2,
)
elementwise(
    "FloorDiv",
    floor_quotient,
    whole_or_zero(np.floor_divide),
    [*FLOAT_PAIR, *INT_PAIR],
    kinds=ALL,
    arity=2,
)
elementwise(
    "Mod",
    floor_remainder,
    whole_or_zero(np.mod),
    [*FLOAT_PAIR, *INT_PAIR, *REMAINDERS],
    kinds=ALL,
    arity=2,
)

for _name, _op, _function, _kinds in (
    ("Equal", "eq", np.equal, (*ALL, "bool")),
    ("NotEqual", "ne", np.not_equal, (*ALL, "bool")),
    ("Less", "lt", np.less, ALL),
    ("LessEqual", "le", np.less_equal, ALL),
    ("Greater", "gt", np.greater, ALL),
    ("GreaterEqual", "ge", np.greater_equal, ALL),
):
    elementwise(
        _name,
        binary(_op),
        lambda attrs, a, b, _function=_function: _function(a, b),
        [*FLOAT_PAIR, *INT_PAIR, *(BOOL_PAIR if "bool" in _kinds else [])],
        kinds=_kinds,
        arity=2,
        result="bool",
    )

BITS = np.array([[1, 6, 255], [128, 0, 77]], np.uint8)
BIT_PAIRS = [
    *samples(BITS, BITS[::-1]),
    *INT_PAIR,
    *samples(BITS.astype(np.uint64) * np.uint64(1 << 23), np.array([3 << 24], np.uint64)),
]
SHIFTS = [
    *samples(BITS, np.array([[3], [1]], np.uint8)),
    *samples(BITS.astype(np.uint64), np.array([3, 20, 64], np.uint64)),
    *samples(INTS, np.array([20, 1, -1], np.int32)),
]
elementwise("BitAnd", binary("band"), lambda attrs, a, b: a & b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise("BitOr", binary("bor"), lambda attrs, a, b: a | b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise("BitXor", binary("bxor"), lambda attrs, a, b: a ^ b, BIT_PAIRS, kinds=("int",), arity=2)
elementwise(
    "BitNot",
    lambda attrs, x: -1 - x if x.type in (INT, LONG) else -x - 1,
    lambda attrs, x: ~x,
    [*samples(BITS), *samples(INTS)],
    kinds=("int",),
)


def shifted(op: str) -> Formula:
    """By as many bits as there are or more, nothing is left but the sign."""

    def formula(attrs: Attributes, a: Expr, b: Expr) -> Expr:
        bits = 64 if a.type in (LONG, ULONG) else 32
        far = apply("or", apply("lt", b, const(0, a.type)), apply("ge", b, const(bits, a.type)))
        rest = const(0, a.type)
        if op == "shr" and a.type in (INT, LONG):
            rest = select(apply("lt", a, rest), const(-1, a.type), rest)
        return select(far, rest, apply(op, a, b))

    return formula


elementwise(
    "ShiftLeft", shifted("shl"), lambda attrs, a, b: a << b, SHIFTS, kinds=("int",), arity=2
)
elementwise(
    "ShiftRight", shifted("shr"), lambda attrs, a, b: a >> b, SHIFTS, kinds=("int",), arity=2
)

elementwise("And", binary("and"), lambda attrs, a, b: a & b, BOOL_PAIR, kinds=("bool",), arity=2)
elementwise("Or", binary("or"), lambda attrs, a, b: a | b, BOOL_PAIR, kinds=("bool",), arity=2)


def _where_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    condition, yes, no = types
    if condition.dtype != "bool" or yes.dtype != no.dtype:
        raise ShapeError(
            f"the condition is {condition}, the choices {yes} and {no}; expected bool and one dtype"
        )
    return (Type(yes.dtype, broadcast(item.shape for item in types)),)


def _lower_where(low: Lowering, attrs: Attributes) -> None:
    nest = low.nest()
    index = nest.axes(low.outputs[0].shape)
    condition, yes, no = (nest.element(view, index) for view in low.inputs)
    nest.store(low.outputs[0], select(condition, yes, no))
    nest.done()


define(
    Operator(
        "Where",
        _where_types,
        lambda attrs, c, a, b: (np.asarray(np.where(c, a, b)),),
        _lower_where,
        arity=(3, 3),
        elementwise=True,
        cases=lambda: samples(FLOATS > 0, FLOATS, np.float32(2.0) * np.ones((2, 1), np.float32)),
    )
)


def _bits_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    if itemsize(attrs["dtype"]) != itemsize(types[0].dtype):
        raise ShapeError(f"{types[0]} has other bytes an element than {attrs['dtype']}")
    return (Type(attrs["dtype"], types[0].shape),)


def _lower_bits(low: Lowering, attrs: Attributes) -> None:
    """Of 64 bits, floats among them, the bytes are copied."""
    x, out = low.inputs[0], low.outputs[0]
    kinds = {is_float(x.type.dtype), is_float(attrs["dtype"])}
    if len(kinds) > 1 and itemsize(attrs["dtype"]) != 4:
        low.copy(low.materialize(x), out)
        return
    nest = low.nest()
    value = nest.element(x, nest.axes(out.shape))
    type_ = COMPUTE[attrs["dtype"]]
    nest.store(out, bitcast(value, type_) if len(kinds) > 1 else cast(value, type_))
    nest.done()


BIT_CAST = define(
    Operator(
        "BitCast",
        _bits_types,
        lambda attrs, x: (np.ascontiguousarray(x).view(attrs["dtype"]).reshape(x.shape),),
        _lower_bits,
        {"dtype": REQUIRED},
        cases=lambda: [
            Case((FLOATS,), {"dtype": "int32"}),
            Case((INTS,), {"dtype": "float32"}),
            Case((INTS,), {"dtype": "uint32"}),
            Case((BITS,), {"dtype": "int8"}),
            Case((BOOLS,), {"dtype": "uint8"}),
        ],
    )
)
"""The same bits as elements of another dtype of that width."""


def _cast_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type(attrs["dtype"], types[0].shape),)


def _lower_cast(low: Lowering, attrs: Attributes) -> None:
    nest = low.nest()
    value = nest.element(low.inputs[0], nest.axes(low.outputs[0].shape))
    if value.type in REAL and is_integer(attrs["dtype"]) and itemsize(attrs["dtype"]) < 4:
        limits = np.iinfo(attrs["dtype"])
        value = clip({"min": limits.min, "max": limits.max}, value)
    nest.store(low.outputs[0], cast(value, COMPUTE[attrs["dtype"]]))
    nest.done()


def _cast_reference(attrs: Attributes, x: Array) -> tuple[Array, ...]:
    if x.dtype.kind == "f" and is_integer(attrs["dtype"]):
        limits = np.iinfo(attrs["dtype"])
        return (np.clip(np.trunc(np.nan_to_num(x.astype(np.float64))), limits.min, limits.max),)
    return (x != 0 if attrs["dtype"] == "bool" else x,)


define(
    Operator(
        "Cast",
        _cast_types,
        _cast_reference,
        _lower_cast,
        {"dtype": REQUIRED},
        elementwise=True,
        cases=lambda: [
            Case((FLOATS,), {"dtype": "int32"}),
            Case((INTS,), {"dtype": "float32"}),
            Case((FLOATS,), {"dtype": BOOL}),
            Case((BOOLS,), {"dtype": "float32"}),
            Case(
                (np.array([300.7, -300.0, 126.5, -0.5, np.nan], np.float32),),
                {"dtype": "int8"},
                name="saturates",
            ),
            Case(
                (np.array([300.7, -3.0, 254.5], np.float32),), {"dtype": "uint8"}, name="saturates"
            ),
            Case((INTS * 100,), {"dtype": "int8"}, name="wraps"),
        ],
    )
)
