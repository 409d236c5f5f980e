"""Weights decoded by a backend, split into pieces of a few rows, in every encoding and for every
axis of output channels.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.weights.encoded import decoded
from webkiln.ops.table import parse
from webkiln.weights import shards
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.shards import pieces, stored

GRAPH = """
graph g
input x: float32[3,40]
input image: float32[1,20,1,2]
input numbers: int32[5]
slot rows: float32[64,40]
slot columns: float32[40,50]
slot kernel: float32[60,20,1,1]
slot table: float32[30,12]
slot vector: float32[50]
a: float32[3,64] = MatMul(x, rows) {"transpose_b":true}
b: float32[3,50] = MatMul(x, columns)
c: float32[3,50] = Add(b, vector)
d: float32[1,60,1,2] = Conv(image, kernel) {"dilation":[1,1],"groups":1,"out_dims":[0,1,2,3],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[0,1,2,3],"x_dims":[0,1,2,3]}
e: float32[5,12] = Gather(table, numbers) {"axis":0}
output a = a
output c = c
output d = d
output e = e
"""  # noqa: E501
AXES = {"rows": 0, "columns": 1, "kernel": 0, "table": 1}
"""The axis of the output channels of each weight."""
PIECE = 2000


def weights_of_many_magnitudes() -> dict[str, np.ndarray]:
    """The channels of a weight differ by a factor of up to 1000, so that the scale of one is wrong
    for all others.
    """
    rng = np.random.default_rng(5)
    weights = {}
    for name, shape in (
        ("rows", (64, 40)),
        ("columns", (40, 50)),
        ("kernel", (60, 20, 1, 1)),
        ("table", (30, 12)),
    ):
        axis = AXES[name]
        sizes = (10.0 ** rng.uniform(-1.5, 1.5, shape[axis])).reshape(
            [-1 if d == axis else 1 for d in range(len(shape))]
        )
        weights[name] = (rng.uniform(-1, 1, shape) * sizes).astype(np.float32)
    weights["vector"] = rng.uniform(-1, 1, 50).astype(np.float32) * 100003
    return weights


@pytest.mark.parametrize("backend", ["js", "wasm"])
@pytest.mark.parametrize("encoding", BY_NAME)
def test_pieces_are_decoded(
    encoding: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shards.pieces.__defaults__ == (shards.SHARD_BYTES,)
    monkeypatch.setattr(shards.pieces, "__defaults__", (PIECE,))
    graph = parse(GRAPH.lstrip())
    layout = pieces(stored(graph), encoding)
    assert {piece.weight.name for piece in layout if piece.start} >= {"rows", "columns", "kernel"}
    weights = weights_of_many_magnitudes()
    rng = np.random.default_rng(6)
    x, image = (
        rng.uniform(-1, 1, (3, 40)).astype(np.float32),
        rng.uniform(-1, 1, (1, 20, 1, 2)).astype(np.float32),
    )
    numbers = np.array([29, 0, 17, 5, 17], np.int32)
    (results,) = run(
        [Job(graph, {"x": x, "image": image, "numbers": numbers}, weights, encoding)],
        backend,
        tmp_path,
    )
    decoded_weights = {
        name: decoded(weights[name], encoding, axis).astype(np.float64)
        for name, axis in AXES.items()
    }
    expected = {
        "a": x @ decoded_weights["rows"].T,
        "c": x @ decoded_weights["columns"] + weights["vector"],
        "d": np.einsum("oi,nihw->nohw", decoded_weights["kernel"][:, :, 0, 0], image),
        "e": decoded_weights["table"][numbers],
    }
    limits = {
        "a": np.abs(x) @ np.abs(decoded_weights["rows"].T),
        "c": np.abs(x) @ np.abs(decoded_weights["columns"]) + np.abs(weights["vector"]),
        "d": np.einsum(
            "oi,nihw->nohw", np.abs(decoded_weights["kernel"][:, :, 0, 0]), np.abs(image)
        ),
        "e": np.abs(decoded_weights["table"][numbers]),
    }
    for name, value in expected.items():
        assert np.isfinite(results[name]).all(), name
        assert np.all(np.abs(results[name] - value) <= 2e-6 * limits[name]), name


def test_vectors_are_not_encoded_as_float16(tmp_path: Path) -> None:
    """100000 would be infinite as float16, and 2049 would be 2048."""
    graph = parse(
        "graph g\n"
        "input x: float32[2,3]\n"
        "slot b: float32[3]\n"
        "y: float32[2,3] = Add(x, b)\n"
        "output y = y\n"
    )
    job = Job(
        graph,
        {"x": np.zeros((2, 3), np.float32)},
        {"b": np.array([100000, 2049, 1e-9], np.float32)},
        "float16",
    )
    (results,) = run([job], "js", tmp_path)
    np.testing.assert_array_equal(results["y"], np.array([[100000, 2049, 1e-9]] * 2, np.float32))
