"""Weights of dtypes that the IR does not have: a bundle contains the bytes of the file, and results
are those of onnxruntime and of the onnx package.
"""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.frontends.bundle_weights import bundle_bytes, bundle_weights
from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.passes.running import optimised
from webkiln.errors import UnsupportedError
from webkiln.frontends.nodes import narrow
from webkiln.frontends.onnx.load import read_checked
from webkiln.ops.evaluate import run_graph
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.shards import pieces, stored

node = helper.make_node
INTEGERS = ("int4", "uint4", "int2", "uint2")
NUMPY = {
    "float4e2m1": ml_dtypes.float4_e2m1fn,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "bfloat16": ml_dtypes.bfloat16,
    **{name: getattr(ml_dtypes, name) for name in INTEGERS},
}
FLOATS = tuple(name for name in NUMPY if name not in INTEGERS)
ROWS, COLUMNS = 192, 230
BLOCKS = ROWS // 32


def initialiser(name: str, dtype: str, *shape: int) -> onnx.TensorProto:
    """Random finite values, as the onnx package stores them."""
    rng = np.random.default_rng([len(name), *shape])
    if dtype in INTEGERS:
        limits = ml_dtypes.iinfo(NUMPY[dtype])
        values = rng.integers(int(limits.min), int(limits.max), shape, endpoint=True)
    else:
        values = rng.uniform(0.25, 4, shape) * rng.choice([1, -1][: 1 + (dtype[-4:] != "e8m0")])
    tensor = numpy_helper.from_array(np.asarray(values).astype(NUMPY[dtype]), name)
    assert tensor.raw_data
    assert tensor.data_type == TensorProto.DataType.Value(dtype.upper())
    return tensor


def scales(name: str, *shape: int) -> onnx.TensorProto:
    values = np.random.default_rng(len(shape)).uniform(0.01, 0.1, shape)
    return numpy_helper.from_array(values.astype(np.float32), name)


def product(nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> onnx.ModelProto:
    """x times the tensor `w` that the nodes compute."""
    nodes = [*nodes, node("MatMul", ["x", "w"], ["y"])]
    return model(nodes, [floats("x", 2, ROWS)], [floats("y", 2, COLUMNS)], weights, opset=25)


X = np.random.default_rng(0).uniform(-1, 1, (2, ROWS)).astype(np.float32)


def check(proto: onnx.ModelProto, *, runtime: bool = True, tolerance: float = 1e-5) -> None:
    """Compare results with onnxruntime, or with the onnx package for what it does not run, and
    bytes with the file.
    """
    source = converted(proto)
    if runtime:
        values = onnxruntime_outputs(proto, {"x": X})["y"]
    else:
        (values,) = ReferenceEvaluator(proto).run(None, {"x": X})
    got = run_graph(optimised(source), {"x": X}, source.weights)[0]["y"]
    np.testing.assert_allclose(got, values, rtol=0, atol=tolerance * np.abs(values).max())
    in_file = sum(len(item.raw_data) for item in proto.graph.initializer)
    assert bundle_bytes(source) <= 1.05 * in_file


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("block", [0, 32])
def test_packed_weights_stay_packed(dtype: str, block: int) -> None:
    shape = (ROWS // block, COLUMNS) if block else (COLUMNS,)
    weights = [initialiser("q", dtype, ROWS, COLUMNS), scales("s", *shape)]
    zeros = initialiser("z", dtype, *shape)
    attrs = {"axis": 0, "block_size": block} if block else {"axis": 1}
    proto = product([node("DequantizeLinear", ["q", "s", "z"], ["w"], **attrs)], [*weights, zeros])
    check(proto, runtime=dtype.endswith("4"))
    found = bundle_weights(converted(proto))
    assert ("uint8", len(weights[0].raw_data)) in found.values()
    assert ("uint8", len(zeros.raw_data)) in found.values()


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_of_16_bits_or_fewer_stay_as_they_are(dtype: str) -> None:
    tensor = initialiser("q", dtype, ROWS, COLUMNS)
    proto = product([node("Cast", ["q"], ["w"], to=TensorProto.FLOAT)], [tensor])
    check(proto, runtime=False)
    stored = "uint16" if dtype == "bfloat16" else "uint8"
    assert (stored, len(tensor.raw_data)) in bundle_weights(converted(proto)).values()


@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e5m2"])
def test_floats_of_8_bits_with_scales(dtype: str) -> None:
    weights = [initialiser("q", dtype, ROWS, COLUMNS), scales("s")]
    check(product([node("DequantizeLinear", ["q", "s"], ["w"])], weights))


@pytest.mark.parametrize("dtype", [name for name in NUMPY if name != "bfloat16"])
def test_every_code_has_the_value_of_ml_dtypes(dtype: str) -> None:
    bits = narrow.BITS[dtype]
    codes = np.arange(1 << bits, dtype=np.uint8)
    values = codes.view(NUMPY[dtype]).astype(np.float32)
    packed = narrow.packed(codes, dtype) if bits < 8 else codes
    np.testing.assert_array_equal(narrow.numbers(packed, dtype, codes.shape), values)


@pytest.mark.parametrize("dtype", ["int4", "uint2", "float4e2m1"])
def test_an_odd_number_of_columns(dtype: str) -> None:
    tensor = initialiser("q", dtype, COLUMNS + 1, ROWS + 1)
    nodes = [
        node("Transpose", ["q"], ["t"]),
        node("Cast", ["t"], ["c"], to=TensorProto.FLOAT),
        node("Slice", ["c", "zero", "ends"], ["w"]),
    ]
    ends = [literal("zero", [0, 0]), literal("ends", [ROWS, COLUMNS])]
    check(product(nodes, [tensor, *ends]), runtime=False)


def test_fields_of_integers_and_external_data(tmp_path) -> None:
    values = np.random.default_rng(5).integers(-8, 8, (ROWS, COLUMNS))
    packed = numpy_helper.from_array(values.astype(ml_dtypes.int4), "q")
    halves = initialiser("h", "bfloat16", COLUMNS)
    nodes = [
        node("Cast", ["q"], ["c"], to=TensorProto.FLOAT),
        node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["c", "f"], ["w"]),
    ]
    proto = product(nodes, [packed, halves])
    fields = onnx.TensorProto(name="q", data_type=TensorProto.INT4, dims=[ROWS, COLUMNS])
    fields.int32_data.extend(packed.raw_data)
    short = onnx.TensorProto(name="h", data_type=TensorProto.BFLOAT16, dims=[COLUMNS])
    short.int32_data.extend(np.frombuffer(halves.raw_data, np.uint16).tolist())
    written = product(nodes, [fields, short])
    onnx.save(proto, tmp_path / "net.onnx", save_as_external_data=True, size_threshold=0)
    first, blobs = read_checked(tmp_path / "net.onnx")
    for other in (proto, written):
        onnx.save(other, tmp_path / "net.onnx")
        again, same = read_checked(tmp_path / "net.onnx")
        assert again.graph == first.graph
        assert same.keys() == blobs.keys()


def test_other_operators_are_refused_together() -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["a"], "quantize"),
        node("DequantizeLinear", ["a", "s", "z"], ["b"]),
        node("Reshape", ["q", "shape"], ["r"]),
        node("Transpose", ["r"], ["t"]),
        node("CastLike", ["x", "t"], ["c"], "cast"),
        node("Cast", ["c"], ["w"], to=TensorProto.FLOAT),
        node("Add", ["b", "w"], ["y"]),
    ]
    weights = [
        scales("s"),
        initialiser("z", "int4"),
        initialiser("q", "int4", 4, 2),
        literal("shape", [2, 4]),
    ]
    ends = [floats("x", 2, 4)], [floats("y", 2, 4)]
    message = r"(?s)2 unsupported.*quantize.*reads int4 values.*cast.*reads int4 values"
    with pytest.raises(UnsupportedError, match=message):
        converted(model(nodes, *ends, weights))


def test_plain_nodes_that_dequantise() -> None:
    """Codes of 8 bits with Cast, Sub and Mul, and scales in float16."""
    codes = np.random.default_rng(1).integers(0, 255, (ROWS, COLUMNS)).astype(np.uint8)
    half = np.random.default_rng(2).uniform(0.01, 0.1, COLUMNS).astype(np.float16)
    weights = [
        numpy_helper.from_array(codes, "q"),
        numpy_helper.from_array(half, "s"),
        numpy_helper.from_array(np.array(128, np.float32), "z"),
    ]
    nodes = [
        node("Cast", ["q"], ["c"], to=TensorProto.FLOAT),
        node("Sub", ["c", "z"], ["m"]),
        node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["m", "f"], ["w"]),
    ]
    proto = product(nodes, weights)
    check(proto)
    found = bundle_weights(converted(proto)).values()
    assert {("uint8", codes.size), ("float16", half.nbytes)} == set(found)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int4", "int16"])
def test_models_in_float16(dtype: str) -> None:
    """Scales and results of DequantizeLinear are float16."""
    half = np.random.default_rng(2).uniform(0.01, 0.1, COLUMNS).astype(np.float16)
    if dtype == "int4":
        codes = initialiser("q", dtype, ROWS, COLUMNS)
    else:
        limits = np.iinfo(dtype)
        values = np.random.default_rng(1).integers(-100, 100, (ROWS, COLUMNS)) % (limits.max + 1)
        codes = numpy_helper.from_array(values.astype(dtype), "q")
    nodes = [
        node("DequantizeLinear", ["q", "s"], ["h"], axis=1),
        node("Cast", ["h"], ["w"], to=TensorProto.FLOAT),
    ]
    check(
        product(nodes, [codes, numpy_helper.from_array(half, "s")]), runtime=False, tolerance=1e-3
    )


def test_a_table_is_stored_as_codes() -> None:
    """GatherBlockQuantized of int4 and of packed bytes, and a product with the same table."""
    table = initialiser("q", "int4", 64, ROWS)
    weights = [table, scales("s", 64, BLOCKS), initialiser("z", "int4", 64, BLOCKS)]
    nodes = [
        node(
            "GatherBlockQuantized", ["q", "i", "s", "z"], ["e"],
            domain="com.microsoft", block_size=32,
        ),
        node("DequantizeLinear", ["q", "s", "z"], ["d"], axis=1, block_size=32),
        node("Transpose", ["d"], ["w"]),
        node("MatMul", ["e", "w"], ["y"]),
    ]  # fmt: skip
    ids = helper.make_tensor_value_info("i", TensorProto.INT64, [5])
    proto = model(nodes, [ids], [floats("y", 5, 64)], weights, microsoft=True)
    values = {"i": np.array([63, 0, -1, 7, -64])}
    source = converted(proto)
    expected = onnxruntime_outputs(proto, values)["y"]
    got = run_graph(optimised(source), values, source.weights)[0]["y"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    found = bundle_weights(source)
    assert sum(size for _, size in found.values()) <= 1.05 * sum(
        len(item.raw_data) for item in weights
    )
    assert sorted(found.values()) == [
        ("float32", 64 * BLOCKS * 4),
        ("uint8", 64 * BLOCKS // 2),
        ("uint8", 64 * ROWS // 2),
    ]


@pytest.mark.parametrize(
    ("dtype", "gather", "blocks"), [("int4", 1, 1), ("uint4", 0, 0), ("uint4", 0, 1)]
)
def test_gathers_along_other_axes(dtype: str, gather: int, blocks: int) -> None:
    shape, count = (40, 36), 3
    sizes = tuple(-(-size // 16) if axis == blocks else size for axis, size in enumerate(shape))
    weights = [initialiser("q", dtype, *shape), scales("s", *sizes)]
    attrs = {"block_size": 16, "gather_axis": gather, "quantize_axis": blocks}
    nodes = [node("GatherBlockQuantized", ["q", "i", "s"], ["y"], domain="com.microsoft", **attrs)]
    ids = helper.make_tensor_value_info("i", TensorProto.INT64, [count])
    proto = model(nodes, [ids], [floats("y", None, None)], weights, microsoft=True)
    values = {"i": np.array([0, -1, 17])}
    source = converted(proto)
    got = run_graph(optimised(source), values, source.weights)[0]["y"]
    np.testing.assert_allclose(got, onnxruntime_outputs(proto, values)["y"], rtol=1e-6)


QUANTIZED = sorted((Path(__file__).parent / "quantized").glob("*.onnx"))


@pytest.mark.parametrize("path", QUANTIZED, ids=lambda path: path.stem)
def test_files_of_the_quantizer_keep_their_bytes(path: Path) -> None:
    """Encodings change no codes, scales or zero points either."""
    proto = onnx.load(path)
    values = {"ids": np.array([79, 0, -1, 7, 63])}
    source = converted(proto)
    expected = onnxruntime_outputs(proto, values)["y"]
    graph = optimised(source)
    got = run_graph(graph, values, source.weights)[0]["y"]
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    in_file = sum(len(item.raw_data) for item in proto.graph.initializer)
    assert bundle_bytes(source) <= 1.05 * in_file
    codes = [item for item in stored(graph) if item.name != "gather/data"]
    plain = pieces(codes, "float32")
    for encoding in BY_NAME.keys() - {"raw"}:
        assert pieces(codes, encoding) == plain


def test_the_quantizer_writes_all_its_operators() -> None:
    operators = {node.op_type for path in QUANTIZED for node in onnx.load(path).graph.node}
    assert operators >= {"GatherBlockQuantized", "MatMulNBits", "DequantizeLinear"}
