"""What float16 holds of the numbers of float32."""

from webkiln.nest.expr import FLOAT, Expr, apply, const

LARGEST = const(65504.0, FLOAT)


def within(value: Expr) -> Expr:
    """The nearest number within the range of float16; NaN stays."""
    return apply("min", apply("max", value, apply("neg", LARGEST)), LARGEST)
