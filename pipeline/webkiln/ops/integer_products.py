"""Products of integers of 8 bits: matrix products and convolutions, each factor minus its zero
point. Sums are exact in int32, which wraps.
"""

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import INT, Expr, cast, const, select
from webkiln.nest.steps import View
from webkiln.ops.conv import (
    conv_channel_axis,
    conv_reference,
    conv_scratch,
    conv_source_axes,
    conv_types,
    conv_work,
)
from webkiln.ops.conv_cases import conv_cases
from webkiln.ops.conv_loops import Conv, Element, has_open_phases, lower_conv
from webkiln.ops.linear import MatMul, matmul_channel_axis, matmul_types, matmul_work
from webkiln.ops.operator import Case, Cost, Operator, Traits, define

NARROW = ("int8", "uint8")


def _check_zeros(types: Sequence[Type], columns: Size, what: str) -> None:
    """Check the operands a, b and their zero points: a scalar, and a scalar or one per column."""
    a, b, a_zero, b_zero = types
    dtypes = [type_.dtype for type_ in types]
    if not set(dtypes) <= set(NARROW) or (a.dtype, b.dtype) != (a_zero.dtype, b_zero.dtype):
        raise ShapeError(
            f"operands are {', '.join(dtypes)}, expected int8 or uint8, and zero points of the same"
            " dtypes"
        )
    if a_zero.rank or b_zero.shape not in ((), (columns,)):
        raise ShapeError(
            f"zero points are {a_zero} and {b_zero}, expected a scalar, and a scalar or one per"
            f" {what}: [{columns}]"
        )


def _wide(type_: Type) -> Type:
    return Type("int32", type_.shape)


def _minus_zero(nest: NestBuilder, element: Expr, zero: View, column: Sequence[Expr]) -> Expr:
    """An element minus its zero point, as int32."""
    return cast(element, INT) - cast(nest.load(zero, column if zero.shape else ()), INT)


def _matmul_types(attrs: MatMul, types: Sequence[Type]) -> tuple[Type, ...]:
    (result,) = matmul_types(attrs, [_wide(types[0]), _wide(types[1])])
    _check_zeros(types, result.shape[-1], "column")
    return (result,)


def _matmul_reference(
    attrs: MatMul, a: Array, b: Array, a_zero: Array, b_zero: Array
) -> tuple[Array, ...]:
    left = np.swapaxes(a, -1, -2) if attrs.transpose_a else a
    right = np.swapaxes(b, -1, -2) if attrs.transpose_b else b
    left, right = (
        x.astype(np.int32) - zero.astype(np.int32) for x, zero in ((left, a_zero), (right, b_zero))
    )
    return (np.matmul(left, right),)


def _lower_matmul(low: Lowering, attrs: MatMul) -> None:
    a, b, a_zero, b_zero = low.inputs
    nest = low.nest()
    *batch, row, column = nest.axes(low.outputs[0].shape)
    inner = nest.reduce(a[-2] if attrs.transpose_a else a[-1])
    rows = (inner, row) if attrs.transpose_a else (row, inner)
    columns = (column, inner) if attrs.transpose_b else (inner, column)
    left = _minus_zero(nest, nest.element(a, (*batch, *rows)), a_zero, ())
    right = _minus_zero(nest, nest.element(b, (*batch, *columns)), b_zero, (column,))
    nest.store(low.outputs[0], nest.accumulate("sum", left * right))
    nest.done()


def _make(rng: np.random.Generator, dtype: str, *shape: int) -> Array:
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _matmul_cases() -> Iterable[Case]:
    rng = np.random.default_rng(0)

    def make(dtype: str, *shape: int) -> Array:
        return _make(rng, dtype, *shape)

    for (rows, depth, columns), (left, right) in zip(
        ((1, 7, 10), (5, 33, 37), (7, 64, 64), (13, 1, 8)), product(NARROW, NARROW), strict=True
    ):
        yield Case((make(left, rows, depth), make(right, depth, columns), make(left), make(right)))
    yield Case((make("uint8", 2, 3, 4), make("int8", 4, 6), make("uint8"), np.zeros((), np.int8)))
    yield Case((make("uint8", 2, 1, 3, 4), make("int8", 5, 4, 6), make("uint8"), make("int8")))
    yield Case((make("int8", 3, 0), make("int8", 0, 2), make("int8"), make("int8")))
    yield Case(
        (make("int8", 9, 37), make("int8", 21, 37), make("int8"), np.zeros((), np.int8)),
        {"transpose_b": True},
    )
    yield Case(
        (make("uint8", 6, 4), make("uint8", 5, 6), make("uint8"), make("uint8", 5)),
        {"transpose_a": True, "transpose_b": True},
    )
    yield Case((make("int8", 3, 8), make("int8", 8, 19), make("int8"), make("int8", 19)))


MATMUL_INTEGER = define(
    Operator(
        "MatMulInteger",
        _matmul_types,
        _matmul_reference,
        _lower_matmul,
        MatMul,
        (4, 4),
        _matmul_cases,
        Traits(weight_channel_axis=matmul_channel_axis),
        Cost(lambda attrs, inputs, outputs: matmul_work(attrs, inputs[:2], outputs)),
    )
)
"""Matrix product of integers a [..., m, k] and b [..., k, n] of 8 bits, each minus its zero point:
int32 [..., m, n], which wraps. The zero point of a is a scalar, that of b a scalar or [n]. With
`transpose_a` or `transpose_b`, the last two axes of the operand are swapped.
"""


def _conv_types(attrs: Conv, types: Sequence[Type]) -> tuple[Type, ...]:
    _check_zeros(types, types[1].shape[attrs.w_dims[0]], "feature")
    return conv_types(attrs, [_wide(types[0]), _wide(types[1])])


def _conv_reference(
    attrs: Conv, x: Array, w: Array, x_zero: Array, w_zero: Array
) -> tuple[Array, ...]:
    shape = [1] * w.ndim
    shape[attrs.w_dims[0]] = -1
    left = x.astype(np.int32) - np.int32(x_zero)
    right = w.astype(np.int32) - w_zero.astype(np.int32).reshape(shape if w_zero.ndim else ())
    return tuple(array.astype(np.int32) for array in conv_reference(attrs, left, right))


def _lower_conv(low: Lowering, attrs: Conv) -> None:
    x, w, x_zero, w_zero = low.inputs
    stored = has_open_phases(attrs)
    if stored:
        x = _stored_without_zero(low, x, x_zero)
    features = w[attrs.w_dims[0]]
    zeros = (attrs.groups, features // attrs.groups)
    grouped = w_zero.reshaped(zeros) if w_zero.shape else w_zero

    def product_of(
        nest: NestBuilder,
        x: Element,
        w: Element,
        inside: Expr | None,
        feature: tuple[Expr, Expr],
    ) -> Expr:
        left = nest.load(*x, inside)
        if stored:
            return left * _minus_zero(nest, nest.load(*w), grouped, feature)
        left = _minus_zero(nest, left, x_zero, ())
        if inside is not None:
            left = select(inside, left, const(0, INT))
        return left * _minus_zero(nest, nest.load(*w), grouped, feature)

    lower_conv(low, attrs, x, w, (), product_of, copies_padding=False)


def _stored_without_zero(low: Lowering, x: View, x_zero: View) -> View:
    """A copy of x minus its zero point, as int32."""
    stored = low.temporary("int32", x.shape)
    nest = low.nest()
    index = nest.axes(x.shape)
    nest.store(stored, _minus_zero(nest, nest.load(x, index), x_zero, ()))
    nest.done()
    return stored


def _conv_cases() -> Iterable[Case]:
    """The shapes of the cases of Conv, without bias. No weight is equal to its zero point."""
    rng = np.random.default_rng(2)
    dtypes = list(product(NARROW, NARROW))
    for number, case in enumerate(conv_cases()):
        (x, w), (left, right) = case.inputs[:2], dtypes[number % len(dtypes)]
        features = w.shape[case.attrs["w_dims"][0]]
        zero = () if number % 3 else (features,)
        operands = (
            _make(rng, left, *x.shape),
            _make(rng, right, *w.shape) // 2,
            _make(rng, left),
            (np.iinfo(right).max - _make(rng, "uint8", *zero) // 8).astype(right),
        )
        yield Case(operands, case.attrs, name=case.name)


CONV_INTEGER = define(
    Operator(
        "ConvInteger",
        _conv_types,
        _conv_reference,
        _lower_conv,
        Conv,
        (4, 4),
        _conv_cases,
        Traits(source_axes=conv_source_axes, weight_channel_axis=conv_channel_axis),
        cost=Cost(
            lambda attrs, inputs, outputs: conv_work(attrs, inputs[:2], outputs),
            lambda attrs, inputs, outputs: conv_scratch(attrs, inputs[:2], outputs),
        ),
    )
)
"""Convolution of integers of 8 bits: x and the kernel w, each minus its zero point, in int32, which
wraps. Inputs: x, w, the zero point of x, a scalar, and that of w, a scalar or [features]. Padding
contributes nothing, as if it were the zero point. The attributes are those of Conv.
"""
