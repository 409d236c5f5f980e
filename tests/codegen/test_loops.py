"""The loops over parallel axes: chunks, remainders, blocks and threads."""

import pytest

from tests.codegen.nests import PRODUCT, SHIFTED, kernel_of
from webkiln.codegen.c import C
from webkiln.codegen.js import JavaScript
from webkiln.codegen.loops import Loops
from webkiln.nest.schedule import LoopSchedule, Panel, Tile

ORDER = ("a1", "a0")


def headers(text, schedule, dialect):
    printed = Loops(kernel_of(text, schedule), schedule, dialect).print()
    return [line.strip() for line in printed if line.strip().startswith("for")]


def test_without_a_tile_loops_are_plain():
    assert headers(SHIFTED, LoopSchedule(("a0", "a1")), JavaScript()) == [
        "for (let a0 = 0; a0 < p0; a0++) {",
        "for (let a1 = 0; a1 < p1; a1++) {",
    ]


@pytest.mark.parametrize(
    ("remainder", "rest"),
    [("elements", ["a1 < p1; a1 += 4"]), ("vectors", ["a1 < p1; a1 += 4"]), ("none", [])],
)
def test_vectors_are_followed_by_a_remainder(remainder, rest):
    schedule = LoopSchedule(("a0", "a1"), Tile("a1", 8), remainder=remainder)
    assert headers(SHIFTED, schedule, C())[1:] == [
        "for (; a1 + 7 < p1; a1 += 8) {",
        *(f"for (; {text}) {{" for text in rest),
    ]
    text = "\n".join(Loops(kernel_of(SHIFTED, schedule), schedule, C()).print())
    assert ("left" in text) == (remainder == "elements"), "the last vector may be partial"


def test_a_clamped_tile_leaves_at_most_one_element():
    schedule = LoopSchedule(ORDER, Tile("a1", 8, "a0", 6), remainder="none", clamped=True)
    assert headers(PRODUCT, schedule, C())[1::2] == [
        "for (; 5 < p0 && a0 + 1 < p0; a0 += 6) {",
        "for (; a0 < p0; a0 += 1) {",
    ]


def test_blocks_of_the_tile_axis_surround_the_vector_axis():
    schedule = LoopSchedule(ORDER, Tile("a1", 8, "a0", 6), remainder="none", block=192)
    outer, columns, tiles, *_ = headers(PRODUCT, schedule, C())
    assert outer == "for (; a0_from < p0; a0_from += 192) {"
    assert columns == "for (; a1 + 7 < p1; a1 += 8) {"
    assert tiles == "for (; a0 + 5 < a0_to; a0 += 6) {"


def test_a_thread_runs_its_part_of_the_split_loop():
    assert headers(SHIFTED, LoopSchedule(("a0", "a1"), split="a0"), C())[0] == (
        "for (; a0 < part_to; a0 += 1) {"
    )


def test_the_next_panel_is_prefetched_while_tiles_use_the_current_one():
    panel = Panel(source=1, dim=1, order=(0,), block=8)
    schedule = LoopSchedule(ORDER, Tile("a1", 8, "a0", 6), (panel,), "none", prefetch=True)
    text = "\n".join(Loops(kernel_of(PRODUCT, schedule), schedule, C()).print())
    tiles, rest = text.split("for (; a0 < p0; a0 += 1) {")
    assert "wk_fetch(x1 + " in tiles
    assert "wk_fetch" not in rest
