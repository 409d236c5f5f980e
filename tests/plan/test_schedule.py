"""Which axis takes the lanes: seen through the schedules of small graphs."""

from textwrap import dedent

import pytest

from webkiln.backends.table import TARGETS
from webkiln.ir.text import parse
from webkiln.program import plan

CONV = '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
GRAPHS = {
    "whole vectors": f"""
        input x: float32[1,9,9,12]
        slot w: float32[3,3,12,72]
        y: float32[1,7,7,72] = Conv(x, w) {CONV}
    """,
    "part of a vector": f"""
        input x: float32[1,9,9,16]
        slot w: float32[3,3,16,3]
        y: float32[1,7,7,3] = Conv(x, w) {CONV}
    """,
    "rows": """
        input x: float32[50,64]
        y: float32[50] = ReduceSum(x) {"axes":[1]}
    """,
    "short rows": """
        input x: float32[50,5]
        y: float32[50] = ReduceSum(x) {"axes":[1]}
    """,
    "columns": """
        input x: float32[50,64]
        y: float32[64] = ReduceSum(x) {"axes":[0]}
    """,
    "long rows": """
        input x: float32[50,300]
        y: float32[50] = ReduceSum(x) {"axes":[1]}
    """,
    "one row by weights": """
        input x: float32[1,300]
        slot w: float32[300,64]
        y: float32[1,64] = MatMul(x, w)
    """,
    "odd rows by weights": """
        input x: float32[9,31]
        slot w: float32[31,62]
        y: float32[9,62] = MatMul(x, w)
    """,
    "few rows by weights beyond caches": """
        input x: float32[54,256]
        slot w: float32[256,512]
        y: float32[54,512] = MatMul(x, w)
    """,
    "few rows by fewer weights": """
        input x: float32[54,256]
        slot w: float32[256,496]
        y: float32[54,496] = MatMul(x, w)
    """,
    "more rows by weights beyond caches": """
        input x: float32[55,256]
        slot w: float32[256,512]
        y: float32[55,512] = MatMul(x, w)
    """,
    "rows by rows": """
        input x: float32[20,64]
        input w: float32[30,64]
        y: float32[20,30] = MatMul(x, w) {"transpose_b":true}
    """,
}
EXPECTED = {
    # graph, backend: lanes and the axis they lie on, whether whole, tile
    ("whole vectors", "wasm"): (8, "a1", True, 6),
    ("part of a vector", "wasm"): (4, "a1", False, 6),
    ("part of a vector", "js"): (4, "a2", False, 3),
    ("rows", "wasm"): (16, "r0", False, 1),
    ("rows", "js"): (4, "r0", False, 1),
    ("short rows", "wasm"): (1, None, False, 1),
    ("columns", "wasm"): (16, "a0", True, 1),
    ("few rows by weights beyond caches", "wasm"): (16, "a1", True, 2),
    ("few rows by fewer weights", "wasm"): (8, "a1", True, 6),
    ("more rows by weights beyond caches", "wasm"): (8, "a1", True, 6),
    ("few rows by weights beyond caches", "js"): (4, "a1", False, 3),
    ("rows by rows", "wasm"): (8, "r0", False, 4),
    ("rows by rows", "js"): (2, "r0", False, 4),
}  # fmt: skip


INVOKED = {
    # graph: lanes and the axis they lie on, tile, whether aligned, the loop of four turns, invocations that share a point
    "whole vectors": (4, "a2", 4, True, "r1", 1),
    "part of a vector": (4, "a2", 4, False, "r1", 1),
    "rows": (4, "r0", 1, False, None, 1),
    "rows by rows": (4, "r0", 4, False, None, 1),
    "long rows": (4, "r0", 1, False, None, 64),
    "one row by weights": (4, "a0", 1, True, None, 64),
    "odd rows by weights": (4, "a1", 4, False, None, 1),
}


def only(name, backend):
    graph = parse(f"graph g\n{dedent(GRAPHS[name]).strip()}\noutput out = y\n")
    (choice,) = plan(graph, TARGETS[backend]).choices
    return choice.schedule


@pytest.mark.parametrize("name", INVOKED)
def test_what_an_invocation_computes(name):
    made = only(name, "webgpu")
    assert (made.lanes, made.vector, made.count, made.aligned, made.unroll, made.group) == INVOKED[name]


@pytest.mark.parametrize(("name", "backend"), EXPECTED)
def test_the_lanes_of(name, backend):
    schedule = only(name, backend)
    assert (schedule.lanes, schedule.vector, schedule.whole, schedule.count) == EXPECTED[name, backend]


@pytest.mark.parametrize(
    ("rows", "features", "loop"), [(60, 2048, "a1"), (600, 64, "a0"), (6000, 1024, "a0")], ids=["weights", "cached weights", "rows"]
)
def test_processors_share_what_is_most_to_read(rows, features, loop):
    graph = parse(
        f"graph g\ninput x: float32[{rows},256]\nslot w: float32[256,{features}]\ny: float32[{rows},{features}] = MatMul(x, w)\noutput out = y\n"
    )
    (choice,) = plan(graph, TARGETS["wasm"]).choices
    assert choice.schedule.split == loop
