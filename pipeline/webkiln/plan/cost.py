"""What a call costs: floating-point operations, bytes moved, and the time that a schedule should
take.
"""

from dataclasses import dataclass
from math import prod

from webkiln.ir.solve import nominal_size
from webkiln.ir.types import itemsize
from webkiln.nest.expr import FLOAT, Expr, walk
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import NestCall


@dataclass(frozen=True, slots=True)
class Machine:
    """What the model knows of a processor under one backend: 10^9 operations and bytes a second,
    milliseconds to begin a launch, lanes of a vector, and vectors in registers.
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
"""One core of a server processor in Chromium 156: a loop of fused multiply-adds, a sum over more
than
the caches hold, an empty launch. For webgpu, two such cores that stand in for a GPU (SwiftShader):
what is said of a real one is right in its order at most.
"""
UNDER_WAY = 8
"""So many sums hide what a multiply-add takes: 4 turns of 2 units. 1, 2 and 4 vectors reached 0.27,
0.51 and 0.92 of the peak.
"""
LOADING = 0.08
"""The share of a multiply-add that the load of a factor costs."""
SPILLED = 0.5
"""The share of the speed that is left where sums are kept in memory."""
MAPPED = 0.25
"""The share of the peak that operations reach outside contractions."""


def flops(call: NestCall) -> int:
    """Float operations of the bodies (and one per accumulation) at every point, of the epilogue at
    every output element.
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
    """The time of a launch: what takes longer of computing and reading, and its beginning. Open
    sizes count as they are sampled.
    """
    computing = nominal_size(flops(call)) / (
        machine.gflops * 1e6 * reached(call, schedule, machine)
    )
    return round(
        machine.launch + max(computing, nominal_size(moved(call)) / (machine.gigabytes * 1e6)), 5
    )


def reached(call: NestCall, schedule: Schedule, machine: Machine) -> float:
    """The share of the peak that a call should reach by its tile: how many sums are under way, what
    is
    loaded for them, and how much of the last tiles is used.
    """
    if not call.nest.is_contraction:
        return MAPPED
    vectors = max(1, schedule.lanes // machine.width)
    sums = schedule.count * vectors
    share = min(1.0, sums / UNDER_WAY) / (1 + LOADING * (schedule.count + vectors) / sums)
    if sums + vectors + 1 > machine.registers:
        share *= SPILLED
    sizes = {
        loop.axis: nominal_size(call.args[loop.extent.value])
        for loop in (*call.nest.axes, *call.nest.reduce)
    }
    for name, count in ((schedule.vector, schedule.lanes), (schedule.tile, schedule.count)):
        if name is not None and sizes[name]:
            share *= sizes[name] / (-(-sizes[name] // count) * count)
    return share
