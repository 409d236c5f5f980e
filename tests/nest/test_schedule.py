"""Schedules survive JSON, and name only what differs from the defaults."""

import json

import pytest

from webkiln.nest.schedule import (
    FragmentSchedule,
    InvocationSchedule,
    LoopSchedule,
    Panel,
    Schedule,
    Slide,
    Tile,
    Workgroup,
    from_json,
    to_json,
)

SCHEDULES: list[Schedule] = [
    LoopSchedule(("a0",)),
    LoopSchedule(
        ("a1", "a0"),
        Tile("a1", 8, "a0", 6),
        (Panel(1, 1, (0,), 8),),
        "vectors",
        clamped=True,
        block=192,
        slide=Slide(3, 1, 0, 8),
        zeros=True,
        prefetch=True,
        split="a0",
    ),
    InvocationSchedule(("a0",), workgroup=Workgroup(parts=64)),
    InvocationSchedule(
        ("a0", "a1"),
        Tile("a1", 4, "a0", 4),
        whole=True,
        aligned=True,
        unroll="r0",
        workgroup=Workgroup(8, 8, 1, 16, staged=True, float16=True),
    ),
    FragmentSchedule(),
    FragmentSchedule(Tile("a1", 4, "a0", 4), (0, 1, 2), (0, 1), "r0", (1, 2), (1,)),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_schedules_are_read_from_json(schedule: Schedule) -> None:
    assert from_json(json.loads(json.dumps(to_json(schedule)))) == schedule


def test_defaults_are_left_out() -> None:
    schedule = LoopSchedule(("a0",), Tile("a0", 16))
    assert to_json(schedule) == {
        "kind": "loops",
        "order": ["a0"],
        "tile": {"vector": "a0", "lanes": 16},
    }


def test_parts_of_a_split_loop_contain_the_tiles_of_all_variants() -> None:
    assert LoopSchedule(("a0",), Tile(axis="a0", count=6), split="a0").grain == 12
    assert LoopSchedule(("a0",), Tile("a0", 8), split="a0").grain == 8


def test_a_workgroup_spans_the_tiles_of_its_square() -> None:
    tile = Tile("a1", 4, "a0", 2)
    for workgroup, spans in (
        (None, (4, 2)),
        (Workgroup(8, parts=8), (32, 2)),
        (Workgroup(8, 8, depth=16), (32, 16)),
    ):
        schedule = InvocationSchedule(("a0", "a1"), tile, workgroup=workgroup)
        assert (schedule.span("a1"), schedule.span("a0"), schedule.span("a2")) == (*spans, 1)
