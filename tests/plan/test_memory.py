"""The memory plan: no two live buffers share bytes, and the checker that says so can fail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.types import Type
from webkiln.nest.steps import Copy, Repeat, View
from webkiln.plan.memory import Range, check, live_ranges, place

S = symbols.placeholder("S")
T = symbols.placeholder("T")


@st.composite
def ranges(draw):
    made = []
    for number in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 10))
        size = draw(st.integers(0, 300)) + draw(st.sampled_from([0, 0, 4, 12])) * T
        made.append(Range(f"v{number}", size, first, first + draw(st.integers(0, 6))))
    return made


@settings(deadline=None)
@given(ranges(), st.integers(1, 100))
def test_live_buffers_are_disjoint_and_aligned(items, sample):
    offsets, total = place(items, 64)
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


def test_memory_of_dead_buffers_is_used_again():
    chain = [Range(f"v{n}", 1000, n, n + 1) for n in range(10)]
    assert place(chain, 64)[1] == 2 * 1024
    chain = [Range(f"v{n}", 16 * T, n, n + 1) for n in range(10)]
    assert place(chain, 64)[1] == 2 * 16 * T


def test_offsets_stay_short_where_sizes_cannot_be_compared():
    sizes = [64 * T, 64 * T + 64 * S, 128 * S, 64 * S, 128 * T + 64]
    buffers = [Range(f"v{n}", sizes[n % 5] * (1 + n % 3), n, n + 4) for n in range(14)]
    offsets, total = place(buffers, 64)
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


def places(**offsets):
    return {name: (offset, 100) for name, offset in offsets.items()}


def test_the_checker_names_the_pair():
    steps = [copy("in", "a"), copy("a", "b"), copy("b", "c"), copy("a", "out")]
    check(steps, places(a=0, b=128, c=256), set())
    with pytest.raises(InternalError, match=r"a->b writes b over a, which it also uses"):
        check(steps, places(a=0, b=64, c=256), set())
    with pytest.raises(InternalError, match=r"a->out reads a, which c overwrote"):
        check(steps, places(a=0, b=128, c=28), set())
    with pytest.raises(InternalError, match=r"a->b reads a, which nothing wrote"):
        check(steps[1:], places(a=0, b=128), set())
    with pytest.raises(InternalError, match=r"the caller reads b, which c overwrote"):
        check([copy("in", "b"), copy("in", "c")], places(b=0, c=0), {"b"})


def test_what_a_repeat_shares_with_its_surroundings_lives_as_long_as_it():
    """`kept` is read in the second turn, after `own` was written in the first."""
    steps = [
        copy("in", "kept"),
        Repeat("i0", 3, (copy("kept", "seen"), copy("seen", "own"), copy("own", "out"))),
    ]
    sizes = dict.fromkeys(["kept", "seen", "own"], 100)
    found = {item.name: (item.first, item.last) for item in live_ranges(steps, sizes, set())}
    assert found == {"kept": (0, 3), "seen": (1, 2), "own": (2, 3)}
    check(steps, places(kept=0, seen=128, own=256), set())
    with pytest.raises(InternalError, match=r"kept->seen reads kept, which own overwrote"):
        check(steps, places(kept=0, seen=128, own=0), set())


def test_a_symbolic_plan_is_checked_at_several_sizes():
    steps = [copy("in", "a"), copy("in", "b"), copy("a", "out")]
    check(steps, {"a": (0, 4 * T), "b": (4 * T, 4)}, set())
    with pytest.raises(InternalError, match="overwrote"):
        check(steps, {"a": (0, 4 * T), "b": (64, 4)}, set())
