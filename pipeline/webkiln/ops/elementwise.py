"""The definition of elementwise operators. Each is one call of `elementwise` in `ops/unary.py` or
`ops/binary.py`: a scalar expression for all backends, and a reference in numpy.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type, broadcast, is_float, is_integer
from webkiln.nest.build import Lowering
from webkiln.nest.expr import (
    UINT,
    ULONG,
    Expr,
    apply,
    const,
    select,
)
from webkiln.ops.operator import ELEMENTWISE, Case, Cost, Operator, Traits, Work, define, linear

Formula = Callable[..., Expr]
FLOATS = np.array([[-3.5, -1.0, -0.25, 0.0, 0.5], [1.0, 1.5, 2.5, 20.0, -20.0]], np.float32)
POSITIVE = np.array([[1e-3, 0.5, 1.0], [2.0, 10.0, 300.0]], np.float32)
INTS = np.array([[-7, -1, 0], [1, 3, 12]], np.int32)
BOOLS = np.array([True, False, True])
BITS = np.array([[1, 6, 255], [128, 0, 77]], np.uint8)
ALL = ("float", "int")


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
    attributes: type[Attributes] = Attributes,
    traits: Traits[Any] = ELEMENTWISE,
    work: Work[Attributes] = linear,
) -> None:
    """Define an elementwise operator with `arity` operands, which broadcast like those of numpy.

    `formula(attrs, *operands)` returns the scalar expression. `reference(attrs, *arrays)` computes
    the result in numpy; it receives floats as float64. `kinds` lists the accepted kinds ("float",
    "int", "bool") or dtypes; all operands have the same dtype. `result` is the dtype of the result,
    if it is another one. `attributes` is the class of `attrs`. `work` estimates the cost of the
    reference.
    """
    samples = tuple(cases)

    def infer(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
        dtypes = {item.dtype for item in types}
        if len(dtypes) != 1 or not {types[0].dtype, kind(types[0].dtype)} & {*kinds}:
            raise ShapeError(
                f"operands are {', '.join(map(str, types))}, expected the same dtype"
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
            attributes,
            (arity, arity),
            lambda: samples,
            traits,
            Cost(work),
        )
    )


def unary(op: str) -> Formula:
    return lambda attrs, x: apply(op, x)


def binary(op: str) -> Formula:
    return lambda attrs, a, b: apply(op, a, b)


def samples(*inputs: Array, **attrs: Any) -> list[Case]:
    return [Case(inputs, attrs)]


def positive(x: Expr) -> Expr:
    """max(x, 0); NaN stays NaN."""
    return select(apply("lt", x, const(0, x.type)), const(0, x.type), x)


def clip(x: Expr, low: float, high: float) -> Expr:
    """Clamp to low..high; NaN stays NaN. For unsigned types, negative bounds are 0."""
    smallest = 0 if x.type in (UINT, ULONG) else -inf
    least, most = (const(max(bound, smallest), x.type) for bound in (low, high))
    at_least_low = select(apply("lt", x, least), least, x)
    return select(apply("gt", at_least_low, most), most, at_least_low)
