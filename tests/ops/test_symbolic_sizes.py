"""Compositions of operators over tensors with symbolic sizes: at each size, they compute the same
as with numbers.
"""

from collections.abc import Callable

import numpy as np
import pytest

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.evaluate import run_graph
from webkiln.ops.functional import sample, segments, shapes, warp
from webkiln.ops.table import RULES

Build = Callable[[GraphBuilder, Tensor, Tensor], list[Tensor]]


def results(build: Build, size: Size, x: np.ndarray) -> list[np.ndarray]:
    """The results of `build` for x [size, 3] and the tensor 1."""
    b = GraphBuilder("g", RULES)
    one = b.input("one", "float32", ())
    outputs = build(b, b.input("x", "float32", (size, 3)), one)
    graph = b.graph({f"y{number}": y for number, y in enumerate(outputs)})
    values, _ = run_graph(graph, {"x": x, "one": np.float32(1)})
    return list(values.values())


BUILDERS: dict[str, Build] = {
    "a tensor times a size": lambda b, x, one: [x * x.shape[0], one / x.shape[0]],
    "affine_grid": lambda b, x, one: [
        sample.affine_grid(
            b,
            shapes.reshape(b, b.constant(np.eye(2, 3, dtype="float32")), (1, 2, 3)),
            (x.shape[0], 3),
            corners=corners,
        )
        for corners in (False, True)
    ],
    "in_top_k": lambda b, x, one: [
        segments.in_top_k(b, b.constant([2, 0, 9], "int32"), shapes.transpose(b, x), 1)
    ],
    "reshape to one size": lambda b, x, one: [shapes.reshape(b, x, x.type.size)],
    "roll": lambda b, x, one: [shapes.roll(b, x, 1, 0), shapes.roll(b, x, x.shape[0] - 1, 0)],
    "split at positions": lambda b, x, one: shapes.split(b, x, [2, x.shape[0] - 1]),
    "scale_and_translate": lambda b, x, one: [
        warp.scale_and_translate(
            b, x, (6,), np.float32([2]), np.float32([0.5]), spatial_dims=(0,), method="linear"
        )
    ],
}


@pytest.mark.parametrize("name", BUILDERS)
def test_symbolic_sizes_compute_the_same_as_numbers(name: str) -> None:
    x = np.random.default_rng(0).standard_normal((5, 3)).astype("float32")
    expected = results(BUILDERS[name], 5, x)
    got = results(BUILDERS[name], symbols.placeholder("T"), x)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_what_needs_a_number_rejects_a_symbolic_size() -> None:
    x = np.zeros((5, 3), "float32")
    with pytest.raises(ShapeError, match="the size of the split axis is T, which is not known"):
        results(lambda b, x, one: shapes.array_split(b, x, 2), symbols.placeholder("T"), x)
