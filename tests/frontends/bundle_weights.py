"""What a bundle contains of the weights of a graph, and how programs read them."""

from math import prod

import numpy as np

from tests.passes.running import optimised
from webkiln.backends.table import REGISTRY
from webkiln.ir.graph import Graph
from webkiln.nest.program import Program
from webkiln.nest.schedule import TemplateSchedule
from webkiln.weights.shards import stored


def bundle_weights(graph: Graph) -> dict[str, tuple[str, int]]:
    """Name -> dtype and bytes of each weight that a bundle of the optimised graph contains."""
    return {
        item.name: (item.dtype, prod(item.shape) * np.dtype(item.dtype).itemsize)
        for item in stored(optimised(graph))
    }


def bundle_bytes(graph: Graph) -> int:
    return sum(size for _, size in bundle_weights(graph).values())


def wasm_program(graph: Graph) -> Program:
    """The program of the optimised graph."""
    return REGISTRY["wasm"].plan(optimised(graph))


def matrices(program: Program) -> dict[str, str]:
    """Name -> dtype in memory of each constant that has at least two dimensions above 1."""
    return {
        name: program.buffers[name].storage
        for name in program.constants
        if sum(size != 1 for size in program.buffers[name].type.shape) > 1
    }


def kernels_of_matrices(program: Program) -> list[str]:
    """For each product with a constant matrix, its template, or the tile of its loops."""
    constants = matrices(program)
    return [
        call.schedule.template
        if isinstance(call.schedule, TemplateSchedule)
        else str(call.schedule.tile)
        for call in program.calls
        if call.nest.reduce and any(view.name in constants for view in call.inputs)
    ]
