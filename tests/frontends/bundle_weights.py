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


def products(program: Program) -> list[tuple[str, str]]:
    """For each product with a constant matrix, the dtype of the matrix in memory, and the template
    or the tile of its loops.
    """
    found = []
    for call in program.calls:
        constants = [
            program.buffers[view.name].storage
            for view in call.inputs
            if view.name in program.constants and sum(size != 1 for size in view.type.shape) > 1
        ]
        if call.nest.reduce and constants:
            schedule = call.schedule
            is_template = isinstance(schedule, TemplateSchedule)
            kernel = schedule.template if is_template else str(schedule.tile)
            found += [(dtype, kernel) for dtype in constants]
    return found
