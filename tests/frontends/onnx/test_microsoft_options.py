"""Attributes and optional operands of com.microsoft's operators, with every value, against
onnxruntime.
"""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from tests.frontends.onnx.microsoft_nodes import NodeCase, real, restart, scale, small, zero
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.backends.compare import relative_error
from webkiln.errors import UnsupportedError
from webkiln.frontends.onnx.operators.microsoft import MICROSOFT
from webkiln.frontends.onnx.operators.microsoft_quantize import MICROSOFT_QUANTIZE
from webkiln.ops.evaluate import run_graph

X, H = real(2, 5, 8), real(8)
OUT = (scale(0.05), zero(110))


def signed(*shape: int) -> np.ndarray:
    """Weights of seven bits: without VNNI, onnxruntime saturates sums of pairs of uint8 by int8
    products in 16 bits.
    """
    return small(*shape, dtype="int8") // 2


def scales(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def activated() -> Iterator[NodeCase]:
    images, kernel = real(2, 3, 6, 5), real(4, 3, 2, 3)
    for name, parameters in (
        ("Relu", []),
        ("Tanh", []),
        ("Sigmoid", []),
        ("LeakyRelu", [0.3]),
        ("Clip", [-0.4, 0.7]),
        ("HardSigmoid", [0.4, 0.3]),
    ):
        attrs = {"activation": name, **({"activation_params": parameters} if parameters else {})}
        yield NodeCase(
            "FusedConv",
            (images, kernel, real(4)),
            {**attrs, "strides": [2, 1], "pads": [1, 0, 0, 2], "dilations": [1, 2]},
        )
    for pad in ("VALID", "SAME_UPPER", "SAME_LOWER"):
        yield NodeCase("FusedConv", (images, kernel), {"auto_pad": pad, "activation": "Relu"})
    for name, parameters in (
        ("Relu", {}),
        ("Tanh", {}),
        ("Sigmoid", {}),
        ("LeakyRelu", {"activation_alpha": 0.3}),
        ("HardSigmoid", {"activation_alpha": 0.4, "activation_beta": 0.3}),
    ):
        yield NodeCase(
            "FusedGemm",
            (real(4, 3), real(4, 5), real(3, 1)),
            {"transA": 1, "beta": 0.5, "activation": name, **parameters},
        )
    for b in (0, 1):
        operands = (real(3, 4), real(*(4, 5)[:: -1 if b else 1]), real(5))
        yield NodeCase("FusedGemm", operands, {"alpha": 2.0, "transB": b, "activation": "Relu"})
    yield NodeCase(
        "FusedConv",
        (images, real(6, 1, 2, 3)),
        {"group": 3, "kernel_shape": [2, 3], "activation": "Relu"},
    )
    for attrs in ({}, {"alpha": 0.6}):
        yield NodeCase("QuickGelu", (X,), attrs)
        yield NodeCase("ScaledSiLU", (X,), attrs)
        yield NodeCase("ScaledSiLU", (X, scale(-0.3)), attrs)
    yield NodeCase("Gelu", (X * 4,))
    yield NodeCase("BiasGelu", (X * 4, H))
    yield NodeCase("FastGelu", (X * 4, H))


def products() -> Iterator[NodeCase]:
    for a, b, alpha in product((0, 1), (0, 1), (1.0, -0.5)):
        left, right = real(2, *(3, 4)[:: -1 if a else 1]), real(*(4, 5)[:: -1 if b else 1])
        yield NodeCase("FusedMatMul", (left, right), {"transA": a, "transB": b, "alpha": alpha})
    yield NodeCase("FusedMatMul", (real(2, 1, 3, 4), real(5, 4, 6)))
    for bits, block, rows in product((2, 4, 8), (16, 32), (32, 40)):
        blocks, columns = -(-rows // block), 6
        packed, factors = small(columns, blocks, block * bits // 8), real(columns * blocks) * 0.1
        attrs = {"K": rows, "N": columns, "bits": bits, "block_size": block}
        yield NodeCase("MatMulNBits", (real(2, 3, rows), packed, factors), attrs)
        zeros = small(columns * -(-blocks * bits // 8))
        yield NodeCase(
            "MatMulNBits", (real(3, rows), packed, factors, zeros, None, real(columns)), attrs
        )
        if bits == 4:
            groups = (np.arange(blocks * block) * 7 % blocks).astype(np.int32)
            for points in (None, real(columns, blocks)):
                operands = (real(3, rows), packed, factors, points, groups)
                yield NodeCase("MatMulNBits", operands, attrs)


def tables() -> Iterator[NodeCase]:
    ids = np.array([[6, 0], [-1, 3], [-7, 2]])
    for bits, block, width in product((2, 4, 8), (16, 32), (64, 80)):
        blocks = -(-width // block)
        packed, factors = small(7, width * bits // 8), real(7, blocks)
        zeros = small(7, -(-blocks * bits // 8))
        attrs = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
        yield NodeCase("GatherBlockQuantized", (packed, ids, factors, zeros), attrs)
        yield NodeCase("GatherBlockQuantized", (packed, ids.astype(np.int32)[0], factors), attrs)


def normalisations() -> Iterator[NodeCase]:
    small_x = X * np.float32(1e-3)
    for epsilon in ({}, {"epsilon": 1e-3}):
        for beta, bias in product((None, real(8)), (None, real(8) * np.float32(1e-3))):
            yield NodeCase(
                "SkipLayerNormalization",
                (small_x, real(2, 5, 8) * np.float32(1e-3), H, beta, bias),
                epsilon,
                (0, 3),
            )
        for bias in (None, real(8) * np.float32(1e-3)):
            yield NodeCase(
                "SkipSimplifiedLayerNormalization",
                (small_x, real(2, 5, 8) * np.float32(1e-3), H, bias),
                epsilon,
                (0, 3),
            )
        words, segments = small(2, 5).astype(np.int32) % 9, small(2, 5).astype(np.int32) % 2
        tables = [table * np.float32(1e-3) for table in (real(9, 8), real(6, 8), real(2, 8))]
        positions = np.array([[4, 0, 2, 5, 1], [3, 3, 0, 1, 2]], np.int32)
        marks = np.array([[1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], np.int32)
        yield NodeCase(
            "EmbedLayerNormalization",
            (words, segments, *tables, H, real(8), marks, positions),
            epsilon,
            (0, 1),
        )
        for kind in (0, 1):
            operands = (words, segments, *tables, H, real(8), marks)
            yield NodeCase(
                "EmbedLayerNormalization", operands, {**epsilon, "mask_index_type": kind}, (0, 1)
            )
        yield NodeCase(
            "EmbedLayerNormalization",
            (words, None, *tables[:2], None, H, real(8), None, positions),
            epsilon,
            (0, 1, 2),
        )
    yield NodeCase("SimplifiedLayerNormalization", (small_x, H), {"stash_type": 1})
    yield NodeCase(
        "SimplifiedLayerNormalization",
        (X, real(5, 8)),
        {"axis": 1, "epsilon": 0.1, "stash_type": 1},
    )


def attentions() -> Iterator[NodeCase]:
    marks = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]], np.int32)
    triangle = np.tril(np.ones((2, 5, 5), np.int32))
    masks = (None, marks, np.array([3, 5], np.int32), triangle)
    for mask, causal, far in product(masks, (0, 1), ({}, {"mask_filter_value": -2.0})):
        yield NodeCase(
            "Attention",
            (X, real(8, 24), real(24), mask),
            {"num_heads": 2, "unidirectional": causal, **far},
        )
    yield NodeCase("Attention", (X, real(8, 24), real(24)), {"num_heads": 4, "scale": 0.8})
    yield NodeCase(
        "Attention", (X, real(8, 24), real(24), None, None, real(2, 2, 5, 5)), {"num_heads": 2}
    )
    yield NodeCase(
        "Attention", (X, real(8, 18), real(18)), {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 10]}
    )
    keys = np.array([[1, 1, 1, 0, 0, 1, 1], [1, 1, 0, 1, 1, 0, 0]], np.int32)
    others = (real(2, 7, 8), real(2, 7, 8))
    for mask, bias, far in product(
        (None, keys, np.array([3, 6], np.int32)),
        (None, real(24)),
        ({}, {"mask_filter_value": -2.0}),
    ):
        yield NodeCase("MultiHeadAttention", (X, *others, bias, mask), {"num_heads": 2, **far})
    yield NodeCase("MultiHeadAttention", (X, real(2, 7, 8), real(2, 7, 12)), {"num_heads": 2})
    yield NodeCase("MultiHeadAttention", (X, X * 2, X * 3), {"num_heads": 4, "unidirectional": 1})
    yield NodeCase(
        "MultiHeadAttention",
        (X, *others, None, None, real(2, 2, 5, 7)),
        {"num_heads": 2, "scale": 2.0},
    )
    past = (real(2, 2, 3, 4), real(2, 2, 3, 4))
    yield NodeCase(
        "MultiHeadAttention",
        (X, X * 2, X * 3, None, None, None, *past),
        {"num_heads": 2},
        (0, 1, 2),
    )
    yield NodeCase("MultiHeadAttention", (X, real(2, 2, 7, 4), real(2, 2, 7, 4)), {"num_heads": 2})


def quantised() -> Iterator[NodeCase]:
    for dtype, point in (("uint8", 120), ("int8", -7)):
        x = (small(2, 3, 6, 5, dtype=dtype), scale(0.03), zero(point, dtype))
        result = (scale(0.05), zero(point - 9, dtype))
        unit = (scale(1 / 256), zero(0 if dtype == "uint8" else -128, dtype))
        for op in ("QLinearAdd", "QLinearMul"):
            yield NodeCase(
                op,
                (*x, small(3, 1, 5, dtype=dtype), scale(0.02), zero(point + 5, dtype), *result),
                off=1,
            )
        yield NodeCase("QLinearSigmoid", (*x, *unit), off=1)
        for attrs in ({}, {"alpha": 0.4}):
            yield NodeCase("QLinearLeakyRelu", (*x, *result), attrs, off=1)
        for axis, opset in product((0, 1, 2, 3, -1, -2), (9, 13)):
            yield NodeCase("QLinearSoftmax", (*x, *unit), {"axis": axis, "opset": opset}, off=1)
        window = {"kernel_shape": [3, 2]}
        for more in (
            {},
            {"strides": [2, 1], "pads": [1, 0, 2, 1]},
            {"strides": [2, 1], "pads": [1, 0, 2, 1], "count_include_pad": 1},
            {"strides": [2, 2], "ceil_mode": 1},
            {"auto_pad": "SAME_LOWER"},
            {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        ):
            yield NodeCase("QLinearAveragePool", (*x, *result), {**window, **more}, off=1)
        yield NodeCase("QLinearAveragePool", (*x, *result), {**window, "channels_last": 1}, off=1)
        for last in (0, 1):
            yield NodeCase(
                "QLinearGlobalAveragePool",
                (*x, scale(0.01), zero(point, dtype)),
                {"channels_last": last},
                off=1,
            )
        for axis in (0, 1, -1):
            other = (small(2, 3, 6, 5, dtype=dtype), scale(0.04), zero(point + 2, dtype))
            yield NodeCase("QLinearConcat", (*result, *x, *other), {"axis": axis}, off=1)
        yield NodeCase(
            "QuantizeLinear",
            (X, scales(0.02, 0.03, 0.01, 0.05, 0.04), small(5, dtype=dtype)),
            {"axis": 1},
        )
        yield NodeCase(
            "DequantizeLinear",
            (small(3, 4, dtype=dtype), scales(0.02, 0.5, 0.1), small(3, dtype=dtype)),
            {"axis": 0},
        )
        yield NodeCase(
            "DequantizeLinear",
            (small(3, 4, dtype=dtype), scales(0.02, 0.5, 0.1, 0.3), small(4, dtype=dtype)),
            {"axis": 1},
        )


def quantised_products() -> Iterator[NodeCase]:
    five, points = scales(0.02, 0.03, 0.01, 0.05, 0.04), small(5)
    for a, b in product((0, 1), (0, 1)):
        left, right = small(*(3, 4)[:: -1 if a else 1]), small(*(4, 5)[:: -1 if b else 1])
        first = (left, scale(0.02), zero(120))
        bias = np.array([300, -200, 50, 700, -900], np.int32)
        attrs = {"transA": a, "transB": b}
        yield NodeCase(
            "QGemm",
            (*first, right, scale(0.03), zero(130), bias, *OUT),
            {**attrs, "alpha": 0.5},
            off=1,
        )
        yield NodeCase("QGemm", (*first, right, five, points), attrs)
        yield NodeCase("QGemm", (*first, right, five, points, bias), {**attrs, "alpha": 2.0})
    for point, bias in product((None, zero(120)), (None, real(5))):
        other = None if point is None else zero(130)
        yield NodeCase(
            "MatMulIntegerToFloat",
            (small(2, 3, 4), small(4, 5), scale(0.02), scale(0.03), point, other, bias),
        )
        yield NodeCase(
            "MatMulIntegerToFloat",
            (
                small(3, 4),
                small(4, 5),
                scale(0.02),
                five,
                point,
                None if point is None else points,
                bias,
            ),
        )
        yield NodeCase(
            "DynamicQuantizeMatMul", (real(2, 3, 4), small(4, 5), scale(0.03), other, bias)
        )
        yield NodeCase(
            "DynamicQuantizeMatMul",
            (real(3, 4) - 4, small(4, 5), five, None if point is None else points, bias),
        )
    yield NodeCase(
        "MatMulIntegerToFloat",
        (small(3, 4), signed(4, 5), scale(0.02), scale(0.03), zero(120), zero(-30, "int8")),
    )


UNREAD = {
    "Attention": {"past_present_share_buffer", "rotary_embedding_dim"},
    "FusedGemm": {"activation_gamma"},
    "FusedMatMul": {"transBatchA", "transBatchB"},
    "MatMulNBits": {"accuracy_level", "weight_prepacked"},
}
"""Attributes that only matter together with rejected ones, or without effect on the outputs."""
FAMILIES = (activated, products, tables, normalisations, attentions, quantised, quantised_products)


def objection(case: NodeCase) -> str | None:
    proto = case.model()
    try:
        expected = onnxruntime_outputs(proto, case.values)
        graph = converted(proto)
        outputs, _ = run_graph(graph, case.values)
    except Exception as error:  # noqa: BLE001 - reported with the others
        return f"{type(error).__name__}: {error}"
    for name, value in expected.items():
        got = outputs[name]
        if (got.dtype, got.shape) != (value.dtype, value.shape):
            return f"{name} is {got.dtype}{got.shape}, expected {value.dtype}{value.shape}"
        if value.dtype.kind == "f":
            if not relative_error(got, value) < 1e-4:
                return f"{name} is off by {relative_error(got, value)}"
        elif not np.abs(got.astype(int) - value.astype(int)).max() <= case.off:
            return f"{name} is off by {np.abs(got.astype(int) - value.astype(int)).max()}"
    return None


@pytest.mark.parametrize("family", FAMILIES)
def test_every_option_agrees_with_onnxruntime(
    family: Callable[[], Iterator[NodeCase]],
) -> None:
    restart()
    rows = list(family())
    assert rows
    mismatches = {
        f"{n} {row.op} {row.attrs}": wrong
        for n, row in enumerate(rows)
        if (wrong := objection(row))
    }
    assert not mismatches


def test_every_attribute_has_a_case() -> None:
    case: dict[str, set[str]] = {}
    for row in (row for family in FAMILIES for row in family()):
        case.setdefault(row.op, set()).update(row.attrs)
    case["Attention"].add("do_rotary")
    schemas = {
        item.name: item for item in get_all_operator_schema() if item.domain == "com.microsoft"
    }
    missing = {
        name: left
        for name in {*MICROSOFT, *MICROSOFT_QUANTIZE} & {*schemas}
        if (left := {*schemas[name].attributes} - case.get(name, set()) - UNREAD.get(name, set()))
    }
    assert not missing


def test_packed_zero_points_of_groups_are_those_in_float32() -> None:
    """onnxruntime ignores packed zero points if there are groups."""
    attrs = {"K": 32, "N": 6, "bits": 4, "block_size": 16}
    groups, points = np.arange(32, dtype=np.int32) % 2, small(6)
    wide = np.stack([points & 15, points >> 4], -1).astype(np.float32)
    operands = (real(3, 32), small(6, 2, 8), real(12))
    cases = [NodeCase("MatMulNBits", (*operands, zeros, groups), attrs) for zeros in (points, wide)]
    got = [run_graph(converted(case.model()), case.values)[0]["y0"] for case in cases]
    np.testing.assert_array_equal(*got)
    np.testing.assert_allclose(
        got[1], onnxruntime_outputs(cases[1].model(), cases[1].values)["y0"], rtol=0, atol=1e-4
    )


def test_weights_in_the_layout_of_a_kernel_are_rejected() -> None:
    attrs = {"K": 32, "N": 6, "bits": 4, "block_size": 16, "weight_prepacked": 1}
    case = NodeCase("MatMulNBits", (real(3, 32), small(6, 2, 8), real(12)), attrs)
    with pytest.raises(UnsupportedError, match="the layout of a CUDA kernel"):
        converted(case.model())


def test_attention_with_rotary_embeddings_is_rejected() -> None:
    case = NodeCase("Attention", (X, real(8, 24), real(24)), {"num_heads": 2, "do_rotary": 1})
    with pytest.raises(UnsupportedError, match="applies rotary embeddings to queries and keys"):
        converted(case.model())
