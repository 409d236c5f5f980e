"""Sizes at which symbolic dimensions are costed."""

from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import itemsize
from webkiln.nest.steps import View

NOMINAL = 1024
"""The value that symbolic sizes are assumed to have."""


def nominal(size: Size) -> int:
    """The size, with symbolic sizes at their nominal value."""
    return symbols.evaluate(size, dict.fromkeys(symbols.names([size]), NOMINAL))


def bytes_of(view: View) -> int:
    """The size of a Variable, with symbolic sizes at their nominal value."""
    return nominal(view.type.size) * itemsize(view.type.dtype)
