"""Allocation of weights that are transformed while others arrive: in any order of arrival, no
memory that is still read is overwritten.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from webkiln.plan.arena import Arena, Extent, TransientWeight

SIZES = st.integers(1, 600)


@settings(deadline=None)
@given(
    st.lists(SIZES, max_size=3),
    st.lists(st.tuples(SIZES, st.lists(SIZES, min_size=1, max_size=2)), min_size=1, max_size=7),
    st.randoms(use_true_random=False),
)
def test_filters_are_intact_until_they_are_read(persistent, filters, order):
    """`persistent`: sizes of weights that are retained. `filters`: the size of each filter, and of
    the results computed from it, for one or two readers.
    """
    arena = Arena(64)
    weights = {f"w{number}": size for number, size in enumerate(persistent)}
    computed = [
        (f"t{number}.{reader}", f"f{number}", size)
        for number, (_, results) in enumerate(filters)
        for reader, size in enumerate(results)
    ]
    order.shuffle(computed)
    for name, size in (*weights.items(), *((name, size) for name, _, size in computed)):
        arena.reserve(name, Extent("float32", size))
    sources = {f"f{number}": size for number, (size, _) in enumerate(filters)}
    last = {source: name for name, source, _ in computed}
    names = [name for name, *_ in computed]
    arena.stage(
        100,
        sorted(
            (
                TransientWeight(name, Extent("float32", size), last[name])
                for name, size in sources.items()
            ),
            key=lambda item: names.index(item.last),
        ),
    )
    memory: dict[int, str] = {}
    sizes = weights | sources | {name: size for name, _, size in computed}

    def offsets(name: str) -> range:
        return range(arena.offsets[name], arena.offsets[name] + 4 * sizes[name], 4)

    def is_intact(name: str) -> bool:
        return all(memory.get(offset) == name for offset in offsets(name))

    arrivals = [*weights, *sources]
    order.shuffle(arrivals)
    waiting, arrived = list(computed), set()
    for name in arrivals:
        memory |= dict.fromkeys(offsets(name), name)
        arrived.add(name)
        while waiting and waiting[0][1] in arrived:
            results, source, _ = waiting.pop(0)
            assert is_intact(source)
            memory |= dict.fromkeys(offsets(results), results)
    assert all(is_intact(name) for name in (*weights, *names))
    assert arena.staging["offset"] >= max(offsets(name).stop for name in sizes)
    assert arena.loaded >= arena.staging["offset"] + arena.staging["bytes"]


def test_filters_overlap_results_that_are_computed_later():
    arena = Arena(64)
    for number in range(10):
        arena.reserve(f"t{number}", Extent("float32", 16 * 1024))
    arena.stage(
        1 << 16,
        [
            TransientWeight(f"f{number}", Extent("float32", 9 * 1024), f"t{number}")
            for number in range(10)
        ],
    )
    assert arena.staging["offset"] == (10 * 16 + 9) * 4096, "only the last one needs its own memory"
