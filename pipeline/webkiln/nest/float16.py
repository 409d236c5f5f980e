"""Conversion of float32 expressions to the range of float16."""

from webkiln.nest.expr import FLOAT, Expr, apply, const

LARGEST = const(65504.0, FLOAT)


def clamp_to_float16(value: Expr) -> Expr:
    """Clamp to the finite range of float16; NaN stays NaN."""
    return apply("min", apply("max", value, apply("neg", LARGEST)), LARGEST)
