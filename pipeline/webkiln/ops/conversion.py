"""Selection and conversion: Where, Cast, BitCast."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type, broadcast, is_float, is_integer, itemsize
from webkiln.nest.build import Lowering
from webkiln.nest.expr import BOOL, REAL, bitcast, cast, select
from webkiln.nest.nest import COMPUTE
from webkiln.ops.elementwise import BITS, BOOLS, FLOATS, INTS, clip, samples
from webkiln.ops.operator import ELEMENTWISE, Case, Operator, Traits, define


def _where_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    condition, yes, no = types
    if condition.dtype != "bool" or yes.dtype != no.dtype:
        raise ShapeError(
            f"the condition is {condition}, the alternatives are {yes} and {no}; expected a"
            " condition of dtype bool, and alternatives of the same dtype"
        )
    return (Type(yes.dtype, broadcast(item.shape for item in types)),)


def _lower_where(low: Lowering, attrs: Attributes) -> None:
    nest = low.nest()
    index = nest.axes(low.outputs[0].shape)
    condition, yes, no = (nest.element(view, index) for view in low.inputs)
    nest.store(low.outputs[0], select(condition, yes, no))
    nest.done()


WHERE = define(
    Operator(
        "Where",
        _where_types,
        lambda attrs, c, a, b: (np.asarray(np.where(c, a, b)),),
        _lower_where,
        Attributes,
        arity=(3, 3),
        traits=ELEMENTWISE,
        cases=lambda: samples(FLOATS > 0, FLOATS, np.float32(2.0) * np.ones((2, 1), np.float32)),
    )
)
"""Selects between two tensors. Inputs: condition (bool), the values for true, the values for false;
all broadcast.
"""


@dataclass(frozen=True, slots=True)
class BitCast(Attributes):
    dtype: str


def _bits_types(attrs: BitCast, types: Sequence[Type]) -> tuple[Type, ...]:
    if itemsize(attrs.dtype) != itemsize(types[0].dtype):
        raise ShapeError(
            f"the elements of {types[0]} and {attrs.dtype} have different numbers of bytes"
        )
    return (Type(attrs.dtype, types[0].shape),)


def _lower_bits(low: Lowering, attrs: BitCast) -> None:
    """Between floats and integers of other widths than 32 bits, the bytes are copied."""
    x, out = low.inputs[0], low.outputs[0]
    kinds = {is_float(x.type.dtype), is_float(attrs.dtype)}
    if len(kinds) > 1 and itemsize(attrs.dtype) != 4:
        low.copy(low.materialize(x), out)
        return
    nest = low.nest()
    value = nest.element(x, nest.axes(out.shape))
    type_ = COMPUTE[attrs.dtype]
    nest.store(out, bitcast(value, type_) if len(kinds) > 1 else cast(value, type_))
    nest.done()


BIT_CAST = define(
    Operator(
        "BitCast",
        _bits_types,
        lambda attrs, x: (np.ascontiguousarray(x).view(attrs.dtype).reshape(x.shape),),
        _lower_bits,
        BitCast,
        traits=Traits(decodes=True),
        cases=lambda: [
            Case((FLOATS,), {"dtype": "int32"}),
            Case((INTS,), {"dtype": "float32"}),
            Case((INTS,), {"dtype": "uint32"}),
            Case((BITS,), {"dtype": "int8"}),
            Case((BOOLS,), {"dtype": "uint8"}),
        ],
    )
)
"""Reinterprets the bits of elements as another dtype of the same width.

Attributes: `dtype`.
"""


@dataclass(frozen=True, slots=True)
class Cast(Attributes):
    dtype: str


def _cast_types(attrs: Cast, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type(attrs.dtype, types[0].shape),)


def _lower_cast(low: Lowering, attrs: Cast) -> None:
    nest = low.nest()
    value = nest.element(low.inputs[0], nest.axes(low.outputs[0].shape))
    if value.type in REAL and is_integer(attrs.dtype) and itemsize(attrs.dtype) < 4:
        limits = np.iinfo(attrs.dtype)
        value = clip(value, int(limits.min), int(limits.max))
    nest.store(low.outputs[0], cast(value, COMPUTE[attrs.dtype]))
    nest.done()


def _cast_reference(attrs: Cast, x: Array) -> tuple[Array, ...]:
    if x.dtype.kind == "f" and is_integer(attrs.dtype):
        limits = np.iinfo(attrs.dtype)
        return (np.clip(np.trunc(np.nan_to_num(x.astype(np.float64))), limits.min, limits.max),)
    return (x != 0 if attrs.dtype == "bool" else x,)


CAST = define(
    Operator(
        "Cast",
        _cast_types,
        _cast_reference,
        _lower_cast,
        Cast,
        traits=ELEMENTWISE,
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
"""Converts x to `dtype`. Floats saturate and NaN becomes 0 when converted to integers; integers
wrap.
"""
