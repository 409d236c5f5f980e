"""Weights in blocks that have a scale each, and what reads them."""

from dataclasses import dataclass

import numpy as np

from tests.fuzz.quantized_layers import CHANNELS, ROWS, Layers
from webkiln.ops.builder import Tensor

BLOCKS = (16, 32, 64, 128)
CODINGS = ("plain", "center", "points", "minima")
"""What is added to codes in blocks: nothing, a number, a zero point or a minimum per block."""
READERS = ("product", "rows", "rows of codes", "columns")
"""What reads weights in blocks: MatMul, or a Gather, of weights or before they are decoded."""


@dataclass(frozen=True)
class Coded:
    """Weights of `bits` bits in blocks."""

    bits: int
    signed: bool
    coding: str
    block: int
    whole: bool
    reader: str


@dataclass(frozen=True)
class Blocks:
    """Weights [n, k] of which each block along k has a scale."""

    layers: Layers
    at: Coded
    shape: tuple[int, int]
    codes: Tensor
    scales: Tensor
    points: Tensor | None
    minima: Tensor | None

    def decoded(self, ids=None):
        """The weights, or only the rows of `ids`."""
        layers, at = self.layers, self.at
        b, depth = layers.b, self.shape[1]

        def rows(x):
            return x if ids is None else b.op("Gather", [x, ids], {"axis": 0})

        def part(x, size):
            if x.shape[-1] == size:
                return x
            sizes = (*x.shape[:-1], size)
            ones, zeros = (1,) * x.type.rank, (0,) * x.type.rank
            return b.op("Slice", [x], {"starts": zeros, "sizes": sizes, "steps": ones})

        def unpacked(x, signed):
            attrs = {"bits": at.bits, "signed": signed}
            return x if at.bits == 8 else b.op("UnpackBits", [x], attrs)

        def repeated(x):
            wide = layers.cast(x, "float32")
            attrs = {"axis": wide.type.rank - 1, "times": at.block, "size": depth}
            return b.op("Repeat", [wide], attrs)

        codes = part(unpacked(rows(self.codes), at.signed), depth)
        y = layers.cast(codes, "float32")
        if at.coding == "center":
            y = b.op("Sub", [y, b.constant(float(1 << (at.bits - 1)), "float32")])
        if self.points is not None:
            points = part(unpacked(rows(self.points), signed=False), self.scales.shape[-1])
            y = b.op("Sub", [y, repeated(points)])
        y = b.op("Mul", [y, repeated(rows(self.scales))])
        return y if self.minima is None else b.op("Add", [y, repeated(rows(self.minima))])


def coded(layers, at):
    """A reader of weights [n, k] in blocks along k."""
    r, b = layers.r, layers.b
    weights = weights_of(layers, at)
    rows, depth = weights.shape
    if at.reader == "product":
        x = layers.floats((*r.choice([(), (2,)]), r.choice(ROWS[at.whole]), depth))
        w, turns = weights.decoded(), r.random() < 0.3
        w = b.op("Transpose", [w], {"perm": (1, 0)}) if turns else w
        y = b.op("MatMul", [x, w], {"transpose_b": not turns})
        return layers.follow(y, y.type.rank - 1)
    count, shape = depth if at.reader == "columns" else rows, r.choice([(3,), (2, 5)])
    if r.random() < 0.6:
        ids = b.op("Clip", [layers.ids(shape)], {"min": -count, "max": count - 1})
    else:
        chosen = layers.rng.integers(-count, count, shape).astype(np.int32)
        ids = layers.slot("ids", chosen) if r.random() < 0.5 else b.constant(chosen)
    if at.reader == "rows of codes":
        return weights.decoded(ids)
    axis = 1 if at.reader == "columns" else 0
    return b.op("Gather", [weights.decoded(), ids], {"axis": axis})


def weights_of(layers, at):
    """Weights [n, k]. The last block may be shorter than the others, or its codes cut off."""
    r = layers.r
    rows, blocks, per_byte = r.choice(CHANNELS[at.whole]), r.choice([1, 2, 3, 5]), 8 // at.bits
    depth = at.block * blocks - (0 if at.whole else r.randrange(1, at.block))
    size = -(-depth // per_byte) * per_byte if r.random() < 0.5 else at.block * blocks
    dtype = "int8" if at.signed and at.bits == 8 else "uint8"
    codes = layers.slot("codes", layers.codes(dtype, (rows, size // per_byte)))
    real = np.float16 if r.random() < 0.4 else np.float32

    def parameter(stem, low, high):
        return layers.slot(stem, layers.rng.uniform(low, high, (rows, blocks)).astype(real))

    scales = parameter("scales", 0.01, 0.1)
    minima = parameter("minima", -0.5, 0.5) if at.coding == "minima" else None
    points = None
    if at.coding == "points":
        points = layers.slot("points", layers.codes("uint8", (rows, -(-blocks // per_byte))))
    return Blocks(layers, at, (rows, depth), codes, scales, points, minima)
