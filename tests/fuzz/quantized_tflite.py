"""Random LiteRT files of one quantised operator."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tests.frontends.tflite.operator_model import (
    NONE,
    RELU,
    RELU6,
    SAME,
    VALID,
    Single,
    T,
    f,
    ints,
    options,
    q,
    window,
)
from tests.fuzz.quantized_onnx import DYNAMIC, EXACT

ACTIVATIONS = (NONE, NONE, RELU, RELU6)
DTYPES = ("int8", "uint8", "int16", "float32")
"""Those of activations. Weights of floats are int8, and activations are quantised at run time."""


@dataclass(frozen=True)
class Point:
    """`channels`: one scale per output channel. `zeros`: zero points other than 0."""

    operator: str
    dtype: str
    channels: bool
    zeros: bool
    whole: bool


class Draw:
    def __init__(self, r: random.Random, at: Point) -> None:
        self.r, self.at, self.rng = r, at, np.random.default_rng(r.randrange(1 << 32))
        self.stored = "uint8" if at.dtype == "uint8" else "int8"
        self.fine = 1e-4 if at.dtype == "int16" else 0.02

    def size(self, limit: int = 80) -> int:
        choices = (4, 8, 16, 32, 64) if self.at.whole else (1, 3, 5, 7, 17, 33, 65, 79)
        return self.r.choice([size for size in choices if size <= limit])

    def zero(self, dtype: str) -> int:
        if dtype == "int16" or not self.at.zeros:
            return 0
        limits = np.iinfo(dtype)
        return self.r.choice([int(limits.min), int(limits.max), self.r.randint(-9, 9) % 120])

    def scale(self) -> float:
        return float(np.float32(self.r.uniform(0.5, 1.5) * self.fine))

    def tensor(self, *shape: int, scale: float = 0.0) -> T:
        """Activations."""
        if self.at.dtype == "float32":
            return f(*shape)
        return q(self.at.dtype, *shape, scale=scale or self.scale(), zero=self.zero(self.at.dtype))

    def weights(self, *shape: int, axis: int) -> T:
        """Symmetric ones if they are int8."""
        limits = np.iinfo(self.stored)
        low = limits.min + (self.stored == "int8")
        value = self.rng.integers(low, limits.max, shape, self.stored, endpoint=True)
        if self.r.random() < 0.15:
            value = self.rng.choice([low, limits.max], shape).astype(self.stored)
        count = shape[axis] if self.at.channels and self.stored == "int8" else 1
        scales = self.rng.uniform(0.002, 0.02, count).astype(np.float32)
        zero = self.zero("uint8") if self.stored == "uint8" else 0
        return q(self.stored, *shape, scale=list(scales), zero=zero, value=value, axis=axis)

    def bias(self, x: T, w: T, count: int) -> T | None:
        if self.at.dtype == "float32":
            return f(count, value=self.rng.normal(0, 1, count).astype(np.float32))
        if self.r.random() < 0.3 and not self.at.operator.endswith("CONV_2D"):
            return None
        wide = self.at.dtype == "int16"
        value = self.rng.integers(-9999, 9999, count)
        scale = [float(np.float32(item) * np.float32(x.scale)) for item in w.scale]
        return T("int64" if wide else "int32", (count,), value, scale)

    def result(self, terms: int, *shape: int) -> T:
        """A tensor of codes, whose scale fits sums of `terms` products each."""
        spread = self.r.choice([0.2, 0.6, 2.0]) * self.fine * 0.7 * terms ** self.r.choice([0.5, 1])
        return self.tensor(*shape, scale=float(np.float32(max(spread, self.fine * 0.02))))


def windows(d: Draw) -> tuple[list[int], list[int], dict[str, int], list[int]]:
    """Sizes of an image and of a kernel, attributes, and sizes of the result."""
    r = d.r
    sizes = [r.choice([5, 7, 8, 11]) for _ in range(2)]
    kind = r.choice(["pointwise", "plain", "strided", "dilated"])
    taps = [1, 1] if kind == "pointwise" else [r.choice([2, 3]), r.choice([1, 2, 3])]
    strides = [r.choice([1, 2, 3]) for _ in range(2)] if kind == "strided" else [1, 1]
    gaps = [2, r.choice([1, 2])] if kind == "dilated" else [1, 1]
    padding = r.choice([SAME, VALID])
    out = [
        -(-size // stride) if padding == SAME else -(-(size - (tap - 1) * gap) // stride)
        for size, tap, stride, gap in zip(sizes, taps, strides, gaps, strict=True)
    ]
    names = ("strideH", "strideW", "dilationHFactor", "dilationWFactor")
    attrs = dict(zip(names, (*strides, *gaps), strict=True))
    return sizes, taps, {**attrs, "padding": padding}, out


def conv_2d(d: Draw) -> Single:
    sizes, taps, attrs, out = windows(d)
    groups = d.r.choice([1, 1, 2, 3]) if d.at.dtype in ("int8", "float32") else 1
    own, features = d.size(33), groups * d.size(33)
    batch = d.r.choice([1, 2])
    x, w = d.tensor(batch, *sizes, own * groups), d.weights(features, *taps, own, axis=0)
    y = d.result(own * prod(taps), batch, *out, features)
    act = d.r.choice(ACTIVATIONS)
    attrs = window("Conv2DOptions", **attrs, fusedActivationFunction=act)
    return Single("conv", "CONV_2D", [x, w, d.bias(x, w, features)], [y], attrs)


def depthwise(d: Draw) -> Single:
    sizes, taps, attrs, out = windows(d)
    attrs["strideW"] = attrs["strideH"]
    out[1] = -(-sizes[1] // attrs["strideW"])
    if attrs["padding"] == VALID:
        reach = (taps[1] - 1) * attrs["dilationWFactor"]
        out[1] = -(-(sizes[1] - reach) // attrs["strideW"])
    channels, multiplier = d.size(), d.r.choice([1, 1, 2])
    features = channels * multiplier
    x, w = d.tensor(1, *sizes, channels), d.weights(1, *taps, features, axis=3)
    y = d.result(prod(taps), 1, *out, features)
    act = {"fusedActivationFunction": d.r.choice(ACTIVATIONS), "depthMultiplier": multiplier}
    attrs = window("DepthwiseConv2DOptions", **attrs, **act)
    return Single("depthwise", "DEPTHWISE_CONV_2D", [x, w, d.bias(x, w, features)], [y], attrs)


def fully_connected(d: Draw) -> Single:
    rows, depth, columns = d.size(), d.size(), d.size()
    x, w = d.tensor(rows, depth), d.weights(columns, depth, axis=0)
    attrs = {"fusedActivationFunction": d.r.choice(ACTIVATIONS)}
    if d.at.dtype == "float32":
        attrs["asymmetricQuantizeInputs"] = d.r.random() < 0.5
    y = d.result(depth, rows, columns)
    made = options("FullyConnectedOptions", **attrs)
    return Single("dense", "FULLY_CONNECTED", [x, w, d.bias(x, w, columns)], [y], made)


def transpose_conv(d: Draw) -> Single:
    sizes, taps, stride = [d.r.choice([3, 5, 6]) for _ in range(2)], [3, d.r.choice([2, 3])], 2
    own, features = d.size(33), d.size(33)
    out = [size * stride for size in sizes]
    x, w = d.tensor(1, *sizes, own), d.weights(features, *taps, own, axis=0)
    bias = d.bias(x, w, features)
    y = d.result(own * 3, 1, *out, features)
    attrs = window("TransposeConvOptions", strideW=stride, strideH=stride)
    operands = [ints(1, *out, features), w, x, *([] if bias is None else [bias])]
    return Single("up", "TRANSPOSE_CONV", operands, [y], attrs)


def batch_matmul(d: Draw) -> Single:
    rows, depth, columns = d.size(33), d.size(), d.size(33)
    flips = [d.r.random() < 0.5 for _ in range(2)]
    a = d.tensor(2, *((depth, rows) if flips[0] else (rows, depth)))
    b = d.tensor(2, *((columns, depth) if flips[1] else (depth, columns)))
    attrs = options("BatchMatMulOptions", adjX=flips[0], adjY=flips[1])
    return Single("product", "BATCH_MATMUL", [a, b], [d.result(depth, 2, rows, columns)], attrs)


def elementwise(d: Draw) -> Single:
    op, kind = d.r.choice([("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")])
    shape = (d.size(33), d.size(33))
    a, b = d.tensor(*shape), d.tensor(*d.r.choice([shape, shape[-1:], (1, 1)]))
    size = d.fine * (d.r.uniform(0.6, 3) if op != "MUL" or d.at.dtype != "int16" else 2.0)
    extra = {"potScaleInt16": False} if op != "MUL" and d.at.dtype == "int16" else {}
    attrs = options(kind, fusedActivationFunction=d.r.choice(ACTIVATIONS), **extra)
    return Single("binary", op, [a, b], [d.tensor(*shape, scale=float(np.float32(size)))], attrs)


def requantize(d: Draw) -> Single:
    shape, target = (d.size(), d.size()), d.r.choice(TARGETS[d.at.dtype])
    fine = 1e-4 if target == "int16" else 0.02
    y = q(target, *shape, scale=float(np.float32(fine * d.r.uniform(0.5, 2))), zero=d.zero(target))
    return Single("requantize", "QUANTIZE", [d.tensor(*shape)], [y])


TARGETS = {
    "int8": ("int8", "uint8", "int16"),
    "uint8": ("int8", "uint8"),
    "int16": ("int8", "int16"),
}
"""The dtypes of codes to which the interpreter requantises others."""


def average_pool(d: Draw) -> Single:
    sizes, taps, attrs, out = windows(d)
    if attrs["dilationHFactor"] > 1:
        out = [size - tap + 1 for size, tap in zip(sizes, taps, strict=True)]
        out = sizes if attrs["padding"] == SAME else out
    kept = {name: attrs[name] for name in ("strideH", "strideW", "padding")}
    x = d.tensor(2, *sizes, d.size(33))
    y = q(d.at.dtype, 2, *out, x.shape[3], scale=x.scale, zero=x.zero)
    act = d.r.choice(ACTIVATIONS)
    made = {"filterHeight": taps[0], "filterWidth": taps[1], "fusedActivationFunction": act}
    return Single("pool", "AVERAGE_POOL_2D", [x], [y], window("Pool2DOptions", **kept, **made))


def mean(d: Draw) -> Single:
    x = d.tensor(2, 7, 5, d.size(33))
    axes, shape = d.r.choice([((1, 2), (2, x.shape[3])), ((3,), (2, 7, 5))])
    y = d.tensor(*shape, scale=float(np.float32(d.fine * d.r.uniform(0.4, 1.2))))
    return Single("mean", "MEAN", [x, ints(list(axes))], [y], options("ReducerOptions"))


OPERATORS: dict[str, Callable[[Draw], Single]] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise,
    "FULLY_CONNECTED": fully_connected,
    "TRANSPOSE_CONV": transpose_conv,
    "BATCH_MATMUL": batch_matmul,
    "BINARY": elementwise,
    "QUANTIZE": requantize,
    "AVERAGE_POOL_2D": average_pool,
    "MEAN": mean,
}
MISSING = {
    "TRANSPOSE_CONV": ("float32",),
    "BATCH_MATMUL": ("uint8", "float32"),
    "BINARY": ("float32",),
    "QUANTIZE": ("float32",),
    "AVERAGE_POOL_2D": ("float32",),
    "MEAN": ("float32",),
}
"""The dtypes of activations for which the interpreter has no kernel."""


def corners() -> list[Point]:
    """Every operator with each dtype, granularity and zero point. Sizes rotate."""
    flags = (False, True)
    return [
        Point(operator, dtype, channels, zeros, number % 3 == 0)
        for number, (operator, dtype, channels, zeros) in enumerate(
            product(OPERATORS, DTYPES, flags, flags)
        )
        if dtype not in MISSING.get(operator, ()) and (dtype != "float32" or channels)
    ]


def draw(seed: int, at: Point | None = None) -> tuple[Point, Single, dict[str, np.ndarray], str]:
    """The point, a model, its inputs, and how to compare its result."""
    r = random.Random(seed)
    at = at or r.choice(corners())
    d = Draw(r, at)
    single = OPERATORS[at.operator](d)
    inputs = {
        f"x{number}": values(d, item)
        for number, item in enumerate(single.inputs)
        if item is not None and item.value is None
    }
    return at, single, inputs, DYNAMIC if at.dtype == "float32" else EXACT


def values(d: Draw, item: T) -> np.ndarray:
    if item.dtype == "float32":
        return d.rng.normal(0, 1, item.shape).astype(np.float32)
    limits = np.iinfo(item.dtype)
    if d.r.random() < 0.15:
        return d.rng.choice([limits.min, limits.max], item.shape).astype(item.dtype)
    return d.rng.integers(limits.min, limits.max, item.shape, item.dtype, endpoint=True)
