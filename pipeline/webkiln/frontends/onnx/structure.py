"""Which small arrays of an ONNX file are part of the structure of the model."""

from collections.abc import Iterable

from webkiln.frontends.nodes.reading import is_structural
from webkiln.frontends.nodes.size_constants import SizeOperators
from webkiln.ir.graph import INLINE_ELEMENTS
from webkiln.ir.types import Array

STRUCTURAL = frozenset(
    {("Resize", 1), ("Resize", 2), ("Upsample", 1), ("Clip", 1), ("Clip", 2), ("Pad", 2)}
)
"""(operator, operand) pairs that are structure, whatever their dtype."""
INTEGERS = frozenset({2, 3, 4, 5, 6, 7, 12, 13})
"""The codes of integer dtypes."""
SIZE_OPERATORS = SizeOperators(
    of_types=("Shape", "Size"),
    readers=STRUCTURAL | {("Range", position) for position in range(3)},
    sizes={
        *(("Reshape", 1), ("Expand", 1), ("ConstantOfShape", 0), ("Range", 1), ("Tile", 1)),
        *(("Upsample", 1), ("Resize", 2), ("Resize", 3), ("Slice", 2), ("TopK", 1), ("Pad", 1)),
        *(("CenterCropPad", 1), ("OneHot", 1), ("Split", 1)),
    },
    is_integer_cast=lambda node: node.op == "Cast" and node.attrs.get("to") in INTEGERS,
)


def is_structure(array: Array, uses: Iterable[tuple[str, int]]) -> bool:
    """Whether a value is part of the structure: small, and a scalar or integers, or read by a
    structural operand.

    Parameters of quantisation are trained, even if they are scalars.
    """
    readers = set(uses)
    if readers & STRUCTURAL or array.size == 0:
        return array.size <= INLINE_ELEMENTS
    return is_structural(array) and not any("Linear" in op or "Integer" in op for op, _ in readers)
