"""Layers of quantised graphs: products of codes, and what follows them."""

from dataclasses import dataclass
from math import prod

import numpy as np

from webkiln.ir import symbols
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.fixed_point import powers_of_shift
from webkiln.ops.table import RULES

NARROW = ("int8", "uint8")
WINDOWS = ("pointwise", "conv", "strided", "dilated", "grouped", "depthwise")
PRODUCTS = ("matmul", *WINDOWS)
FORMS = ("sums", "float", "onnx", "tflite", "qdq")
"""What becomes of sums: nothing, floats, or codes, rounded as ONNX or TensorFlow Lite do; or the
factors are dequantised, and the result is quantised.
"""
FIRST, LAST = (0, 1, 2, 3), (0, 3, 1, 2)
KERNELS = {LAST: [(3, 2, 0, 1), (0, 3, 1, 2)], FIRST: [(0, 1, 2, 3)]}
"""The axes of features, channels, height and width of a kernel, by those of the image."""
CHANNELS = {True: (4, 8, 16, 32, 64), False: (3, 5, 17, 35, 66)}
SIZES = {True: (4, 8, 12), False: (5, 7, 9)}
SPARE = 20
"""The places behind the binary point of operands that TensorFlow Lite adds."""
T = symbols.placeholder("T")
ROWS = {True: (1, 4, 8, 32, T), False: (1, 3, 5, 13, 33, T)}


@dataclass(frozen=True)
class Point:
    """A product of integers. `channels`: one scale and zero point per output channel."""

    family: str
    x: str
    w: str
    channels: bool
    zeros: bool
    whole: bool
    form: str


def fixed(real):
    """A factor as a multiplier and the powers of two by which it is shifted."""
    factor, shift = np.frexp(real)
    multiplier = np.minimum(np.rint(factor * 2.0**31), (1 << 31) - 1).astype(np.int32)
    return multiplier, *powers_of_shift(np.asarray(shift, np.int32))


class Layers:
    """Add layers to one graph under construction."""

    def __init__(self, r):
        self.r, self.rng = r, np.random.default_rng(r.randrange(1 << 32))
        self.b = GraphBuilder("g", RULES)
        self.count = 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def codes(self, dtype, shape):
        limits = np.iinfo(dtype)
        if self.r.random() < 0.2:
            return self.rng.choice([limits.min, limits.max], shape).astype(dtype)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def slot(self, stem, value):
        return self.b.slot(self.name(stem), np.asarray(value))

    def scales(self, shape, low=0.002, high=0.02):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def zero(self, dtype, shape, wanted):
        """Zero points as a slot or a constant."""
        value = self.codes(dtype, shape) if wanted else np.zeros(shape, dtype)
        return self.slot("zero", value) if self.r.random() < 0.5 else self.b.constant(value)

    def cast(self, x, dtype):
        return x if x.dtype == dtype else self.b.op("Cast", [x], {"dtype": dtype})

    def dequantized(self, x, zero, scale, shape=None):
        """(x - zero) * scale, whose parameters have a shape that broadcasts."""
        parts = [item if shape is None else self.reshaped(item, shape) for item in (zero, scale)]
        moved = self.b.op("Sub", [self.cast(x, "int32"), self.cast(parts[0], "int32")])
        return self.b.op("Mul", [self.cast(moved, "float32"), parts[1]])

    def reshaped(self, x, shape):
        return x if x.shape == tuple(shape) else self.b.op("Reshape", [x], {"shape": tuple(shape)})

    def quantized(self, x, scale, zero, dtype):
        y = self.b.op("RoundedQuotient", [x, scale])
        return self.cast(self.b.op("Add", [y, self.cast(zero, "float32")]), dtype)

    def layer(self, x, at):
        """A product of codes and what follows it: codes, or the last value of the graph."""
        if at.family == "matmul":
            op, w, attrs, channel, out = self.matmul(x, at)
        else:
            op, w, attrs, channel, out = self.window(x, at)
        columns = w.shape[channel]
        wide = (columns,) if at.channels else ()
        zeros = [self.zero(x.dtype, (), at.zeros), self.zero(at.w, wide, at.zeros)]
        scales = [self.slot("scale", self.scales(())), self.slot("scale", self.scales(wide))]
        if at.form == "qdq":
            shape = [1] * w.type.rank
            shape[channel] = columns
            factors = [
                self.dequantized(x, zeros[0], scales[0]),
                self.dequantized(w, zeros[1], scales[1], shape if at.channels else None),
            ]
            y = self.b.op(op, factors, attrs)
            terms = prod(w.shape) // columns
            return self.requantized(self.follow(y, out), at, 1e-2 * terms**0.5)
        sums = self.b.op(f"{op}Integer", [x, w, *zeros], attrs)
        place = [1] * sums.type.rank
        place[out] = columns
        if self.r.random() < 0.5:
            bias = self.rng.integers(-5000, 5000, columns, np.int32)
            sums = self.b.op("Add", [sums, self.reshaped(self.slot("bias", bias), place)])
        if at.form == "sums":
            return sums
        if at.form == "tflite":
            return self.rescaled(sums, at, place if at.channels else (), prod(w.shape) // columns)
        real = self.b.op("Mul", [self.cast(sums, "float32"), scales[0]])
        real = self.b.op("Mul", [real, self.reshaped(scales[1], place if at.channels else ())])
        if at.form == "float":
            return self.follow(real, out)
        return self.requantized(real, at, 1e-2 * (prod(w.shape) // columns) ** 0.5)

    def matmul(self, x, at):
        """A product with the last axis of x, which may be flattened before."""
        r = self.r
        if x.type.rank == 4:
            x = self.reshaped(x, (x.shape[0], prod(x.shape[1:])))
        columns, flip = r.choice(CHANNELS[at.whole]), r.random() < 0.5
        depth = x.shape[-1]
        w = self.slot("w", self.codes(at.w, (columns, depth) if flip else (depth, columns)))
        self.x = x
        return "MatMul", w, {"transpose_b": flip}, 0 if flip else 1, x.type.rank - 1

    def window(self, x, at):
        r, self.x = self.r, x
        dims = self.dims
        channels = x.shape[dims[1]]
        groups = {"depthwise": channels, "grouped": self.groups(channels)}.get(at.family, 1)
        features = r.choice(CHANNELS[at.whole])
        if groups > 1:
            each = r.choice([1, 1, 2]) if at.family == "depthwise" else r.choice([1, 4, 5])
            features = groups * each
        taps = (1, 1) if at.family == "pointwise" else (r.choice([2, 3]), r.choice([1, 2, 3, 5]))
        dilation = (2, r.choice([1, 2])) if at.family == "dilated" else (1, 1)
        spans = [(size - 1) * gap + 1 for size, gap in zip(taps, dilation, strict=True)]
        if any(x.shape[axis] < span for axis, span in zip(dims[2:], spans, strict=True)):
            taps = (1, 1)
        axes = r.choice(KERNELS[dims])
        shape = [0] * 4
        for axis, size in zip(axes, (features, channels // groups, *taps), strict=True):
            shape[axis] = size
        attrs = {
            "x_dims": dims,
            "w_dims": axes,
            "out_dims": dims if r.random() < 0.7 else LAST,
            "strides": (2, r.choice([1, 2, 3])) if at.family == "strided" else (1, 1),
            "dilation": dilation,
            "pad_low": tuple(r.randint(0, size // 2) for size in taps),
            "pad_high": tuple(r.randint(0, size // 2) for size in taps),
            "groups": groups,
        }
        self.dims = attrs["out_dims"]
        w = self.slot("w", self.codes(at.w, shape))
        return "Conv", w, attrs, axes[0], self.dims[1]

    def groups(self, channels):
        return self.r.choice([n for n in (2, 3, 4, 5, 8, 11, 17) if channels % n == 0] or [1])

    def follow(self, y, out):
        """An activation, a residual or a bias on floats, or none of them."""
        kind = self.r.choice(["none", "Relu", "Tanh", "bias", "self"])
        if kind == "bias":
            bias = self.slot("bias", self.rng.normal(0, 1, y.shape[out]).astype(np.float32))
            place = [1] * y.type.rank
            place[out] = y.shape[out]
            return self.b.op("Add", [y, self.reshaped(bias, place)])
        if kind == "self":
            return self.b.op("Add", [y, self.b.op("Relu", [y])])
        return y if kind == "none" else self.b.op(kind, [y])

    def requantized(self, y, at, size):
        """Codes of floats, most of which are at most `size` in magnitude."""
        scale = self.slot("scale", np.float32(size * self.r.choice([0.1, 0.5, 1.3])))
        dtype = self.r.choice(NARROW)
        return self.quantized(y, scale, self.zero(dtype, (), at.zeros), dtype)

    def rescaled(self, sums, at, place, terms):
        """Codes of sums of `terms` products each, as TensorFlow Lite computes them. Sometimes they
        are added to codes of an input.
        """
        dtype = self.r.choice(NARROW)
        multiplier, *powers = fixed(self.rng.uniform(0.2, 5, place) / (60 * terms**0.5))
        factors = [self.slot("factor", item) for item in (multiplier, *powers)]
        attrs = self.placement(dtype, at)
        y = self.cast(self.b.op("Requantize", [sums, *factors], attrs), dtype)
        if self.r.random() < 0.6:
            return y
        other = self.b.input(self.name("x"), dtype, y.shape)
        operands = [
            self.b.op("Sub", [self.cast(item, "int32"), self.b.constant(zero, "int32")])
            for item, zero in ((y, attrs["zero"]), (other, int(self.codes(dtype, ()))))
        ]
        scales = self.rng.uniform(0.005, 0.05, 3)
        twice = 2 * scales[:2].max()
        steps = [scales[0] / twice, scales[1] / twice, twice / (scales[2] * 2.0**SPARE)]
        for multiplier, _, right in map(fixed, steps):
            operands += [self.slot("factor", multiplier), self.slot("factor", right)]
        attrs = {"spare": SPARE, **self.placement(dtype, at)}
        return self.cast(self.b.op("RequantizeSum", operands, attrs), dtype)

    def placement(self, dtype, at):
        """A zero point, and the range of codes or of a fused activation."""
        limits = np.iinfo(dtype)
        low, high = sorted(self.rng.integers(limits.min, limits.max + 1, 2).tolist())
        fused = high - low > 50 and self.r.random() < 0.3
        return {
            "zero": int(self.codes(dtype, ())) if at.zeros else 0,
            "min": low if fused else int(limits.min),
            "max": high if fused else int(limits.max),
        }

    def ids(self, shape):
        return self.b.input(self.name("ids"), "int32", shape)

    def floats(self, shape):
        return self.b.input(self.name("x"), "float32", shape)
