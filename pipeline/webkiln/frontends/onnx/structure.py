"""Which constants of an ONNX file are structure, and which are trained."""

from collections.abc import Iterable

from webkiln.frontends.nodes.reading import is_structural
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array

STRUCTURAL = frozenset(
    {("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Clip", 1), ("Clip", 2), ("Pad", 2)}
)
"""(operator, operand) pairs that are structure, whatever their dtype."""


def is_structure(array: Array, uses: Iterable[tuple[str, int]]) -> bool:
    """Whether a value is part of the structure: small, and a scalar or integers, or read by a
    structural operand.

    Parameters of quantisation are trained, even if they are scalars.
    """
    readers = set(uses)
    if readers & STRUCTURAL or array.size == 0:
        return array.size <= INLINE_ELEMENTS
    return is_structural(array) and not any("Linear" in op or "Integer" in op for op, _ in readers)
