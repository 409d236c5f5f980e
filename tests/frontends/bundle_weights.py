"""What a bundle contains of the weights of a graph."""

from math import prod

import numpy as np

from tests.passes.running import optimised
from webkiln.ir.graph import Graph
from webkiln.weights.shards import stored


def bundle_weights(graph: Graph) -> dict[str, tuple[str, int]]:
    """Name -> dtype and bytes of each weight that a bundle of the optimised graph contains."""
    return {
        item.name: (item.dtype, prod(item.shape) * np.dtype(item.dtype).itemsize)
        for item in stored(optimised(graph))
    }


def bundle_bytes(graph: Graph) -> int:
    return sum(size for _, size in bundle_weights(graph).values())
