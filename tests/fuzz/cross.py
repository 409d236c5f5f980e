"""Random graphs of layers with windows and products: the cross product of family, layout, stride,
sizes that are multiples of a vector or not, kernel, dilation, groups, and epilogue.
"""

import random
from dataclasses import dataclass, replace
from itertools import product

from tests.passes.graphs import Builder
from webkiln.errors import ShapeError
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type
from webkiln.passes.remove_unused import run as remove_unused

FAMILIES = ("conv", "transposed", "depthwise", "grouped", "pool", "dense")
FIRST, LAST = (0, 1, 2, 3), (0, 3, 1, 2)
"""The axes of batch, channels, height and width."""
KERNELS = {LAST: [(3, 2, 0, 1), (2, 3, 0, 1)], FIRST: [(0, 1, 2, 3), (1, 0, 2, 3)]}
SIZES = {True: (4, 8, 12, 16), False: (5, 6, 7, 9, 11)}
CHANNELS = {True: (4, 8, 16, 24, 32), False: (1, 3, 5, 6, 10)}
EPILOGUES = (
    "none",
    "activation",
    "residual",
    "residual_activation",
    "concat",
    "concat_of_two",
    "norm",
    "scaled",
)
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", "Abs")


@dataclass(frozen=True)
class Point:
    """One point of the cross product."""

    family: str
    dims: tuple[int, ...]
    stride: int
    whole_sizes: bool
    whole_channels: bool
    epilogue: str


def point(r):
    return Point(
        r.choice(FAMILIES),
        r.choice([FIRST, LAST]),
        r.choice([1, 2, 2, 3]),
        r.random() < 0.6,
        r.random() < 0.6,
        r.choice(EPILOGUES),
    )


def corners():
    """Every family in every layout, with and without stride, at sizes and channels that are
    multiples of a vector or not. The epilogues rotate.
    """
    combinations = product(FAMILIES, (FIRST, LAST), (1, 2), (True, False), (True, False))
    return [
        Point(*combination, EPILOGUES[number * 3 % len(EPILOGUES)])
        for number, combination in enumerate(combinations)
    ]


class Layers:
    """Add layers to one graph under construction."""

    def __init__(self, r):
        self.r = r
        self.b = Builder()
        self.inputs = []

    def window(self, kernel):
        """Draw the padding: none, the amounts that preserve the size, or random amounts."""
        r, padding = self.r, self.r.choice(["valid", "valid", "same", "any"])
        if padding == "any":
            return {
                side: tuple(r.randint(0, size // 2) for size in kernel)
                for side in ("pad_low", "pad_high")
            }
        padded = [size - 1 if padding == "same" else 0 for size in kernel]
        return {
            "pad_low": tuple(size // 2 for size in padded),
            "pad_high": tuple(size - size // 2 for size in padded),
        }

    def kernel(self, dims, features, channels, taps):
        axes = self.r.choice(KERNELS[dims])
        shape = [0] * 4
        for axis, size in zip(axes, (features, channels, *taps), strict=True):
            shape[axis] = size
        return self.b.slot(*shape), axes

    def conv(self, x, at, *, groups=1, features=None, **attrs):
        r, dims = self.r, at.dims
        channels = self.b.shape(x)[dims[1]]
        taps = (r.choice([1, 2, 2, 3, 3, 4]), r.choice([1, 2, 2, 3, 3]))
        features = features or r.choice(CHANNELS[at.whole_channels])
        w, w_dims = self.kernel(dims, features, channels // groups, taps)
        bias = [self.b.slot(features)] if r.random() < 0.6 else []
        dilation = (
            (1, 1)
            if "x_dilation" in attrs or at.stride > 1 or r.random() < 0.7
            else (2, r.choice([1, 2, 3]))
        )
        pads = self.window(taps)
        if "x_dilation" in attrs:
            pads = {
                side: tuple(size - 1 - pad for size, pad in zip(taps, values, strict=True))
                for side, values in pads.items()
            }
        attributes = {
            "strides": (at.stride, r.choice([1, at.stride, at.stride])),
            "dilation": dilation,
            "groups": groups,
            **pads,
        } | attrs
        return self.b.op(
            "Conv", x, w, *bias, x_dims=dims, w_dims=w_dims, out_dims=dims, **attributes
        )

    def transposed(self, x, at):
        spread = (at.stride, self.r.choice([1, at.stride, at.stride, at.stride]))
        return self.conv(x, at, strides=(1, 1), x_dilation=spread)

    def depthwise(self, x, at):
        channels = self.b.shape(x)[at.dims[1]]
        return self.conv(x, at, groups=channels, features=channels * self.r.choice([1, 1, 2]))

    def grouped(self, x, at):
        channels = self.b.shape(x)[at.dims[1]]
        groups = self.r.choice([n for n in (2, 3, 4, 5, 8) if channels % n == 0] or [1])
        return self.conv(x, at, groups=groups, features=groups * self.r.choice([1, 2, 4, 5]))

    def pool(self, x, at):
        r, axes = self.r, at.dims[2:]
        taps = (r.choice([2, 3]), r.choice([1, 2, 3]))
        strides = (at.stride, r.choice([1, at.stride]))
        return self.b.op(
            r.choice(["MaxPool", "AvgPool"]),
            x,
            axes=axes,
            window=taps,
            strides=strides,
            dilation=(1, 1),
            **self.window(taps),
        )

    def dense(self, x, at):
        """Add a product with weights, along the last axis or over the flattened elements of an
        example.
        """
        r, shape = self.r, self.b.shape(x)
        features = r.choice(CHANNELS[at.whole_channels])
        if r.random() < 0.5:
            x = self.b.op("Reshape", x, shape=(shape[0], shape[1] * shape[2] * shape[3]))
        w = self.b.slot(self.b.shape(x)[-1], features)
        y = self.b.op("MatMul", x, w)
        y = self.b.op("Add", y, self.b.slot(features)) if r.random() < 0.6 else y
        size = len(self.b.shape(y))
        return (
            y
            if size == 4
            else self.b.op(
                "Reshape",
                y,
                shape=(shape[0], *((1, 1, features) if at.dims == LAST else (features, 1, 1))),
            )
        )

    def follow(self, y, at):
        r, b, shape = self.r, self.b, self.b.shape(y)
        if at.epilogue in ("activation", "residual_activation"):
            y = b.op(r.choice(ACTIVATIONS), y)
        if at.epilogue.startswith("residual"):
            y = b.op(r.choice(["Add", "Mul"]), y, self.add_input(shape))
        if at.epilogue == "concat":
            y = b.op(
                "Concat",
                *r.sample([y, self.add_input(shape)], 2),
                axis=r.choice([at.dims[1], at.dims[1], *at.dims[2:]]),
            )
        if at.epilogue == "concat_of_two":
            channels = r.choice(CHANNELS[r.random() < 0.5])
            wide = list(shape)
            wide[at.dims[1]] = channels
            y = b.op(
                "Concat",
                *r.sample([b.op("Relu", y), b.op("Tanh", self.add_input(tuple(wide))), y], 3),
                axis=at.dims[1],
            )
        if at.epilogue == "norm":
            features = shape[at.dims[1]]
            variance = b.op("Add", b.op("Square", b.slot(features)), b.scalar(0.5))
            y = b.op(
                "BatchNorm",
                y,
                *(b.slot(features) for _ in range(3)),
                variance,
                axis=at.dims[1],
                epsilon=0.01,
            )
        return b.op("Mul", y, b.scalar(-0.5)) if at.epilogue == "scaled" else y

    def add_input(self, shape):
        name = f"x{len(self.b.variables)}"
        self.inputs.append(self.b.declare(name, Type("float32", shape)))
        return name


def graph(seed, points=None):
    """One to three layers of one layout; `points` of the cross product replace drawn ones."""
    r = random.Random(seed)
    layers = Layers(r)
    steps = points or [point(r) for _ in range(r.choice([1, 1, 2, 3]))]
    first = steps[0]
    shape = [0] * 4
    height, width = (r.choice(SIZES[first.whole_sizes]) for _ in range(2))
    for axis, size in zip(
        first.dims,
        (r.choice([1, 1, 2]), r.choice(CHANNELS[first.whole_channels]), height, width),
        strict=True,
    ):
        shape[axis] = size
    x = layers.add_input(tuple(shape))
    outputs = {}
    for at in (replace(step, dims=first.dims) for step in steps):
        declared = set(layers.b.variables)
        count, inputs = len(layers.b.nodes), len(layers.inputs)
        try:
            y = getattr(layers, at.family)(x, at)
            x = layers.follow(y, at)
        except ShapeError:
            del layers.b.nodes[count:], layers.inputs[inputs:]
            for name in set(layers.b.variables) - declared:
                del layers.b.variables[name]
                layers.b.slots.discard(name)
                layers.b.constants.pop(name, None)
            continue
        if r.random() < 0.2:
            outputs[f"also{len(outputs)}"] = y
    b = layers.b
    result = Graph(
        "g",
        tuple(b.nodes),
        b.variables,
        tuple(layers.inputs),
        {"out": x, **outputs},
        frozenset(b.slots),
        b.constants,
    )
    return remove_unused(result)
