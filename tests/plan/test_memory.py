"""The memory plan: no two live buffers share bytes, and the checker that says so can fail."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webkiln.errors import InternalError
from webkiln.plan.memory import Range, check, place


@st.composite
def ranges(draw):
    made = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 10))
        made.append(Range(f"v{number}", draw(st.integers(0, 300)), first, first + draw(st.integers(0, 6))))
    return made


@given(ranges())
def test_live_buffers_are_disjoint_and_aligned(items):
    offsets, total = place(items, 64)
    assert all(offset % 64 == 0 for offset in offsets.values())
    for a in items:
        assert offsets[a.name] + a.bytes <= total
        for b in items:
            if a.name < b.name and a.first <= b.last and b.first <= a.last and a.bytes and b.bytes:
                assert offsets[a.name] + a.bytes <= offsets[b.name] or offsets[b.name] + b.bytes <= offsets[a.name]


def test_memory_of_dead_buffers_is_used_again():
    chain = [Range(f"v{n}", 1000, n, n + 1) for n in range(10)]
    assert place(chain, 64)[1] == 2 * 1024


def test_the_checker_names_the_pair():
    items = [Range("a", 100, 0, 2), Range("b", 100, 2, 3)]
    with pytest.raises(InternalError, match="a ends at 100, b starts at 64, both are live at launch 2"):
        check(items, {"a": 0, "b": 64})
    check(items, {"a": 0, "b": 128})
    check([Range("a", 100, 0, 1), Range("b", 100, 2, 3)], {"a": 0, "b": 0})
