"""Which axis takes the lanes, and what is computed together: properties of the schedules of small
graphs.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

import pytest

from webkiln.backends.table import TARGETS
from webkiln.ir.graph import Graph
from webkiln.ir.text import parse
from webkiln.nest.affine import depends
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.cost import MACHINES, milliseconds
from webkiln.plan.vectors import contiguous
from webkiln.program import plan

CONV = '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'


def graph(*lines: str) -> Graph:
    return parse("\n".join(["graph g", *lines, "output out = y", ""]))


def product_of(rows: int, inner: int, columns: int) -> Graph:
    """By weights, which may be repacked."""
    return graph(
        f"input x: float32[{rows},{inner}]",
        f"slot w: float32[{inner},{columns}]",
        f"y: float32[{rows},{columns}] = MatMul(x, w)",
    )


def rows_by_rows(rows: int, inner: int, columns: int) -> Graph:
    operands = f"input x: float32[{rows},{inner}]", f"input w: float32[{columns},{inner}]"
    return graph(*operands, f'y: float32[{rows},{columns}] = MatMul(x, w) {{"transpose_b":true}}')


def convolution(size: int, channels: int, features: int) -> Graph:
    operands = (
        f"input x: float32[1,{size},{size},{channels}]",
        f"slot w: float32[3,3,{channels},{features}]",
    )
    return graph(*operands, f"y: float32[1,{size - 2},{size - 2},{features}] = Conv(x, w) {CONV}")


def row_sums(rows: int, columns: int) -> Graph:
    return graph(
        f"input x: float32[{rows},{columns}]", f'y: float32[{rows}] = ReduceSum(x) {{"axes":[1]}}'
    )


def column_sums(rows: int, columns: int) -> Graph:
    return graph(
        f"input x: float32[{rows},{columns}]",
        f'y: float32[{columns}] = ReduceSum(x) {{"axes":[0]}}',
    )


def map_of(rows: int, columns: int) -> Graph:
    return graph(f"input x: float32[{rows},{columns}]", f"y: float32[{rows},{columns}] = Relu(x)")


GRAPHS = [
    *(product_of(*sizes) for sizes in product((1, 9, 300), (3, 256), (1, 3, 62, 512))),
    *(rows_by_rows(*sizes) for sizes in product((1, 20, 300), (3, 64, 300), (1, 30))),
    *(convolution(*sizes) for sizes in product((3, 9, 20), (1, 16), (3, 72))),
    *(
        made(*sizes)
        for made in (row_sums, column_sums, map_of)
        for sizes in product((1, 50), (1, 5, 64, 300))
    ),
]


def all_scheduled(graph: Graph, backend: str) -> Iterator[tuple[NestCall, Schedule]]:
    planned = plan(graph, TARGETS[backend])
    for call, choice in zip(planned.lowered.calls, planned.choices, strict=True):
        yield call, choice.schedule


@cache
def of_all_graphs(backend: str) -> list[tuple[Graph, NestCall, Schedule]]:
    return [(made, *item) for made in GRAPHS for item in all_scheduled(made, backend)]


def scheduled(graph: Graph, backend: str) -> tuple[NestCall, Schedule]:
    (found,) = all_scheduled(graph, backend)
    return found


def sizes_of(call: NestCall) -> dict[str, int]:
    return {
        loop.axis: int(call.args[loop.extent.value])
        for loop in (*call.nest.axes, *call.nest.reduce)
    }


@pytest.mark.parametrize("backend", TARGETS)
def test_schedules_are_legal(backend: str) -> None:
    """Each loop is there once, neighbours on the vector axis are read and stored as neighbours
    (fragments read whole texels along one of two loops), and what is promised of sizes holds.
    """
    for made, call, schedule in of_all_graphs(backend):
        check(call, schedule, TARGETS[backend], {*made.inputs})


def check(call: NestCall, schedule: Schedule, target: Target, inputs: set[str]) -> None:
    nest, sizes = call.nest, sizes_of(call)
    parallel = [loop.axis for loop in nest.axes]
    assert sorted(schedule.order) == sorted(parallel)
    assert schedule.lanes & (schedule.lanes - 1) == 0
    assert {schedule.tile, schedule.split} <= {None, *parallel}
    assert schedule.tile is None or schedule.tile != schedule.vector
    assert schedule.count == 1 or schedule.tile is not None
    if schedule.vector is None:
        assert (schedule.lanes, schedule.panels) == (1, ())
        return
    assert schedule.lanes > 1
    panels = {panel.source: panel for panel in schedule.panels}
    for expr in nest.loads:
        index, source = load_index(expr), expr.value[0]
        if source in panels:
            assert call.inputs[source].name not in inputs
            assert sorted((panels[source].dim, *panels[source].order)) == list(range(len(index)))
            assert panels[source].block == schedule.lanes
        elif target.render_targets:
            along = filter(None, (schedule.vector, schedule.unroll))
            assert source not in schedule.vectors or any(contiguous(index, name) for name in along)
        elif any(depends(item, schedule.vector) for item in index):
            assert contiguous(index, schedule.vector)
    for output in nest.outputs if schedule.vector in parallel else ():
        assert all(contiguous(index, schedule.vector) for _, index in output.stores)
    assert not schedule.whole or sizes[schedule.vector] % target.width == 0
    assert not schedule.full or sizes[schedule.vector] % schedule.lanes == 0


@pytest.mark.parametrize("backend", MACHINES)
def test_no_schedule_is_expected_to_be_slower_than_one_point_at_a_time(backend: str) -> None:
    """But for what the last vector and the last tile have beyond the ends of their axes."""
    for _, call, schedule in of_all_graphs(backend):
        taken, sizes = (
            {schedule.vector: schedule.lanes, schedule.tile: schedule.count},
            sizes_of(call),
        )
        beyond = prod(
            -(-sizes[name] // count) * count / sizes[name]
            for name, count in taken.items()
            if name is not None
        )
        one = Schedule(tuple(loop.axis for loop in call.nest.axes))
        times = [milliseconds(call, item, MACHINES[backend]) for item in (schedule, one)]
        assert times[0] <= times[1] * beyond, call.nest


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu"])
def test_products_leave_few_lanes_idle(backend: str) -> None:
    """A fifth of them at most behind the end of the axis, or none of the backend's shapes leaves
    fewer.
    """
    least = min(lanes for lanes, _ in TARGETS[backend].shapes)
    for size in range(2, 70, 3):
        call, schedule = scheduled(product_of(9, 31, size), backend)
        assert sizes_of(call)[schedule.vector or ""] == size
        idle = {lanes: 1 - size / (-(-size // lanes) * lanes) for lanes in (schedule.lanes, least)}
        assert idle[schedule.lanes] <= max(idle[least], 0.2), (size, schedule)


@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.parametrize("columns", [8, 64, 300])
def test_lanes_lie_along_what_is_neighbouring_in_memory(columns: int, backend: str) -> None:
    """Rows are summed along themselves, where they are long enough to fold several sums; columns
    beside each other.
    """
    for made, kind in (
        (row_sums, "reduce"),
        (rows_by_rows, "reduce"),
        (column_sums, "axes"),
        (product_of, "axes"),
    ):
        call, schedule = scheduled(
            made(50, columns) if made in (row_sums, column_sums) else made(50, columns, 24), backend
        )
        assert schedule.vector in {loop.axis for loop in getattr(call.nest, kind)}, (
            made.__name__,
            backend,
        )
    assert scheduled(row_sums(50, 5), backend)[1].lanes == 1


def test_weights_beyond_caches_are_streamed_for_few_rows_alone() -> None:
    """The fewer rows, the less there is to compute while weights are read; what caches hold is
    never streamed.
    """
    streamed = TARGETS["wasm"].streamed
    assert streamed is not None

    def streams(rows: int, columns: int) -> bool:
        _, schedule = scheduled(product_of(rows, 256, columns), "wasm")
        return (schedule.lanes, schedule.count) == streamed

    found = [streams(rows, 512) for rows in range(2, 129, 6)]
    assert found == sorted(found, reverse=True)
    assert found[0]
    assert not found[-1]
    assert not any(streams(rows, 496) for rows in range(2, 129, 18))


def test_few_points_of_long_reductions_are_shared_by_a_workgroup() -> None:
    """The fewer points and the longer their reductions, the rather; on webgpu alone."""
    lengths = [scheduled(row_sums(50, columns), "webgpu")[1].group for columns in range(4, 400, 36)]
    points = [
        scheduled(row_sums(rows, 300), "webgpu")[1].group for rows in (1, 50, 500, 5000, 50_000)
    ]
    group = TARGETS["webgpu"].group
    assert lengths == sorted(lengths)
    assert points == sorted(points, reverse=True)
    assert set(lengths) == set(points) == {1, group}
    assert all(
        scheduled(row_sums(50, 300), backend)[1].group == 1
        for backend in TARGETS
        if backend != "webgpu"
    )


def test_an_example_of_loops_and_one_of_invocations() -> None:
    _, loops = scheduled(convolution(9, 12, 72), "wasm")
    assert (
        loops.lanes,
        loops.vector,
        loops.whole,
        loops.tile,
        loops.count,
        loops.panels[0].block,
    ) == (8, "a1", True, "a0", 6, 8)
    _, invocation = scheduled(convolution(9, 12, 72), "webgpu")
    assert (
        invocation.lanes,
        invocation.vector,
        invocation.count,
        invocation.aligned,
        invocation.unroll,
    ) == (4, "a2", 4, True, "r1")


@pytest.mark.parametrize(
    ("rows", "features", "loop"),
    [(60, 2048, "a1"), (600, 64, "a0"), (6000, 1024, "a0")],
    ids=["weights", "cached weights", "rows"],
)
def test_processors_share_what_is_most_to_read(rows, features, loop):
    graph = parse(
        f"graph g\ninput x: float32[{rows},256]\nslot w: float32[256,{features}]\ny:"
        f" float32[{rows},{features}] = MatMul(x, w)\noutput out = y\n"
    )
    (choice,) = plan(graph, TARGETS["wasm"]).choices
    assert choice.schedule.split == loop
