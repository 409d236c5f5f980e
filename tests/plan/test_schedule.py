"""Properties of the schedules of small graphs: the vector axis and the tile."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

import pytest

from tests.programs import with_target
from webkiln.backends.table import REGISTRY
from webkiln.ir.graph import Graph
from webkiln.nest.affine import depends
from webkiln.nest.nest import load_index
from webkiln.nest.schedule import (
    FragmentSchedule,
    InvocationSchedule,
    LoopSchedule,
    Schedule,
    Tile,
)
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.ops.table import parse
from webkiln.plan.cost import expected, moved
from webkiln.plan.schedule import plain
from webkiln.plan.vectors import contiguous

CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],'
    '"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)


def graph(*lines: str) -> Graph:
    return parse("\n".join(["graph g", *lines, "output out = y", ""]))


def product_of(rows: int, inner: int, columns: int) -> Graph:
    """A product with weights, which may be repacked."""
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
        build(*sizes)
        for build in (row_sums, column_sums, map_of)
        for sizes in product((1, 50), (1, 5, 64, 300))
    ),
]


def schedules(graph: Graph, backend: str) -> Iterator[tuple[NestCall, Schedule]]:
    """Those of loops, not of templates."""
    for call in with_target(REGISTRY[backend], templates=()).plan(graph).calls:
        yield call, call.schedule


@cache
def schedules_of_all_graphs(backend: str) -> list[tuple[Graph, NestCall, Schedule]]:
    return [(graph, *item) for graph in GRAPHS for item in schedules(graph, backend)]


def schedule_of(graph: Graph, backend: str) -> tuple[NestCall, Schedule]:
    *_, result = schedules(graph, backend)
    return result


def group_of(graph: Graph) -> int:
    _, schedule = schedule_of(graph, "webgpu")
    assert isinstance(schedule, InvocationSchedule)
    return schedule.workgroup.size if schedule.workgroup else 1


def sizes_of(call: NestCall) -> dict[str, int]:
    return {
        loop.axis: int(call.args[loop.extent.value])
        for loop in (*call.nest.axes, *call.nest.reduce)
    }


@pytest.mark.parametrize("backend", REGISTRY)
def test_schedules_are_legal(backend: str) -> None:
    """Each loop occurs once, neighbours on the vector axis are loaded and stored contiguously
    (fragments read full texels along one of two loops), and the properties that schedules claim of
    sizes hold.
    """
    for graph, call, schedule in schedules_of_all_graphs(backend):
        check(call, schedule, REGISTRY[backend].target, {*graph.inputs})


def check(call: NestCall, schedule: Schedule, target: Target, inputs: set[str]) -> None:
    nest, sizes = call.nest, sizes_of(call)
    parallel = [loop.axis for loop in nest.axes]
    tile = schedule.tile
    if not isinstance(schedule, FragmentSchedule):
        assert sorted(schedule.order) == sorted(parallel)
    if isinstance(schedule, LoopSchedule):
        assert schedule.split in {None, *parallel}
    assert tile.lanes & (tile.lanes - 1) == 0
    assert tile.axis in {None, *parallel}
    assert tile.axis is None or tile.axis != tile.vector
    assert tile.count == 1 or tile.axis is not None
    if tile.vector is None:
        assert (tile.lanes, schedule.panels) == (1, ())
        return
    assert tile.lanes > 1
    panels = {panel.source: panel for panel in schedule.panels}
    for expr in nest.loads:
        index, source = load_index(expr), expr.value[0]
        if source in panels:
            assert call.inputs[source].name not in inputs
            assert sorted((panels[source].dim, *panels[source].order)) == list(range(len(index)))
            assert panels[source].block == tile.lanes
        elif isinstance(schedule, FragmentSchedule):
            along = filter(None, (tile.vector, schedule.unroll))
            assert source not in schedule.vectors or any(contiguous(index, name) for name in along)
        elif any(depends(item, tile.vector) for item in index):
            assert contiguous(index, tile.vector)
    for output in nest.outputs if tile.vector in parallel else ():
        assert all(contiguous(index, tile.vector) for _, index in output.stores)
    if isinstance(schedule, InvocationSchedule):
        assert not schedule.whole or sizes[tile.vector] % target.vectors.width == 0
    if isinstance(schedule, LoopSchedule) and schedule.remainder != "elements":
        divisor = tile.lanes if schedule.remainder == "none" else target.vectors.width
        assert sizes[tile.vector] % divisor == 0


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu"])
def test_no_schedule_is_predicted_to_be_slower_than_scalar_code(backend: str) -> None:
    """Except for the padding of the last vector and the last tile."""
    for _, call, schedule in schedules_of_all_graphs(backend):
        spans, sizes = (
            {schedule.tile.vector: schedule.tile.lanes, schedule.tile.axis: schedule.tile.count},
            sizes_of(call),
        )
        padding = prod(
            -(-sizes[name] // count) * count / sizes[name]
            for name, count in spans.items()
            if name is not None
        )
        target = REGISTRY[backend].target
        scalar = plain(call, target, "").schedule
        times = [expected(call, item, target) for item in (schedule, scalar)]
        assert times[0] <= times[1] * padding, call.nest


@pytest.mark.parametrize("backend", ["wasm", "js", "webgpu"])
def test_products_leave_few_lanes_idle(backend: str) -> None:
    """At most a fifth of the lanes are idle at the end of the axis, unless no shape of the backend
    has fewer idle ones.
    """
    smallest = min(lanes for lanes, _ in REGISTRY[backend].target.tiles.shapes)
    for size in range(2, 70, 3):
        call, schedule = schedule_of(product_of(9, 31, size), backend)
        assert sizes_of(call)[schedule.tile.vector or ""] == size
        chosen = schedule.tile.lanes
        idle = {lanes: 1 - size / (-(-size // lanes) * lanes) for lanes in (chosen, smallest)}
        assert idle[chosen] <= max(idle[smallest], 0.2), (size, schedule)


@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.parametrize("columns", [8, 64, 300])
def test_the_vector_axis_is_contiguous_in_memory(columns: int, backend: str) -> None:
    """Row sums vectorise along rows that are long enough to fold several sums, column sums across
    columns.
    """
    for build, kind in (
        (row_sums, "reduce"),
        (rows_by_rows, "reduce"),
        (column_sums, "axes"),
        (product_of, "axes"),
    ):
        call, schedule = schedule_of(
            build(50, columns) if build in (row_sums, column_sums) else build(50, columns, 24),
            backend,
        )
        assert schedule.tile.vector in {loop.axis for loop in getattr(call.nest, kind)}, (
            build.__name__,
            backend,
        )
    assert schedule_of(row_sums(50, 5), backend)[1].tile.lanes == 1


def test_weights_larger_than_caches_are_streamed_only_for_few_rows() -> None:
    """The fewer rows, the less there is to compute while weights are loaded. Cached weights are
    never streamed.
    """
    streamed = REGISTRY["wasm"].target.tiles.streamed
    assert streamed is not None

    def streams(rows: int, columns: int) -> bool:
        _, schedule = schedule_of(product_of(rows, 256, columns), "wasm")
        return (schedule.tile.lanes, schedule.tile.count) == streamed

    results = [streams(rows, 512) for rows in range(2, 129, 6)]
    assert results == sorted(results, reverse=True)
    assert results[0]
    assert not results[-1]
    assert not any(streams(rows, 496) for rows in range(2, 129, 18))


def test_workgroups_share_long_reductions_of_few_points() -> None:
    """Sharing is monotonic: more likely with fewer points and longer reductions."""
    lengths = [group_of(row_sums(50, columns)) for columns in range(4, 400, 36)]
    points = [group_of(row_sums(rows, 300)) for rows in (1, 50, 500, 5000, 50_000)]
    group = REGISTRY["webgpu"].target.runs.group
    assert lengths == sorted(lengths)
    assert points == sorted(points, reverse=True)
    assert set(lengths) == set(points) == {1, group}


def test_examples_of_a_loop_and_an_invocation_schedule() -> None:
    _, loops = schedule_of(convolution(9, 12, 72), "wasm")
    assert isinstance(loops, LoopSchedule)
    assert (loops.tile, loops.remainder) == (Tile("a1", 8, "a0", 6), "none")
    assert loops.panels[0].block == 8
    _, invocation = schedule_of(convolution(9, 12, 72), "webgpu")
    assert isinstance(invocation, InvocationSchedule)
    assert (invocation.tile.vector, invocation.tile.lanes, invocation.tile.count) == ("a2", 4, 4)
    assert (invocation.aligned, invocation.unroll) == (True, "r1")


@pytest.mark.parametrize(
    ("rows", "features", "loop"),
    [(60, 2048, "a1"), (600, 64, "a0"), (6000, 1024, "a0")],
    ids=["weights", "cached weights", "rows"],
)
def test_threads_divide_the_largest_operand(rows, features, loop):
    graph = parse(
        "graph g\n"
        f"input x: float32[{rows},256]\n"
        f"slot w: float32[256,{features}]\n"
        f"y: float32[{rows},{features}] = MatMul(x, w)\n"
        "output out = y\n"
    )
    (call,) = REGISTRY["wasm"].plan(graph).calls
    assert call.schedule.split == loop


SLICE = '{"sizes":[1,8],"starts":[3,0],"steps":[1,1]}'


@pytest.mark.parametrize(
    ("source", "elements"),
    [
        (product_of(5, 7, 9), 5 * 7 + 7 * 9 + 5 * 9),
        (graph("input x: float32[50,8]", f"y: float32[1,8] = Slice(x) {SLICE}"), 8 + 8),
        (graph("input x: float32[4,8]", "y: float32[4,8] = Mul(x, x)"), 2 * 4 * 8),
    ],
)
def test_a_slice_moves_what_is_accessed(source: Graph, elements: int) -> None:
    call, _ = schedule_of(source, "js")
    assert moved(call) == 4 * elements
