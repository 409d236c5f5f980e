"""Random ONNX files of quantised operators, in the forms that onnxruntime's quantizer writes."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
import onnx

from tests.fuzz.onnx_nodes import INTEGERS, Nodes, Point
from tests.fuzz.quantized_blocks import BLOCKS

FLOAT, EXACT, CODES, DYNAMIC = "float", "exact", "codes", "dynamic"
"""How the result is compared: as floats; bit by bit; as codes of which few may be on the other side
of a tie; as floats of rows that are quantised at run time, by another order of operations.
"""
PAIRS = [("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")]
"""The dtypes of activations and weights for which onnxruntime has kernels."""


@dataclass(frozen=True)
class File:
    model: onnx.ModelProto
    inputs: dict[str, np.ndarray]
    compare: str


def matrices(n: Nodes, at: Point) -> tuple[str, str, int, int]:
    """Codes [..., m, k] and [k, n], k and n."""
    rows, depth, columns = n.size(at), n.size(at), n.size(at)
    lead = n.r.choice([(), (), (2,), (2, 1)])
    a = n.input(n.codes(at.x, *lead, rows, depth))
    return a, n.value(n.codes(at.w, depth, columns)), depth, columns


def window(n: Nodes, at: Point) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, object]]:
    """The shapes of an image and of a kernel, and attributes."""
    r = n.r
    kind = r.choice(["pointwise", "plain", "strided", "dilated", "grouped", "depthwise"])
    channels, rank = n.size(at), r.choice([1, 2, 2, 2])
    divisors = [d for d in (2, 4, 5, 3, 7, 11, 13) if channels % d == 0] or [1]
    groups = {"grouped": r.choice(divisors), "depthwise": channels}.get(kind, 1)
    features = groups * r.choice([1, 2]) if kind == "depthwise" else groups * n.size(at, 20)
    taps = [1] * rank if kind == "pointwise" else [r.choice([2, 3, 3]) for _ in range(rank)]
    sizes = [r.choice([5, 7, 8, 11]) for _ in range(rank)]
    attrs: dict[str, object] = {"group": groups}
    if kind == "strided":
        attrs["strides"] = [r.choice([1, 2, 3]) for _ in range(rank)]
    if kind == "dilated":
        attrs["dilations"] = [r.choice([1, 2]) for _ in range(rank)]
    if "dilations" not in attrs and r.random() < 0.3:
        attrs["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif r.random() < 0.8:
        attrs["pads"] = [r.randint(0, size // 2) for size in taps * 2]
    if r.random() < 0.5:
        attrs["kernel_shape"] = taps
    return (r.choice([1, 2]), channels, *sizes), (features, channels // groups, *taps), attrs


def conv_operands(n: Nodes, at: Point) -> tuple[str, str, int, int, dict[str, object]]:
    """Image, kernel, features, products per sum, attributes."""
    image, kernel, attrs = window(n, at)
    x, w = n.input(n.codes(at.x, *image)), n.value(n.codes(at.w, *kernel))
    return x, w, kernel[0], prod(kernel[1:]), attrs


def result_scale(n: Nodes, terms: int) -> str:
    """One with which codes differ, for zero points in the middle of a range or at its end."""
    scale = n.r.choice([0.01, 0.03, 0.1]) * terms ** n.r.choice([0.5, 1])
    return n.value(n.power(np.asarray(scale)))


def qlinear_conv(n: Nodes, at: Point) -> tuple[str, str]:
    """Zero points of the kernel are equal, which onnxruntime requires."""
    x, w, features, terms, attrs = conv_operands(n, at)
    wide = n.wide(at, features)
    zero = np.full(wide, n.codes(at.w) if at.zeros else 0).astype(at.w)
    operands = [x, n.scale(), n.zero(at, at.x), w, n.scale(*wide), n.value(zero)]
    operands += [result_scale(n, terms), n.zero(at, at.x)]
    if n.r.random() < 0.5:
        operands.append(n.value(n.rng.integers(-9999, 9999, features, np.int32)))
    return n.op("QLinearConv", *operands, **attrs), CODES


def conv_integer(n: Nodes, at: Point) -> tuple[str, str]:
    x, w, _, _, attrs = conv_operands(n, at)
    zeros = [n.zero(at, at.x), n.zero(at, at.w)] if at.zeros else []
    return n.op("ConvInteger", x, w, *zeros, **attrs), EXACT


def qlinear_matmul(n: Nodes, at: Point) -> tuple[str, str]:
    a, b, depth, columns = matrices(n, at)
    wide = n.wide(at, columns)
    return n.op(
        "QLinearMatMul",
        *(a, n.scale(), n.zero(at, at.x), b, n.scale(*wide), n.zero(at, at.w, *wide)),
        *(result_scale(n, depth), n.zero(at, at.x)),
    ), CODES


def matmul_integer(n: Nodes, at: Point) -> tuple[str, str]:
    a, b, _, columns = matrices(n, at)
    zeros = [n.zero(at, at.x), n.zero(at, at.w, *n.wide(at, columns))] if at.zeros else []
    return n.op("MatMulInteger", a, b, *zeros), EXACT


def qgemm(n: Nodes, at: Point) -> tuple[str, str]:
    rows, depth, columns = n.size(at), n.size(at), n.size(at)
    flips = [n.r.random() < 0.5 for _ in range(2)]
    a = n.codes(at.x, *((depth, rows) if flips[0] else (rows, depth)))
    b = n.codes(at.w, *((columns, depth) if flips[1] else (depth, columns)))
    wide = n.wide(at, columns)
    operands = [n.input(a), n.scale(), n.zero(at, at.x)]
    operands += [n.value(b), n.scale(*wide), n.zero(at, at.w, *wide)]
    has_bias, to_codes = n.r.random() < 0.5, n.r.random() < 0.6
    bias = n.value(n.rng.integers(-9999, 9999, columns, np.int32)) if has_bias else ""
    operands.append(bias)
    if to_codes:
        operands += [result_scale(n, depth), n.zero(at, at.x)]
    attrs = {"transA": int(flips[0]), "transB": int(flips[1]), "alpha": n.r.choice([1.0, 0.5])}
    return n.op("QGemm", *operands, domain="com.microsoft", **attrs), CODES if to_codes else FLOAT


def exact_floats(n: Nodes, *shape: int) -> np.ndarray:
    """Floats that 8 bits hold: all codes of a range, times a power of two."""
    zero = n.r.choice([0, 1, 77, 128, 255])
    codes = n.rng.integers(0, 255, shape, endpoint=True)
    codes.flat[: min(2, codes.size)] = [0, 255][: min(2, codes.size)]
    return ((codes - zero) * 2.0 ** n.r.randint(-9, 1)).astype(np.float32)


def dynamic(n: Nodes, at: Point) -> tuple[str, str]:
    """DynamicQuantizeLinear, a product of integers, and its dequantisation."""
    r, is_exact = n.r, n.r.random() < 0.6
    if r.random() < 0.5:
        shape, kernel, attrs = window(n, at)
        op, wide, place = "ConvInteger", (kernel[0],), (kernel[0], *[1] * (len(kernel) - 2))
    else:
        shape, kernel, attrs = (*r.choice([(), (2,)]), n.size(at), n.size(at)), (), {}
        kernel = (shape[-1], n.size(at))
        op, wide = "MatMulInteger", (kernel[1],)
        place = wide
    x = n.input(exact_floats(n, *shape) if is_exact else n.floats(*shape))
    codes = n.op("DynamicQuantizeLinear", x, outputs=3)
    scale, zero = codes.replace("_0", "_1"), codes.replace("_0", "_2")
    zeros = wide if at.channels and op == "MatMulInteger" else ()
    w = n.value(n.codes(at.w, *kernel))
    sums = n.op(op, codes, w, zero, n.zero(at, at.w, *zeros), **attrs)
    real = n.op("Cast", sums, to=onnx.TensorProto.FLOAT)
    other = n.scale(*(place if at.channels else ()))
    if r.random() < 0.5:
        real = n.op("Mul", real, n.op("Mul", scale, other))
    else:
        real = n.op("Mul", n.op("Mul", real, scale), other)
    if r.random() < 0.5:
        real = n.op("Add", real, n.value(n.floats(*place)))
    return real, FLOAT if is_exact else DYNAMIC


def qdq(n: Nodes, at: Point) -> tuple[str, str]:
    """Codes, dequantised, through Conv, MatMul or Gemm, or an Add or Mul of two, quantised."""
    kind = n.r.choice(["Conv", "Conv", "MatMul", "Gemm", "Add", "Mul"])
    if kind == "Conv":
        shape, kernel, attrs = window(n, at)
        axis, features, terms = 0, kernel[0], prod(kernel[1:])
    else:
        depth, features = n.size(at), n.size(at)
        lead = n.r.choice([(), (2,)]) if kind == "MatMul" else ()
        shape, attrs, terms = (*lead, n.size(at), depth), {}, depth
        flip = kind == "Gemm" and n.r.random() < 0.5
        kernel, axis = ((features, depth), 0) if flip else ((depth, features), 1)
        attrs = {"transB": int(flip)} if kind == "Gemm" else {}
    x = n.op("DequantizeLinear", n.input(n.codes(at.x, *shape)), n.scale(), n.zero(at, at.x))
    if kind in ("Add", "Mul"):
        wide = n.r.choice([shape, shape[-1:]])
        other = n.input(n.codes(at.w, *wide))
        other = n.op("DequantizeLinear", other, n.scale(), n.zero(at, at.w))
        y, terms = n.op(kind, x, other), 10 if kind == "Mul" else 1
    else:
        wide = n.wide(at, features)
        zeros = [n.zero(at, at.w, *wide)] if at.zeros or n.r.random() < 0.5 else []
        w = n.value(n.codes(at.w, *kernel))
        w = n.op("DequantizeLinear", w, n.scale(*wide), *zeros, axis=axis)
        bias = []
        if kind != "MatMul" and n.r.random() < 0.6:
            codes = n.value(n.rng.integers(-9999, 9999, features, np.int32))
            bias = [n.op("DequantizeLinear", codes, n.scale(*wide, size=4e-4), axis=0)]
        y = n.op(kind, x, w, *bias, **attrs)
    if n.r.random() < 0.3:
        y = n.op("Relu", y)
    if n.r.random() < 0.4:
        return y, FLOAT
    scale = n.scale() if kind == "Add" else result_scale(n, terms)
    return n.op("QuantizeLinear", y, scale, n.zero(at, at.x)), CODES


def chain(n: Nodes, at: Point) -> tuple[str, str]:
    """Floats through convolutions, a residual and a product, all of them between codes."""
    r, n.powers = n.r, True
    channels, features, sizes = n.size(at, 17), n.size(at, 33), [r.choice([4, 5, 7])] * 2

    def codes(x: str, terms: int) -> str:
        scale, zero = result_scale(n, terms), n.zero(at, at.x)
        return n.op("DequantizeLinear", n.op("QuantizeLinear", x, scale, zero), scale, zero)

    def weights(*shape: int, axis: int = 0) -> str:
        wide = n.wide(at, shape[axis])
        zero = n.zero(at, at.w, *wide)
        w = n.value(n.codes(at.w, *shape))
        return n.op("DequantizeLinear", w, n.scale(*wide), zero, axis=axis)

    x = codes(n.input(n.floats(1, channels, *sizes)), 1)
    for _ in range(r.choice([1, 2])):
        taps = r.choice([1, 3])
        y = n.op("Conv", x, weights(channels, channels, taps, taps), pads=[taps // 2] * 4)
        y = codes(n.op("Relu", y) if r.random() < 0.5 else y, channels * taps**2)
        x = codes(n.op("Add", y, x), 9) if r.random() < 0.5 else y
    flat = n.op("Flatten", x)
    depth = channels * sizes[0] ** 2
    return codes(n.op("MatMul", flat, weights(depth, features, axis=1)), depth), EXACT


def dequantized_blocks(n: Nodes, at: Point) -> tuple[str, str]:
    """DequantizeLinear with blocks along an axis, before MatMul or Gather."""
    r = n.r
    dtype, block = r.choice(list(INTEGERS)), r.choice(BLOCKS)
    axis = r.choice([0, 1, -1])
    blocks = r.choice([1, 2, 3])
    size = block * blocks - (0 if at.whole else r.randrange(block))
    shape = [n.size(at), n.size(at)]
    shape[axis] = size
    wide = list(shape)
    wide[axis] = blocks
    operands = [n.value(n.codes(dtype, *shape)), n.scale(*wide)]
    if at.zeros:
        operands.append(n.value(n.codes(dtype, *wide)))
    w = n.op("DequantizeLinear", *operands, axis=axis, block_size=block)
    if r.random() < 0.4:
        return n.op("Gather", w, n.input(n.rng.integers(-shape[0], shape[0], (2, 3)))), FLOAT
    if r.random() < 0.5:
        w, shape = n.op("Transpose", w, perm=[1, 0]), shape[::-1]
    return n.op("MatMul", n.input(n.floats(n.size(at), shape[0])), w), FLOAT


def matmul_n_bits(n: Nodes, at: Point) -> tuple[str, str]:
    r = n.r
    bits, block = r.choice([2, 4, 4, 8]), r.choice(BLOCKS)
    blocks, columns = r.choice([1, 2, 3, 5]), n.size(at)
    depth = block * blocks - (0 if at.whole else r.randrange(block))
    a = n.input(n.floats(*r.choice([(), (2,)]), n.size(at), depth))
    packed = n.value(n.codes("uint8", columns, blocks, block * bits // 8))
    operands = [a, packed, n.scale(*r.choice([(columns * blocks,), (columns, blocks)]))]
    if at.zeros:
        points = n.codes("uint8", columns, -(-blocks * bits // 8))
        operands.append(n.value(points if r.random() < 0.6 else points.reshape(-1)))
    if r.random() < 0.4:
        operands += [""] * (5 - len(operands)) + [n.value(n.floats(columns))]
    attrs = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    return n.op("MatMulNBits", *operands, domain="com.microsoft", **attrs), FLOAT


def gather_block_quantized(n: Nodes, at: Point) -> tuple[str, str]:
    r = n.r
    block, rows = r.choice(BLOCKS), n.size(at)
    width = 8 * r.choice([2, 5, 9, 16, 20])
    blocks = -(-width // block)
    if r.random() < 0.5:
        bits = r.choice([4, 8])
        data, attrs = n.codes("uint8", rows, width * bits // 8), {"bits": bits}
        zeros = n.codes("uint8", rows, -(-blocks * bits // 8))
    else:
        dtype, attrs = r.choice(["int4", "uint4"]), {}
        data, zeros = n.codes(dtype, rows, width), n.codes(dtype, rows, blocks)
    ids = n.input(n.rng.integers(-rows, rows, r.choice([(3,), (2, 4), ()])).astype("int64"))
    operands = [n.value(data), ids, n.scale(rows, blocks), *([n.value(zeros)] * at.zeros)]
    attrs |= {"block_size": block, "gather_axis": 0, "quantize_axis": 1}
    return n.op("GatherBlockQuantized", *operands, domain="com.microsoft", **attrs), FLOAT


def elementwise(n: Nodes, at: Point) -> tuple[str, str]:
    """QLinearAdd and QLinearMul, of equal dtypes."""
    shape = (n.size(at), n.size(at))
    other = n.r.choice([shape, shape[-1:], (1, 1)])
    operands = [n.input(n.codes(at.x, *shape)), n.scale(), n.zero(at, at.x)]
    operands += [n.input(n.codes(at.x, *other)), n.scale(), n.zero(at, at.x)]
    operands += [n.scale(size=0.03), n.zero(at, at.x)]
    op = n.r.choice(["QLinearAdd", "QLinearMul"])
    return n.op(op, *operands, domain="com.microsoft"), CODES


def pooled(n: Nodes, at: Point) -> tuple[str, str]:
    """Pools, LeakyRelu, and the Concat of two."""
    r, op = n.r, n.r.choice(["AveragePool", "GlobalAveragePool", "LeakyRelu", "Concat"])
    sizes = [r.choice([4, 8])] * 2 if n.powers else [r.choice([3, 5, 7]) for _ in range(2)]
    image = (2, n.size(at), *sizes)
    operands = [n.input(n.codes(at.x, *image)), n.scale(), n.zero(at, at.x)]
    result = [n.scale(), n.zero(at, at.x)]
    attrs: dict[str, object] = {}
    if op == "Concat":
        other = [n.input(n.codes(at.x, *image)), n.scale(), n.zero(at, at.x)]
        operands, result, attrs = [*result, *operands, *other], [], {"axis": 1}
    elif op == "AveragePool":
        attrs = {"kernel_shape": [2, 2], "strides": r.choice([[1, 1], [2, 2]])}
    elif op == "LeakyRelu":
        attrs = {"alpha": r.choice([0.25, 0.01])}
        n.powers = n.powers and attrs["alpha"] == 0.25
    elif r.random() < 0.5:
        attrs = {"channels_last": 1}
    op = f"QLinear{op}"
    return n.op(op, *operands, *result, domain="com.microsoft", **attrs), CODES


def quantize(n: Nodes, at: Point) -> tuple[str, str]:
    """QuantizeLinear by tensor, channel or block, of floats among which are ties."""
    r, shape = n.r, (n.size(at), n.size(at), n.size(at))
    axis, attrs = r.randrange(3), {}
    wide: tuple[int, ...] = ()
    if at.channels:
        wide, attrs = (shape[axis],), {"axis": axis}
        if r.random() < 0.4:
            block = r.choice([2, 3, 16])
            blocks = [-(-size // block) if d == axis else size for d, size in enumerate(shape)]
            wide, attrs = tuple(blocks), {"axis": axis, "block_size": block}
    ties = n.rng.integers(-300, 300, shape) * np.float32(0.25)
    x = ties.astype(np.float32) if r.random() < 0.5 else n.floats(*shape)
    scale = n.value(np.exp2(n.rng.integers(-4, 1, wide)).astype(np.float32))
    codes = n.op("QuantizeLinear", n.input(x), scale, n.zero(at, at.x, *wide), **attrs)
    return codes, EXACT


OPERATORS: dict[str, Callable[[Nodes, Point], tuple[str, str]]] = {
    "QLinearConv": qlinear_conv,
    "ConvInteger": conv_integer,
    "QLinearMatMul": qlinear_matmul,
    "MatMulInteger": matmul_integer,
    "QGemm": qgemm,
    "DynamicQuantizeLinear": dynamic,
    "QDQ": qdq,
    "QDQ chain": chain,
    "DequantizeLinear": dequantized_blocks,
    "MatMulNBits": matmul_n_bits,
    "GatherBlockQuantized": gather_block_quantized,
    "QLinearAdd": elementwise,
    "QuantizeLinear": quantize,
    "QLinearPool": pooled,
}


def corners() -> list[Point]:
    """Every operator with each pair of dtypes, granularity and zero point. Sizes rotate."""
    flags = (False, True)
    return [
        Point(operator, *pair, channels, zeros, number % 3 == 0)
        for number, (operator, pair, channels, zeros) in enumerate(
            product(OPERATORS, PAIRS, flags, flags)
        )
    ]


def draw(seed: int, at: Point | None = None) -> tuple[Point, File]:
    r = random.Random(seed)
    at = at or Point(
        r.choice(list(OPERATORS)), *r.choice(PAIRS), *(r.random() < 0.5 for _ in range(3))
    )
    nodes = Nodes(r)
    output, compare = OPERATORS[at.operator](nodes, at)
    compare = EXACT if compare == CODES and nodes.powers else compare
    return at, File(nodes.model(output), nodes.inputs, compare)
