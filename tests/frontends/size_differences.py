"""Comparison of models of float32[batch, length, 4], of open sizes, with their frameworks."""

from collections.abc import Callable
from functools import partial

import numpy as np

from webkiln.errors import WebkilnError
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

SIZES = ((2, 3), (1, 7), (5, 4), (3, 11))
TOLERANCE = 1e-6


def size_differences(
    name: str,
    graph: Graph,
    expected: Callable[[np.ndarray], np.ndarray],
    tolerance: float = TOLERANCE,
) -> list[str]:
    """How the single output of a graph differs from `expected`, by the shape of the input."""
    result = []
    (key,) = graph.inputs
    are_equal = partial(np.allclose, atol=tolerance) if tolerance else np.array_equal
    for batch, length in SIZES:
        x = np.random.default_rng(0).standard_normal((batch, length, 4)).astype(np.float32)
        y = expected(x)
        try:
            (actual,) = run_graph(graph, {key: x})[0].values()
        except WebkilnError as error:
            return [f"{name} {x.shape}: {error}"]
        if actual.shape != y.shape or not are_equal(actual, y):
            result.append(f"{name} {x.shape}: {actual.shape}, not {y.shape}")
    return result
