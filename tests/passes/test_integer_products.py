"""Products of dequantized integers are computed as integers wherever that is exact."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from tests.convolutions import PLAIN_2D
from tests.passes.graphs import evaluate_graph
from tests.passes.running import optimised, run
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES
from webkiln.passes.integer_products import LONGEST_SUM

NARROW = ("int8", "uint8")
FIRST = {"x_dims": (0, 1, 2, 3), "w_dims": (0, 1, 2, 3), "out_dims": (0, 1, 2, 3)}
LAST = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "out_dims": (0, 3, 1, 2)}
PADDED = {"strides": (2, 1), "pad_low": (1, 0), "pad_high": (2, 1), "dilation": (1, 2)}
LAYERS = {
    "first": ("Conv", (2, 6, 7, 5), (4, 6, 3, 2), 0, PLAIN_2D | FIRST | PADDED),
    "last": ("Conv", (1, 7, 5, 6), (3, 2, 6, 4), 3, PLAIN_2D | LAST | PADDED),
    "depthwise": ("Conv", (1, 6, 5, 5), (6, 1, 3, 3), 0, PLAIN_2D | FIRST | {"groups": 6}),
    "grouped": ("Conv", (1, 6, 5, 5), (4, 3, 3, 3), 0, PLAIN_2D | FIRST | {"groups": 2}),
    "matmul": ("MatMul", (2, 3, 7), (7, 5), 1, {}),
    "transposed": ("MatMul", (3, 7), (5, 7), 0, {"transpose_b": True}),
}
"""Name -> operator, shapes of x and w, the axis of w that is an axis of the result, attributes."""
INT8 = {"dtype": "int8"}
ZEROS = ("none", "constant", "slot")


def graph_of(layer, x_dtype, w_dtype, channels=False, zeros="none", bias=False, scale=None):
    """A product of dequantized integers. `channels`: one scale and zero point per channel of w."""
    op, x_shape, w_shape, axis, attrs = LAYERS[layer]
    b, slots = GraphBuilder("g", RULES), {}
    rng = np.random.default_rng(0)

    def dequantized(name, codes, dtype, shape, wide):
        value = b.op("Cast", [codes], {"dtype": "int32"})
        if zeros != "none":
            zero = rng.integers(100, 120, wide).astype(np.int32)
            slots[f"{name}_zero"] = zero
            made = (
                b.constant(zero.tolist(), "int32")
                if zeros == "constant"
                else b.slot(f"{name}_zero", zero)
            )
            value = b.op("Sub", [value, made])
        real = b.op("Cast", [value], {"dtype": "float32"})
        slots[f"{name}_scale"] = rng.uniform(0.01, 0.02, wide).astype(np.float32)
        return b.op("Mul", [real, b.slot(f"{name}_scale", slots[f"{name}_scale"])])

    def codes(dtype, shape):
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    wide = [1] * len(w_shape)
    wide[axis] = w_shape[axis]
    slots["w"] = codes(w_dtype, w_shape)
    x = dequantized("x", b.input("x", x_dtype, x_shape), x_dtype, x_shape, scale or ())
    w = dequantized("w", b.slot("w", slots["w"]), w_dtype, w_shape, tuple(wide) if channels else ())
    operands = [x, w]
    if bias:
        slots["bias"] = rng.standard_normal(w_shape[axis]).astype(np.float32)
        operands.append(b.slot("bias", slots["bias"]))
    y = b.op(op, operands, attrs)
    return b.graph({"y": y}), {"x": codes(x_dtype, x_shape), **slots}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("zeros", ZEROS)
def test_results(layer, zeros):
    for x_dtype, w_dtype, channels in product(NARROW, NARROW, (False, True)):
        op = LAYERS[layer][0]
        for bias in (False, True) if op == "Conv" else (False,):
            graph, values = graph_of(layer, x_dtype, w_dtype, channels, zeros, bias)
            changed = run("integer_products", graph)
            operators = [node.op for node in changed.nodes]
            assert f"{op}Integer" in operators
            assert op not in operators
            expected = evaluate_graph(graph, values)["y"]
            got = evaluate_graph(changed, values)["y"]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def test_transposes_between_convolutions_vanish():
    """Sums have channels last; the next convolution reads them as they are."""
    b, rng = GraphBuilder("g", RULES), np.random.default_rng(0)

    def dequantized(codes):
        real = b.op("Cast", [codes], {"dtype": "float32"})
        return b.op("Mul", [real, b.constant(0.02, "float32")])

    kernels = {f"w{n}": rng.integers(-9, 9, (3, 3, 1, 2), np.int8) for n in range(2)}
    codes = b.input("x", "int8", (1, 3, 6, 7))
    for name, kernel in kernels.items():
        factors = [dequantized(codes), dequantized(b.slot(name, kernel))]
        y = b.op("Conv", factors, PLAIN_2D | FIRST)
        codes = b.op("Cast", [b.op("RoundedQuotient", [y, b.constant(0.1, "float32")])], INT8)
    graph = b.graph({"y": codes})
    changed = optimised(graph)
    assert Counter(node.op for node in changed.nodes)["Transpose"] == 1, "that of the result"
    values = {"x": rng.integers(-9, 9, (1, 3, 6, 7), np.int8), **kernels}
    expected, got = (evaluate_graph(item, values)["y"] for item in (graph, changed))
    assert np.abs(got.astype(int) - expected).max() <= 1


def test_scales_along_a_sum_stay():
    """A scale per input channel, as in products of blocks."""
    graph, _ = graph_of("first", "uint8", "int8", zeros="none", scale=(6, 1, 1))
    assert run("integer_products", graph) == graph


def test_sums_that_may_overflow_stay():
    for length, changes in ((LONGEST_SUM, True), (LONGEST_SUM + 1, False)):
        b = GraphBuilder("g", RULES)
        factors = [
            b.input("x", "uint8", (2, length)),
            b.slot("w", np.zeros((length, 3), np.uint8)),
        ]
        real = [
            b.op("Mul", [b.op("Cast", [item], {"dtype": "float32"}), b.constant(0.5, "float32")])
            for item in factors
        ]
        graph = b.graph({"y": b.op("MatMul", real)})
        assert (run("integer_products", graph) != graph) == changes


def test_products_of_two_inputs_stay():
    b = GraphBuilder("g", RULES)
    real = [
        b.op("Mul", [b.op("Cast", [item], {"dtype": "float32"}), b.constant(0.5, "float32")])
        for item in (b.input("x", "uint8", (2, 5)), b.input("w", "uint8", (5, 3)))
    ]
    graph = b.graph({"y": b.op("MatMul", real)})
    assert run("integer_products", graph) == graph
