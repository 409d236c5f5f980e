"""The memory plan: live buffers are disjoint, and the independent checker detects violations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.types import Type
from webkiln.nest.steps import Copy, Repeat, View
from webkiln.plan.memory import Range, assign_offsets, check, live_ranges

S = symbols.placeholder("S")
T = symbols.placeholder("T")


@st.composite
def ranges(draw):
    items = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 10))
        size = draw(st.integers(0, 300)) + draw(st.sampled_from([0, 0, 4, 12])) * T
        items.append(Range(f"v{number}", size, first, first + draw(st.integers(0, 6))))
    return items


@settings(deadline=None)
@given(ranges(), st.integers(1, 100))
def test_live_buffers_are_disjoint_and_aligned(items, sample):
    offsets, total = assign_offsets(items, 64)
    values = {"T": sample}
    start = {name: symbols.substitute(offset, values) for name, offset in offsets.items()}
    size = {item.name: symbols.substitute(item.bytes, values) for item in items}
    assert all(offset % 16 == 0 for offset in start.values())
    for a in items:
        assert start[a.name] + size[a.name] <= symbols.substitute(total, values)
        for b in items:
            if (
                a.name < b.name
                and a.first <= b.last
                and b.first <= a.last
                and size[a.name]
                and size[b.name]
            ):
                assert (
                    start[a.name] + size[a.name] <= start[b.name]
                    or start[b.name] + size[b.name] <= start[a.name]
                )


def test_memory_of_dead_buffers_is_reused():
    chain = [Range(f"v{n}", 1000, n, n + 1) for n in range(10)]
    assert assign_offsets(chain, 64)[1] == 2 * 1024
    chain = [Range(f"v{n}", 16 * T, n, n + 1) for n in range(10)]
    assert assign_offsets(chain, 64)[1] == 2 * 16 * T


def test_offsets_stay_short_if_sizes_are_incomparable():
    sizes = [64 * T, 64 * T + 64 * S, 128 * S, 64 * S, 128 * T + 64]
    buffers = [Range(f"v{n}", sizes[n % 5] * (1 + n % 3), n, n + 4) for n in range(14)]
    offsets, total = assign_offsets(buffers, 64)
    assert all(len(str(size)) < 100 for size in (*offsets.values(), total))
    for values in ({"S": 9, "T": 80}, {"S": 50, "T": 50}):
        needed = max(
            sum(
                symbols.substitute(item.bytes, values)
                for item in buffers
                if item.first <= n <= item.last
            )
            for n in range(18)
        )
        assert symbols.substitute(total, values) < 1.5 * needed


def copy(source, target):
    return Copy(
        View(source, Type("float32", (25,))),
        View(target, Type("float32", (25,))),
        f"{source}->{target}",
    )


def buffers_at(**offsets):
    return {name: (offset, 100) for name, offset in offsets.items()}


def test_the_checker_names_both_buffers():
    steps = [copy("in", "a"), copy("a", "b"), copy("b", "c"), copy("a", "out")]
    check(steps, buffers_at(a=0, b=128, c=256), set())
    with pytest.raises(InternalError, match=r"a->b \(Copy\) writes b over a, which it also uses"):
        check(steps, buffers_at(a=0, b=64, c=256), set())
    with pytest.raises(InternalError, match=r"a->out \(Copy\) reads a, which c overwrote"):
        check(steps, buffers_at(a=0, b=128, c=28), set())
    with pytest.raises(InternalError, match=r"a->b \(Copy\) reads a, which nothing wrote"):
        check(steps[1:], buffers_at(a=0, b=128), set())
    with pytest.raises(InternalError, match=r"the caller reads b, which c overwrote"):
        check([copy("in", "b"), copy("in", "c")], buffers_at(b=0, c=0), {"b"})


def test_a_variable_shared_with_a_repeat_is_live_throughout():
    """`outer` is read in the second iteration, after `inner` was written in the first."""
    steps = [
        copy("in", "outer"),
        Repeat("i0", 3, (copy("outer", "loaded"), copy("loaded", "inner"), copy("inner", "out"))),
    ]
    sizes = dict.fromkeys(["outer", "loaded", "inner"], 100)
    spans = {item.name: (item.first, item.last) for item in live_ranges(steps, sizes, set())}
    assert spans == {"outer": (0, 3), "loaded": (1, 2), "inner": (2, 3)}
    check(steps, buffers_at(outer=0, loaded=128, inner=256), set())
    with pytest.raises(InternalError, match=r"loaded \(Copy\) reads outer, which inner overwrote"):
        check(steps, buffers_at(outer=0, loaded=128, inner=0), set())


def test_a_symbolic_plan_is_checked_at_several_sizes():
    steps = [copy("in", "a"), copy("in", "b"), copy("a", "out")]
    check(steps, {"a": (0, 4 * T), "b": (4 * T, 4)}, set())
    with pytest.raises(InternalError, match="overwrote"):
        check(steps, {"a": (0, 4 * T), "b": (64, 4)}, set())
