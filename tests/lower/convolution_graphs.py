"""Networks of depthwise convolutions and the products around them, and others that look similar."""

from tests.passes.graphs import Builder
from webkiln.ir import symbols
from webkiln.ir.graph import Graph
from webkiln.ir.types import Type

LAYOUTS = {"last": ((0, 3, 1, 2), (3, 2, 0, 1)), "first": ((0, 1, 2, 3), (0, 1, 2, 3))}
"""The positions of batch, channels, rows and columns of images, and of features, channels, rows and
columns of filters.
"""


class Net(Builder):
    """Convolutions of one image, with random values."""

    def __init__(self, rows, columns, channels, layout="last", batch=1):
        super().__init__()
        self.images, self.filters = LAYOUTS[layout]
        sizes = [
            symbols.placeholder(size) if isinstance(size, str) else size
            for size in (batch, channels, rows, columns)
        ]
        self.image = self.x = self.declare(
            "image", Type("float32", tuple(sizes[self.images.index(d)] for d in range(4)))
        )
        self.outputs = []

    @property
    def channels(self):
        return self.shape(self.x)[self.images[1]]

    def conv(
        self, features, kernel=(1, 1), *, groups=1, stride=1, low=0, high=0, dilation=1, act="Relu"
    ):
        sizes = features, self.channels // groups, *kernel
        w = self.slot(*(sizes[self.filters.index(d)] for d in range(4)))
        low, high = (((size, size) if isinstance(size, int) else size) for size in (low, high))
        result = self.op(
            "Conv",
            self.x,
            w,
            self.slot(features),
            x_dims=self.images,
            w_dims=self.filters,
            out_dims=self.images,
            strides=(stride, stride),
            dilation=(dilation, 1),
            pad_low=low,
            pad_high=high,
            groups=groups,
        )
        self.x = self.op(act, result) if act else result
        return self

    def depthwise(self, kernel=(3, 3), **attrs):
        return self.conv(
            self.channels, kernel, groups=self.channels, **({"low": 1, "high": 1} | attrs)
        )

    def inverted(self, wide, features, **attrs):
        """An inverted residual block as in MobileNetV2."""
        return self.conv(wide).depthwise(**attrs).conv(features, act=None)

    def residual(self, before):
        self.x = self.op("Add", self.x, before)
        return self

    def output(self):
        self.outputs.append(self.x)
        return self

    @property
    def graph(self):
        outputs = {f"out{n}": name for n, name in enumerate([*self.outputs, self.x])}
        return Graph(
            "net",
            tuple(self.nodes),
            self.variables,
            (self.image,),
            outputs,
            frozenset(self.slots),
            self.constants,
        )


def net(*args, **kwargs):
    return Net(*args, **kwargs)


def in_a_concatenation(axis, *, first):
    """The result and a copy of the image, concatenated along an axis and read by a convolution."""
    network = net(28, 16, 8, batch=2 if axis == 0 else 1)
    other = network.op("Exp", network.image)
    network.outputs.append(network.op("Neg", other))
    network.inverted(48, 8)
    network.x = network.op(
        "Concat", *([network.x, other] if first else [other, network.x]), axis=axis
    )
    return network.conv(8, (3, 3), low=1, high=1)


def with_residual(rows):
    network = net(rows, 12, 8)
    before = network.conv(8, act=None).x
    return network.inverted(48, 8).residual(before)


WINDOW_CHAINS = {
    "a window of three": net(28, 14, 8).inverted(48, 8),
    "a stride": net(28, 14, 8).inverted(48, 12, stride=2, low=0, high=1),
    "a stride and an odd number of rows": net(31, 13, 8).inverted(48, 12, stride=2),
    "a stride beyond the window": net(36, 12, 8).inverted(
        48, 8, stride=3, kernel=(2, 2), low=0, high=0
    ),
    "a window of five": net(40, 10, 8).inverted(40, 8, kernel=(5, 5), low=2, high=2),
    "no padding": net(30, 14, 8).inverted(40, 8, low=0, high=0),
    "padding as large as the window": net(30, 12, 8).inverted(40, 8, low=(3, 1), high=(4, 1)),
    "more above": net(30, 12, 8).inverted(40, 8, low=(2, 0), high=(0, 2)),
    "dilation": net(37, 12, 8).inverted(40, 8, dilation=2, low=(2, 1), high=(2, 1)),
    "a window of rows": net(30, 12, 8).inverted(40, 8, kernel=(3, 1), low=(1, 0), high=(1, 0)),
    "a window of columns": net(29, 12, 8).inverted(40, 8, kernel=(1, 3), low=(0, 1), high=(0, 1)),
    "a prime number of rows": net(29, 11, 5).inverted(37, 7),
    "channels first": net(28, 14, 8, "first").inverted(48, 8, stride=2, low=0, high=1),
    "images": net(20, 8, 8, batch=3).inverted(32, 8),
    "a residual": with_residual(20),
    "a residual of a prime number of rows": with_residual(29),
    "depthwise first": net(30, 14, 24).depthwise().conv(8),
    "depthwise last": net(30, 14, 8).conv(48).depthwise(stride=3),
    "one after the other": net(60, 6, 24)
    .depthwise()
    .conv(32)
    .depthwise()
    .conv(32)
    .depthwise(stride=2)
    .conv(8),
    "padding that adds rows": net(26, 12, 8).inverted(
        40, 8, kernel=(1, 3), low=(0, 1), high=(4, 1)
    ),
    "more columns than rows": net(24, 60, 8).inverted(
        48, 8, kernel=(3, 5), low=(1, 2), high=(1, 2)
    ),
    "more columns than rows, channels first": net(24, 60, 8, "first").inverted(48, 8),
    "padded columns": net(12, 256, 8, "first").inverted(24, 4).conv(12),
    "a prefix of the chain": net(40, 8, 8)
    .inverted(48, 200)
    .depthwise((7, 7), low=3, high=3)
    .conv(300),
    **{
        f"{'first' if first else 'last'} in a concatenation along {axis}": in_a_concatenation(
            axis, first=first
        )
        for axis in (0, 1, 2, 3)
        for first in (True, False)
    },
    "few columns": net(200, 2, 8).inverted(48, 8),
}
SYMBOLIC_WINDOW_CHAINS = {
    "symbolic rows": net("H", 12, 8).inverted(48, 8),
    "symbolic rows and columns": net("H", "W", 8)
    .inverted(48, 8, stride=2, low=0, high=1)
    .inverted(48, 8, kernel=(5, 5), low=2, high=2),
    "symbolic columns": net(41, "W", 8).inverted(48, 8),
    "a symbolic number of images": net(9, 7, 8, batch="N")
    .inverted(48, 8)
    .inverted(48, 8, stride=2),
    "images of symbolic size": net("H", "W", 8, "first", batch="N").inverted(40, 8),
    "depthwise in between": net("H", 12, 24)
    .depthwise()
    .conv(32)
    .depthwise()
    .conv(32)
    .depthwise(stride=2)
    .conv(8),
}
WINDOW_SIZES = [
    {"H": 83, "W": 11, "N": 3},
    {"H": 3, "W": 2, "N": 1},
    {"H": 33, "W": 2, "N": 7},
    {"H": 64, "W": 36, "N": 2},
]
OTHER_CONVOLUTIONS = {
    "a convolution": net(28, 14, 16)
    .conv(16, (3, 3), low=1, high=1)
    .conv(16, (3, 3), low=1, high=1)
    .conv(8),
    "groups of channels": net(28, 14, 8).conv(48).conv(48, (3, 3), groups=6, low=1, high=1).conv(8),
    "products alone": net(28, 14, 8).conv(48).conv(8),
    "results with other readers": net(28, 14, 8)
    .conv(48)
    .output()
    .depthwise()
    .output()
    .conv(8, act=None),
    "small results": net(6, 6, 8).inverted(16, 8),
    "windows of all rows": net(8, 8, 8).conv(64).depthwise((7, 7), low=3, high=3),
    "weights larger than the intermediate results": net(12, 2, 96).inverted(96, 96),
    "convolutions of symbolic size": net("H", 14, 16)
    .conv(16, (3, 3), low=1, high=1)
    .conv(16, (3, 3), low=1, high=1),
}
