"""What an element of a narrow dtype retains of a value that is stored into a wider one."""

from collections.abc import Callable

from webkiln.nest.compose import round_to_float16
from webkiln.nest.expr import INT, UINT, Expr, apply, const


def _signed(bits: int) -> Callable[[Expr], Expr]:
    shift = const(32 - bits, INT)
    return lambda value: apply("shr", apply("shl", value, shift), shift)


def _unsigned(bits: int) -> Callable[[Expr], Expr]:
    return lambda value: apply("band", value, const(2**bits - 1, UINT))


WRAPPERS: dict[str, Callable[[Expr], Expr]] = {
    "float16": round_to_float16,
    "int8": _signed(8),
    "int16": _signed(16),
    "uint8": _unsigned(8),
    "uint16": _unsigned(16),
}
"""Dtype -> the value of its element, as float32, int32 or uint32."""
