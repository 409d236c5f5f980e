"""Each piece of each weight, in every encoding, as its init call decodes it: later shards, odd
sizes, every code, partial blocks.
"""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.weights.encoded import decoded
from webkiln.backends.compare import relative_error
from webkiln.nest.interpret import interpret
from webkiln.nest.program import PanelLayout
from webkiln.nest.schedule import Panel
from webkiln.ops.table import parse
from webkiln.weights.encoding import (
    BY_NAME,
    Stored,
    choose,
    eightbit_magnitudes,
    storage_dtype,
)
from webkiln.weights.init import ELEMENTS, HEADER, decode_call
from webkiln.weights.shards import pieces, stored, write

SHAPES = [
    ((7,), None),
    ((5, 3), 0),
    ((5, 3), 1),
    ((11, 2, 3), 1),
    ((11, 2, 3), 2),
    ((3, 3, 2, 5), 3),
    ((9, 1), 1),
    ((), None),
    ((4, 3), None),
]
CONVOLUTION = (
    '{"dilation":[1],"groups":1,"out_dims":[0,2,1],'
    '"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[2,1,0],"x_dims":[0,2,1]}'
)


def random_values(weights, seed=7):
    """The channels of a weight differ in magnitude, and so do its rows."""
    rng = np.random.default_rng(seed)
    values = {}
    for weight in weights:
        sizes = [
            10.0
            ** rng.uniform(
                -1, 1, [size if dim == axis else 1 for dim, size in enumerate(weight.shape)]
            )
            for axis in range(2)
        ]
        values[weight.name] = (
            rng.uniform(0.2, 1, weight.shape)
            * rng.choice([-1, 1], weight.shape)
            * np.prod(np.broadcast_arrays(*sizes), axis=0)
        ).astype(weight.dtype)
    return values


def decode_pieces(layout, shards, weight, destination, out):
    """Run the init calls of all pieces of a weight on their bytes."""
    for piece in layout:
        if piece.weight is not weight:
            continue
        data = shards[piece.shard][piece.offset : piece.offset + piece.bytes]
        count = BY_NAME[piece.encoding].header(weight)
        elements = np.frombuffer(data[4 * count :], storage_dtype(weight, BY_NAME[piece.encoding]))
        inputs = {HEADER: np.frombuffer(data[: 4 * count], np.float32), ELEMENTS: elements}
        call = decode_call(piece, destination)
        (view,) = call.outputs
        interpret(
            call.nest,
            [inputs[item.name].reshape(item.shape) for item in call.inputs],
            call.args,
            [out.reshape(view.shape)],
        )
    return out


@pytest.mark.parametrize("limit", [40, 100, 1 << 20])
@pytest.mark.parametrize("encoding", BY_NAME)
def test_every_piece_contains_its_rows(encoding, limit):
    weights = [Stored(f"w{n}", "float32", shape, axis) for n, (shape, axis) in enumerate(SHAPES)]
    weights.append(Stored("whole", "int32", (5, 3), 1))
    values = random_values(weights)
    layout = pieces(weights, encoding, limit)
    shards = [*write(layout, values.__getitem__)]
    assert (len(shards) > 4) == (limit < 1000)
    for weight in weights:
        out = np.full(weight.shape or (1,), -99, weight.dtype)
        result = decode_pieces(layout, shards, weight, None, out).reshape(weight.shape)
        unencoded = (
            len(weight.shape) < 2
            or weight.dtype != "float32"
            or (encoding == "int8" and weight.channel_axis is None)
        )
        expected = (
            values[weight.name]
            if unencoded
            else decoded(values[weight.name], encoding, weight.channel_axis)
        )
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("block", [4, 8])
@pytest.mark.parametrize("encoding", BY_NAME)
def test_panels_contain_every_element_at_its_offset(encoding, block):
    """Partial blocks, pieces that start in the middle, kernels whose spatial dimensions are merged
    or whose channels are split.
    """
    for shape, axis, kernel_shape, dim in (
        ((7, 9), 1, (7, 9), 1),
        ((7, 9), 0, (7, 9), 0),
        ((3, 2, 2, 5), 3, (6, 2, 5), 2),
        ((10, 3, 2), 0, (2, 5, 6), 1),
    ):
        weight = Stored("w", "float32", shape, axis)
        values = random_values([weight])
        layout = pieces([weight], encoding, BY_NAME[choose(weight, encoding)].bytes(weight, 2))
        assert len(layout) > 1
        others = tuple(other for other in range(len(kernel_shape)) if other != dim)
        panel = Panel(1, dim, others, block)
        blocks = -(-kernel_shape[dim] // block)
        out = np.full((blocks, *(kernel_shape[other] for other in others), block), -99, np.float32)
        decode_pieces(
            layout,
            [*write(layout, values.__getitem__)],
            weight,
            PanelLayout(kernel_shape, panel),
            out,
        )
        expected = np.full_like(out, -99)
        values_in_kernel_shape = decoded(values["w"], encoding, axis).reshape(kernel_shape)
        for position in product(*map(range, kernel_shape)):
            expected[
                (
                    position[dim] // block,
                    *(position[other] for other in others),
                    position[dim] % block,
                )
            ] = values_in_kernel_shape[position]
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_every_code_of_eight_bits(tmp_path):
    """Each magnitude and sign, by definition and as a backend computes it."""
    table = eightbit_magnitudes()
    values = np.concatenate([table, -table])[:, None].astype(np.float32) * np.float32(3)
    weight = Stored("table", "float32", values.shape, 1)
    layout = pieces([weight], "eightbit", 100)
    _, codes = BY_NAME["eightbit"].encode(weight, values)
    assert codes[:, 0].tolist() == [*range(128), 0, *range(129, 256)]
    decoded_values = decode_pieces(
        layout,
        [*write(layout, {"table": values}.__getitem__)],
        weight,
        None,
        np.zeros_like(values),
    )
    np.testing.assert_allclose(decoded_values, values, rtol=2e-6)
    graph = parse(
        "graph g\n"
        "input numbers: int32[256]\n"
        "slot table: float32[256,1]\n"
        'y: float32[256,1] = Gather(table, numbers) {"axis":0}\n'
        "output y = y\n"
    )
    (outputs,) = run(
        [Job(graph, {"numbers": np.arange(256, dtype=np.int32)}, {"table": values}, "eightbit")],
        "js",
        tmp_path,
    )
    np.testing.assert_allclose(outputs["y"], values, rtol=2e-6)


def test_int8_rounds_to_nearest_with_ties_to_even():
    codes = np.array([[127, 0.5, 1.5, 2.5], [-127, -0.5, -1.5, -126.5], [0, 126.5, -3.49, 3.51]])
    scale, encoded = BY_NAME["int8"].encode(
        Stored("w", "float32", (3, 4), 0), (codes * [[2], [4], [126.5 / 127]]).astype(np.float32)
    )
    np.testing.assert_allclose(scale[:2], [2, 4])
    np.testing.assert_array_equal(encoded[:2], [[127, 0, 2, 2], [-127, 0, -2, -126]])


def test_bfloat16_rounds_to_nearest_even():
    patterns = np.arange(1 << 16, dtype=np.uint32)
    halves = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    values = ((patterns[:, None] << 16) + halves).view(np.float32)
    weight = Stored("w", "float32", values.shape, 1)
    scales, encoded = BY_NAME["bfloat16"].encode(weight, values)
    assert scales.size == 0
    assert encoded.dtype == np.uint16
    with np.errstate(invalid="ignore"):
        expected = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    decoded_values = encoded.view(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(decoded_values, expected)


@pytest.mark.parametrize("encoding", BY_NAME)
@pytest.mark.parametrize("axis", [0, 1])
def test_zero_weights_decode_to_zeros(encoding, axis):
    for zeros in (slice(None), slice(0, 1)):
        weight = Stored("w", "float32", (3, 3), axis)
        values = random_values([weight])["w"]
        (values if axis == 0 else values.T)[zeros] = 0
        layout = pieces([weight], encoding, 40)
        with np.errstate(all="raise"):
            shards = [*write(layout, {"w": values}.__getitem__)]
        decoded_values = decode_pieces(
            layout, shards, weight, None, np.full((3, 3), -9, np.float32)
        )
        np.testing.assert_array_equal((decoded_values if axis == 0 else decoded_values.T)[zeros], 0)
        np.testing.assert_allclose(decoded_values, values, rtol=0.1)


def test_a_weight_is_requested_once_and_its_scales_cover_all_rows():
    weight = Stored("w", "float32", (8, 2), 1)
    values = np.arange(1, 17, dtype=np.float32).reshape(8, 2)
    layout = pieces([weight, Stored("v", "float32", (3,))], "int8", 20)
    requested = []
    shards = [
        *write(
            layout,
            lambda name: (
                requested.append(name) or (values if name == "w" else np.ones(3, np.float32))
            ),
        )
    ]
    assert requested == ["w", "v"]
    heads = [
        np.frombuffer(shards[piece.shard], np.float32, 2, piece.offset)
        for piece in layout
        if piece.weight is weight
    ]
    assert len(heads) > 1
    for head in heads:
        assert relative_error(head, values[-1] / 127) <= 1e-6


def test_the_axis_of_output_channels():
    graph = parse(f"""graph g
input x: float32[4,4]
input i: int32[2]
input z: float32[1,6,4]
slot a: float32[4,4]
slot b: float32[4,4]
slot c: float32[3,4,5]
slot d: float32[4,4]
slot e: float32[4,4,4]
slot f: float32[1,1,4,4]
slot g: float32[4,4]
slot h: float32[1,4]
slot k: float32[1,4]
m: float32[4,4] = MatMul(x, a)
n: float32[4,4] = MatMul(m, b) {{"transpose_b":true}}
o: float32[4,4] = MatMul(d, n)
p: float32[1,4,5] = Conv(z, c) {CONVOLUTION}
q: float32[4,4,4] = Einsum(o, e) {{"equation":"ab,bcd->acd"}}
r: float32[1,1,4,4] = MatMul(o, f)
s: float32[2,4] = Gather(g, i) {{"axis":0}}
t: float32[4,4] = Add(o, h)
u: float32[4,1] = MatMul(x, k) {{"transpose_b":true}}
output u = u
output o = o
output p = p
output q = q
output r = r
output s = s
output t = t
""")
    assert {item.name: (item.shape, item.channel_axis) for item in stored(graph)} == {
        "a": ((4, 4), 1),
        "b": ((4, 4), 0),
        "d": ((4, 4), None),
        "c": ((3, 4, 5), 2),
        "e": ((4, 4, 4), 2),
        "f": ((4, 4), 1),
        "g": ((4, 4), 1),
        "h": ((4,), None),
        "k": ((4,), None),
    }


def test_only_weights_that_the_browser_needs_are_stored():
    graph = parse("""graph g
input x: float32[2]
slot used: float32[2]
slot only_fixed: float32[2]
slot given: float32[2]
slot begins: float32[2]
slot follows: float32[2]
const table: float32[2] = [1.0,2.0]
const one: float32[] = [1.0]
state s begins follows -> held: float32[2]
part: float32[2] = Exp(only_fixed)
a: float32[2] = Add(x, used)
b: float32[2] = Mul(a, part)
c: float32[2] = Sub(b, table)
d: float32[2] = Add(c, one)
e: float32[2] = Add(d, held)
output out = e
output also = given
""")
    assert {item.name for item in stored(graph)} == {
        "used",
        "part",
        "table",
        "given",
        "begins",
        "follows",
    }
    assert [item.name for item in stored(graph)][:3] == ["used", "part", "table"]


@pytest.mark.parametrize(
    ("shape", "stored_shape"),
    [((1, 1, 6, 5), (6, 5)), ((1, 6, 1, 5), (6, 1, 5)), ((1, 1), (1,)), ((1,), (1,)), ((), ())],
)
def test_leading_unit_dimensions_are_dropped(shape, stored_shape):
    kind = f"float32[{','.join(map(str, shape))}]"
    graph = parse(
        f"graph g\nslot w: {kind}\ninput x: {kind}\ny: {kind} = Add(x, w)\noutput y = y\n"
    )
    (weight,) = stored(graph)
    assert weight.shape == stored_shape
