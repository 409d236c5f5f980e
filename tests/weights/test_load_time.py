"""Constants that are decoded when a model is loaded: which ones, what a bundle contains, and values
on every backend.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.backends.harness import Job, run
from webkiln.backends.table import REGISTRY
from webkiln.ops.evaluate import run_graph
from webkiln.ops.load_time import load_time_nodes
from webkiln.ops.table import parse
from webkiln.weights import shards
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.shards import pieces, stored

GRAPH = """graph g
input x: float32[3,96]
input image: float32[1,32,6,6]
input ids: int32[5]
slot tensor: int8[96,100]
slot channel: uint8[96,100]
slot channel_scales: float32[1,100]
slot channel_zeros: uint8[1,100]
slot packed: uint8[100,48]
slot packed_scales: float16[100,3]
slot packed_zeros: uint8[100,2]
slot blocks: int8[90,100]
slot block_scales: float32[3,100]
slot twos: uint8[96,25]
slot filter: int8[64,32,3,3]
slot filter_scales: float32[64,1,1,1]
slot half: uint16[96,100]
slot short: int8[96,100]
slot short_scales: float16[1,100]
slot eighths: uint8[96,100]
slot values: float32[256]
slot groups: int32[96]
slot pairs: int8[48,100]
const mask: int8[] = [15]
const four: int8[] = [4]
const sign: int8[] = [8]
const scale: float32[] = [0.01]
const eight: float32[] = [8.0]
const sixteen: uint32[] = [16]
tensor/wide: float32[96,100] = Cast(tensor) {"dtype":"float32"}
tensor/w: float32[96,100] = Mul(tensor/wide, scale)
a: float32[3,100] = MatMul(x, tensor/w)
channel/wide: int32[96,100] = Cast(channel) {"dtype":"int32"}
channel/points: int32[1,100] = Cast(channel_zeros) {"dtype":"int32"}
channel/moved: int32[96,100] = Sub(channel/wide, channel/points)
channel/real: float32[96,100] = Cast(channel/moved) {"dtype":"float32"}
channel/w: float32[96,100] = Mul(channel/real, channel_scales)
b: float32[3,100] = MatMul(x, channel/w)
packed/codes: uint8[100,96] = UnpackBits(packed) {"bits":4,"signed":false}
packed/real: float32[100,96] = Cast(packed/codes) {"dtype":"float32"}
packed/four: uint8[100,4] = UnpackBits(packed_zeros) {"bits":4,"signed":false}
packed/three: uint8[100,3] = Slice(packed/four) {"sizes":[100,3],"starts":[0,0],"steps":[1,1]}
packed/points: float32[100,3] = Cast(packed/three) {"dtype":"float32"}
packed/zeros: float32[100,96] = Repeat(packed/points) {"axis":1,"size":96,"times":32}
packed/moved: float32[100,96] = Sub(packed/real, packed/zeros)
packed/factors: float32[100,3] = Cast(packed_scales) {"dtype":"float32"}
packed/scales: float32[100,96] = Repeat(packed/factors) {"axis":1,"size":96,"times":32}
packed/w: float32[100,96] = Mul(packed/moved, packed/scales)
c: float32[3,100] = MatMul(x, packed/w) {"transpose_a":false,"transpose_b":true}
rows: float32[5,96] = Gather(packed/w, ids) {"axis":0}
blocks/wide: float32[90,100] = Cast(blocks) {"dtype":"float32"}
blocks/scales: float32[90,100] = Repeat(block_scales) {"axis":0,"size":90,"times":32}
blocks/w: float32[90,100] = Mul(blocks/wide, blocks/scales)
part: float32[3,90] = Slice(x) {"sizes":[3,90],"starts":[0,3],"steps":[1,1]}
d: float32[3,100] = MatMul(part, blocks/w)
twos/codes: int8[96,100] = UnpackBits(twos) {"bits":2,"signed":true}
twos/turned: int8[100,96] = Transpose(twos/codes) {"perm":[1,0]}
twos/w: float32[100,96] = Cast(twos/turned) {"dtype":"float32"}
e: float32[3,100] = MatMul(x, twos/w) {"transpose_a":false,"transpose_b":true}
filter/wide: float32[64,32,3,3] = Cast(filter) {"dtype":"float32"}
filter/w: float32[64,32,3,3] = Mul(filter/wide, filter_scales)
f: float32[1,64,6,6] = Conv(image, filter/w) {"dilation":[1,1],"groups":1,"out_dims":[0,1,2,3],\
"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[0,1,2,3],"x_dims":[0,1,2,3]}
half/wide: uint32[96,100] = Cast(half) {"dtype":"uint32"}
half/bits: uint32[96,100] = ShiftLeft(half/wide, sixteen)
half/w: float32[96,100] = BitCast(half/bits) {"dtype":"float32"}
g: float32[3,100] = MatMul(x, half/w)
x/short: float16[3,96] = Cast(x) {"dtype":"float16"}
short/wide: float16[96,100] = Cast(short) {"dtype":"float16"}
short/w: float16[96,100] = Mul(short/wide, short_scales)
h/short: float16[3,100] = MatMul(x/short, short/w)
h: float32[3,100] = Cast(h/short) {"dtype":"float32"}
eighths/real: float32[96,100] = Gather(values, eighths) {"axis":0}
eighths/scales: float32[96,100] = Gather(block_scales, groups) {"axis":0}
eighths/w: float32[96,100] = Mul(eighths/real, eighths/scales)
i: float32[3,100] = MatMul(x, eighths/w)
pairs/low: int8[48,100] = BitAnd(pairs, mask)
pairs/upper: int8[48,100] = ShiftRight(pairs, four)
pairs/high: int8[48,100] = BitAnd(pairs/upper, mask)
pairs/low/x: int8[48,100] = BitXor(pairs/low, sign)
pairs/high/x: int8[48,100] = BitXor(pairs/high, sign)
pairs/low/row: int8[48,1,100] = Reshape(pairs/low/x) {"shape":[48,1,100]}
pairs/high/row: int8[48,1,100] = Reshape(pairs/high/x) {"shape":[48,1,100]}
pairs/both: int8[48,2,100] = Concat(pairs/low/row, pairs/high/row) {"axis":1}
pairs/codes: int8[96,100] = Reshape(pairs/both) {"shape":[96,100]}
pairs/moved: int8[96,100] = Sub(pairs/codes, sign)
pairs/w: float32[96,100] = Cast(pairs/moved) {"dtype":"float32"}
j: float32[3,100] = MatMul(x, pairs/w)
output a = a
output b = b
output c = c
output rows = rows
output d = d
output e = e
output f = f
output g = g
output h = h
output i = i
output j = j
"""
PIECE = 3000
HALF_TOLERANCE = 1e-3
"""Of products in float16, which the reference rounds."""


def weights_of(graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    made = {}
    for name in sorted(graph.slots):
        type_ = graph.type(name)
        if type_.dtype.startswith("float"):
            values = rng.uniform(0.01, 0.1, type_.shape)
        elif name == "groups":
            values = np.arange(type_.size) * 7 % 3
        elif type_.dtype == "uint16":
            values = rng.normal(0, 1, type_.shape).astype(np.float32).view(np.uint32) >> 16
        else:
            limits = np.iinfo(type_.dtype)
            values = rng.integers(limits.min, limits.max, type_.shape, endpoint=True)
        made[name] = values.astype(type_.dtype)
    return made


def test_a_bundle_contains_codes_and_scales() -> None:
    graph = parse(GRAPH)
    assert {item.name for item in stored(graph)} == graph.slots
    for encoding in BY_NAME:
        layout = pieces(stored(graph), encoding)
        assert {piece.encoding for piece in layout} == {"raw"}


@pytest.mark.parametrize("backend", REGISTRY)
def test_codes_are_decoded(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.pieces, "__defaults__", (PIECE,))
    graph = parse(GRAPH)
    assert any(piece.start for piece in pieces(stored(graph), "float32"))
    rng = np.random.default_rng(3)
    inputs = {
        "x": rng.uniform(-1, 1, (3, 96)).astype(np.float32),
        "image": rng.uniform(-1, 1, (1, 32, 6, 6)).astype(np.float32),
        "ids": np.array([99, 0, 7, 7, 50], np.int32),
    }
    weights = weights_of(graph)
    expected, _ = run_graph(graph, inputs, weights)
    (results,) = run([Job(graph, inputs, weights)], backend, tmp_path)
    for name, values in expected.items():
        tolerance = HALF_TOLERANCE if name == "h" else 2e-5
        np.testing.assert_allclose(
            results[name], values, rtol=0, atol=tolerance * np.abs(values).max(), err_msg=name
        )


def test_what_saves_too_little_is_computed_by_the_build() -> None:
    text = """graph g
input x: float32[2,8]
slot small: int8[8,16]
slot weight: float32[64,64]
slot scale: float32[64]
const tenth: float32[] = [0.1]
small/wide: float32[8,16] = Cast(small) {"dtype":"float32"}
y: float32[2,16] = MatMul(x, small/wide)
scaled: float32[64,64] = Mul(weight, scale)
padded: float32[64,64] = Mul(scaled, tenth)
v: float32[2,64] = Slice(z) {"sizes":[2,64],"starts":[0,0],"steps":[1,1]}
u: float32[2,64] = MatMul(v, padded)
output y = y
output u = u
"""
    graph = parse(
        text.replace("v: float32[2,64] = Slice(z)", "v: float32[2,64] = Slice(long)").replace(
            "input x", "input long: float32[2,65]\ninput x"
        )
    )
    assert load_time_nodes(graph) == ()
    assert {item.name for item in stored(graph)} == {"small/wide", "padded"}
