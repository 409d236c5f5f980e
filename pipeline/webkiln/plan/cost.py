"""The cost model: floating-point operations, bytes moved, and the expected time of a schedule."""

from dataclasses import dataclass
from math import prod

from webkiln.ir.solve import nominal_size
from webkiln.ir.types import itemsize
from webkiln.nest.expr import FLOAT, Expr, walk
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor under one backend: 10^9 operations and bytes per second, milliseconds of overhead
    per launch, lanes of a vector, and vector registers.
    """

    gflops: float
    gigabytes: float
    launch: float
    width: int
    registers: int


MACHINES = {
    "wasm": Machine(gflops=58.6, gigabytes=20.0, launch=0.0005, width=4, registers=16),
    "js": Machine(gflops=4.4, gigabytes=8.0, launch=0.0005, width=1, registers=16),
    "webgpu": Machine(gflops=9.5, gigabytes=4.0, launch=0.016, width=4, registers=64),
}
"""One core of a server processor in Chromium 156, measured with a loop of fused multiply-adds, a
sum over more than the caches contain, and an empty launch. For webgpu, two such cores that emulate
a GPU (SwiftShader): for a real GPU, the order of the estimates is meaningful at best.
"""
INDEPENDENT_SUMS = 8
"""The number of independent sums that hides the latency of a multiply-add: 4 cycles on 2 units. 1,
2 and 4 vectors reached 0.27, 0.51 and 0.92 of the peak.
"""
LOAD_COST = 0.08
"""The cost of loading a factor, as a share of a multiply-add."""
SPILL_SLOWDOWN = 0.5
"""The share of the speed that remains when accumulators spill to memory."""
ELEMENTWISE_SHARE = 0.25
"""The share of the peak that operations reach outside contractions."""


def flops(call: NestCall) -> int:
    """Float operations: those of the bodies and one per accumulation at every point, and those of
    the epilogue at every output element.
    """
    nest = call.nest
    outer = prod(call.args[loop.extent.value] for loop in nest.axes)
    inner = prod(call.args[loop.extent.value] for loop in nest.reduce)
    bodies = _operations([item.body for item in nest.accumulators]) + len(nest.accumulators)
    return outer * (
        inner * bodies * bool(nest.accumulators)
        + _operations([value for out in nest.outputs for value, _ in out.stores])
    )


def _operations(roots: list[Expr]) -> int:
    skipped = ("load", "const", "acc", "accindex", "arg", "axis", "select", "cast", "bitcast")
    return sum(expr.type == FLOAT and expr.op not in skipped for expr in walk(roots))


def moved(call: NestCall) -> int:
    """Bytes of all operands, each counted once."""
    return sum(view.type.size * itemsize(view.type.dtype) for view in {*call.inputs, *call.outputs})


def milliseconds(call: NestCall, schedule: Schedule, machine: Machine) -> float:
    """The time of a launch: the maximum of computing and reading, plus the overhead. Symbolic sizes
    count at nominal values.
    """
    computing = nominal_size(flops(call)) / (
        machine.gflops * 1e6 * efficiency(call, schedule, machine)
    )
    return round(
        machine.launch + max(computing, nominal_size(moved(call)) / (machine.gigabytes * 1e6)), 5
    )


def efficiency(call: NestCall, schedule: Schedule, machine: Machine) -> float:
    """The share of the peak that a call should reach with its tile. It depends on the number of
    independent sums, the loads for them, and the utilisation of the last tiles.
    """
    if not call.nest.is_contraction:
        return ELEMENTWISE_SHARE
    tile = schedule.tile
    vectors = max(1, tile.lanes // machine.width)
    sums = tile.count * vectors
    share = min(1.0, sums / INDEPENDENT_SUMS) / (1 + LOAD_COST * (tile.count + vectors) / sums)
    if sums + vectors + 1 > machine.registers:
        share *= SPILL_SLOWDOWN
    sizes = {
        loop.axis: nominal_size(call.args[loop.extent.value])
        for loop in (*call.nest.axes, *call.nest.reduce)
    }
    for name, count in ((tile.vector, tile.lanes), (tile.axis, tile.count)):
        if name is not None and sizes[name]:
            share *= sizes[name] / (-(-sizes[name] // count) * count)
    return share
