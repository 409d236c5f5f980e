"""Operators that expand codes: numbers of fewer than eight bits, and values that a block of
neighbours shares. Together with casts, products and differences they decode quantized weights.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size, floordiv, known
from webkiln.ir.size_checks import require_equal
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import INT, UINT, Expr, apply, bitcast, cast, const, select
from webkiln.ops.operator import Case, Operator, Traits, define

BYTE = 8


@dataclass(frozen=True, slots=True)
class UnpackBits(Attributes):
    bits: int
    signed: bool = False


def _unpack_types(attrs: UnpackBits, types: Sequence[Type]) -> tuple[Type, ...]:
    (x,) = types
    if x.dtype != "uint8" or not x.rank or attrs.bits not in (1, 2, 4):
        raise ShapeError(
            f"{attrs.bits} bits in {x}; expected 1, 2 or 4 bits, and uint8 with an axis or more"
        )
    dtype = "int8" if attrs.signed else "uint8"
    return (Type(dtype, (*x.shape[:-1], x.shape[-1] * (BYTE // attrs.bits))),)


def _unpack_reference(attrs: UnpackBits, x: Array) -> tuple[Array, ...]:
    shifts = np.arange(0, BYTE, attrs.bits)
    codes = (x[..., None].astype(np.int64) >> shifts) % (1 << attrs.bits)
    if attrs.signed:
        codes -= (codes >> (attrs.bits - 1)) << attrs.bits
    return (codes.reshape(*x.shape[:-1], x.shape[-1] * len(shifts)),)


def _lower_unpack(low: Lowering, attrs: UnpackBits) -> None:
    nest = low.nest()
    *index, last = nest.axes(low.outputs[0].shape)
    count = const(BYTE // attrs.bits, INT)
    byte = nest.load(low.inputs[0], [*index, apply("idiv", last, count)])
    shift = cast(apply("irem", last, count) * const(attrs.bits, INT), UINT)
    code = apply("band", apply("shr", byte, shift), const((1 << attrs.bits) - 1, UINT))
    nest.store(low.outputs[0], _signed(code, attrs.bits) if attrs.signed else code)
    nest.done()


def _signed(code: Expr, bits: int) -> Expr:
    """A code in two's complement."""
    value, limit = bitcast(code, INT), const(1 << bits, INT)
    return select(apply("ge", value, const(1 << (bits - 1), INT)), value - limit, value)


UNPACK_BITS = define(
    Operator(
        "UnpackBits",
        _unpack_types,
        _unpack_reference,
        _lower_unpack,
        UnpackBits,
        cases=lambda: [
            Case((np.arange(256, dtype=np.uint8).reshape(4, 64),), {"bits": bits, "signed": signed})
            for bits in (1, 2, 4)
            for signed in (False, True)
        ],
        traits=Traits(decodes=True),
    )
)
"""The numbers of 1, 2 or 4 bits that bytes contain, the lowest bits first.

Operand: x, uint8 [..., n]. Result: uint8, or int8 in two's complement if `signed`,
[..., 8 n / bits].
"""


@dataclass(frozen=True, slots=True)
class Repeat(Attributes):
    axis: int
    times: int
    size: Size


def _repeat_types(attrs: Repeat, types: Sequence[Type]) -> tuple[Type, ...]:
    (x,) = types
    if not 0 <= attrs.axis < x.rank or attrs.times < 1:
        raise ShapeError(f"{attrs.times} repetitions along axis {attrs.axis} of {x}")
    require_equal(
        x.shape[attrs.axis],
        floordiv(attrs.size + attrs.times - 1, attrs.times),
        f"{x} has another number of blocks of {attrs.times} along axis {attrs.axis} than"
        f" {attrs.size} elements",
    )
    shape = list(x.shape)
    shape[attrs.axis] = attrs.size
    return (Type(x.dtype, tuple(shape)),)


def _repeat_reference(attrs: Repeat, x: Array) -> tuple[Array, ...]:
    wide = np.repeat(x, attrs.times, axis=attrs.axis)
    kept = np.arange(known(attrs.size, "the repetition"))
    return (np.take(wide, kept, axis=attrs.axis),)


def _lower_repeat(low: Lowering, attrs: Repeat) -> None:
    nest = low.nest()
    index = list(nest.axes(low.outputs[0].shape))
    source = list(index)
    source[attrs.axis] = apply("idiv", index[attrs.axis], const(attrs.times, INT))
    nest.store(low.outputs[0], nest.load(low.inputs[0], source), index)
    nest.done()


def _repeat_cases() -> Iterable[Case]:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    yield Case((x,), {"axis": 0, "times": 5, "size": 13})
    yield Case((x,), {"axis": 1, "times": 2, "size": 8})
    yield Case((x.astype(np.uint8),), {"axis": 1, "times": 1, "size": 4})


REPEAT = define(
    Operator(
        "Repeat",
        _repeat_types,
        _repeat_reference,
        _lower_repeat,
        Repeat,
        cases=_repeat_cases,
        traits=Traits(decodes=True),
    )
)
"""Each element of x `times` times along `axis`, up to `size` elements: element i of the result is
element i // times of x.
"""
