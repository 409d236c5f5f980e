"""Bounds of the elements of computed tensors."""

from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES
from webkiln.ops.value_bounds import bounds


def test_operands_that_are_read_several_times_are_followed_once() -> None:
    """Otherwise the time doubles with every operator."""
    b = GraphBuilder("graph", RULES)
    x = b.op("Clip", [b.input("x", "int32", (4,))], {"min": 0, "max": 3})
    for _ in range(40):
        x = b.op("Add", [x, x])
    assert bounds(x) == (0, 3 << 40)
