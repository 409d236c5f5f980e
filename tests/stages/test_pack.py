"""The pack stage writes shards of the used weights in the requested encoding, with the values of
the constant subgraph, and rejects blobs of the wrong size.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.runtime import fake_bundle
from tests.weights.encoded import decoded
from webkiln import canonical
from webkiln.errors import SourceError
from webkiln.ir.serial import to_json
from webkiln.ops.table import parse

stage = fake_bundle.stage("pack")
GRAPH = """graph g
input x: float32[1,3]
slot w: float32[3,5]
slot scale: float32[5]
slot b: float32[5]
slot whole: int32[1,5]
k: float32[3,5] = Mul(w, scale)
m: float32[1,5] = MatMul(x, k)
y: float32[1,5] = Add(m, b)
z: int32[1,5] = Neg(whole)
n: int32[1,5] = Add(z, whole)
output out = y
output also = whole
"""
VALUES = {
    "w": np.linspace(-2, 1, 15, dtype=np.float32).reshape(3, 5),
    "scale": np.array([1, -2, 0.5, 30, 4], np.float32),
    "b": np.array([1e6, -1, 2049, 3, 1e-9], np.float32),
    "whole": np.array([[1, -2, 3, 1 << 30, 0]], np.int32),
}


def packed(folder: Path, encoding: str, **blobs: bytes) -> tuple[dict[str, object], bytes]:
    """The output of the stage, and the bytes of the only shard. `blobs` replace the bytes of
    weights.
    """
    (folder / "weights").mkdir(parents=True)
    slots = {}
    for name, value in VALUES.items():
        data = blobs.get(name, value.tobytes())
        slots[name] = {
            "digest": canonical.digest(data),
            "dtype": str(value.dtype),
            "shape": list(value.shape),
        }
        (folder / "weights" / canonical.digest(data)).write_bytes(data)
    canonical.write(folder / "graph.json", to_json(parse(GRAPH)))
    canonical.write(folder / "weights.json", {"slots": slots, "stored_bytes": 10_000})
    inputs = {
        name: folder / name.rstrip("/") for name in ("graph.json", "weights.json", "weights/")
    }
    outputs = {name: folder / name.rstrip("/") for name in ("shards.json", "shards/")}
    stage.run(inputs, outputs, {"encoding": encoding})
    (shard,) = (folder / "shards").iterdir()
    listed = canonical.read(folder / "shards.json")
    (entry,) = listed["shards"]
    data = shard.read_bytes()
    assert entry == {"file": shard.name, "bytes": len(data), "sha256": canonical.digest(data)}
    assert listed["encoding"] == encoding
    return listed, data


@pytest.mark.parametrize(
    ("encoding", "storage", "header"),
    [
        ("float32", "f4", 0),
        ("float16", "f2", 0),
        ("bfloat16", "bfloat16", 0),
        ("int8", "i1", 20),
        ("eightbit", "u1", 4),
    ],
)
def test_a_shard_contains_encoded_weights(
    encoding: str, storage: str, header: int, tmp_path: Path
) -> None:
    """The kernel as computed by the constant subgraph, in the encoding; the bias and integers
    unencoded.
    """
    _, data = packed(tmp_path, encoding)
    size = header + 15 * np.dtype(storage).itemsize
    start = -(-size // 4) * 4
    assert len(data) == start + 20 + 20
    rest = data[start:]
    unencoded = {rest[:20], rest[20:]}
    assert unencoded == {VALUES["b"].tobytes(), VALUES["whole"].tobytes()}
    kernel = VALUES["w"] * VALUES["scale"]
    elements = np.frombuffer(data, storage, 15, header).reshape(3, 5)
    if encoding == "int8":
        np.testing.assert_allclose(
            elements * np.frombuffer(data, np.float32, 5), decoded(kernel, "int8", 1), rtol=1e-6
        )
    elif encoding != "eightbit":
        np.testing.assert_array_equal(elements, kernel.astype(storage))
    else:
        assert np.frombuffer(data, np.float32, 1)[0] == np.max(np.abs(kernel))


@pytest.mark.parametrize("name", ["w", "b"])
def test_a_blob_of_another_size_is_refused(name: str, tmp_path: Path) -> None:
    for number, data in enumerate((VALUES[name].tobytes()[:-4], VALUES[name].tobytes() + bytes(4))):
        with pytest.raises(SourceError, match=name):
            packed(tmp_path / str(number), "float32", **{name: data})
