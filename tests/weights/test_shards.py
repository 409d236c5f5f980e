"""Shards have full rows, bounded size and every element once. Encodings follow their definition and
error bounds.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webkiln.ops.table import parse
from webkiln.weights.encoding import BY_NAME, Stored, choose, eightbit_magnitudes
from webkiln.weights.shards import pieces, stored, write

SHAPES = st.lists(st.lists(st.integers(1, 9), min_size=0, max_size=3).map(tuple), max_size=8)


@given(SHAPES, st.sampled_from(list(BY_NAME)), st.integers(200, 2000))
def test_pieces_cover_every_row_once_and_fit(shapes, encoding, limit):
    weights = [
        Stored(f"w{n}", "float32", shape, len(shape) - 1 if len(shape) > 1 else None)
        for n, shape in enumerate(shapes)
    ]
    layout = pieces(weights, encoding, limit)
    for weight in weights:
        rows = [
            row
            for piece in layout
            if piece.weight is weight
            for row in range(piece.start, piece.start + piece.rows)
        ]
        assert rows == list(range(weight.shape[0] if weight.shape else 1))
    ends = {}
    for piece in layout:
        assert piece.offset >= ends.get(piece.shard, 0)
        assert piece.offset % 4 == 0
        ends[piece.shard] = piece.offset + piece.bytes
        single = BY_NAME[piece.encoding].bytes(piece.weight, 1)
        assert ends[piece.shard] <= max(limit, single)
    values = {
        w.name: np.arange(int(np.prod(w.shape)), dtype=np.float32).reshape(w.shape) for w in weights
    }
    assert [len(shard) for shard in write(layout, values.__getitem__)] == [
        ends[shard] for shard in sorted(ends)
    ]


def test_the_axis_of_output_channels_by_operator():
    graph = parse("""graph g
input x: float32[1,4,4,2]
input numbers: int32[1,3]
slot k: float32[3,3,2,5]
slot m: float32[5,7]
slot e: float32[7,6,2]
slot t: float32[9,4]
a: float32[1,2,2,5] = Conv(x, k) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
b: float32[1,2,2,7] = MatMul(a, m)
c: float32[1,2,2,6] = Einsum(b, e) {"equation":"nhwc,cfo->nhwf"}
d: float32[1,3,4] = Gather(t, numbers) {"axis":0}
output c = c
output d = d
""")  # noqa: E501
    assert {item.name: item.channel_axis for item in stored(graph)} == {
        "k": 3,
        "m": 1,
        "e": 1,
        "t": 1,
    }


def test_a_weight_with_leading_unit_dimensions_is_split():
    graph = parse("""graph g
input x: float32[1,2,2,40]
slot k: float32[1,1,40,50]
y: float32[1,2,2,50] = Conv(x, k) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
output y = y
""")  # noqa: E501
    weights = stored(graph)
    assert weights == (Stored("k", "float32", (40, 50), 1),)
    assert max(piece.bytes for piece in pieces(weights, "int8", 1000)) <= 1000


def test_a_large_weight_is_split_across_shards():
    weight = Stored("w", "float32", (100, 50), 1)
    layout = pieces([weight], "float32", 4096)
    assert {piece.shard for piece in layout} == set(range(5))
    data = np.random.default_rng(0).standard_normal((100, 50)).astype(np.float32)
    joined = b"".join(write(layout, {"w": data}.__getitem__))
    assert joined == data.tobytes()


def test_pieces_of_float16_have_even_rows():
    """Two rows may share words of memory."""
    weights = [Stored("a", "float32", (3, 7)), Stored("w", "float32", (21, 10))]
    layout = pieces(weights, "float16", 142)
    assert [(piece.start, piece.rows) for piece in layout if piece.weight.name == "w"] == [
        (0, 4),
        (4, 6),
        (10, 6),
        (16, 5),
    ]


def test_small_and_integer_weights_are_not_encoded():
    assert choose(Stored("b", "float32", (64,)), "int8") == "raw"
    assert choose(Stored("i", "int32", (4, 4), 1), "float16") == "raw"
    assert choose(Stored("e", "float32", (4, 4)), "int8") == "raw"
    assert choose(Stored("w", "float32", (4, 4), 1), "int8") == "int8"


def test_int8_is_symmetric_per_channel():
    weight = Stored("w", "float32", (2, 3), 1)
    scale, codes = BY_NAME["int8"].encode(
        weight, np.array([[1.0, -2.0, 0.0], [0.5, 4.0, 0.0]], np.float32)
    )
    np.testing.assert_allclose(scale, [1 / 127, 4 / 127, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(codes, [[127, -64, 0], [64, 127, 0]])


def test_eightbit_has_the_magnitudes_of_webdnn():
    table = eightbit_magnitudes()
    assert table.shape == (128,)
    assert np.all(np.diff(table) > 0)
    np.testing.assert_allclose(
        table[:8],
        [0, 2.75e-6, 7.25e-6, 1.875e-5, 3.625e-5, 5.875e-5, 8.625e-5, 1.4375e-4],
        rtol=1e-6,
    )
    assert table[127] == 1


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=50))
def test_eightbit_rounds_to_the_nearest_magnitude(values):
    data = np.array(values, np.float32).reshape(1, -1)
    scale, codes = BY_NAME["eightbit"].encode(Stored("w", "float32", data.shape, 1), data)
    decoded = np.where(codes > 127, -1, 1) * eightbit_magnitudes()[codes & 127] * scale[0]
    nearest = (
        np.min(np.abs(np.abs(data)[..., None] / scale[0] - eightbit_magnitudes()), axis=-1)
        * scale[0]
    )
    np.testing.assert_allclose(np.abs(decoded - data), nearest, atol=1e-7)


@pytest.mark.parametrize("encoding", BY_NAME)
def test_encodings_have_the_declared_size(encoding):
    weight = Stored("w", "float32", (16, 8), 1)
    header, elements = BY_NAME[choose(weight, encoding)].encode(
        weight, np.ones((16, 8), np.float32)
    )
    assert header.nbytes + elements.nbytes == BY_NAME[choose(weight, encoding)].bytes(weight, 16)
