"""Row tiling of depthwise convolutions and the products around them: which chains are tiled, which
are not, and that results are bit-identical.
"""

import random

import numpy as np
import pytest

from tests.lower.chain_graphs import check_no_bit_changes, job, random_values
from tests.lower.fused_calls import run_calls, values_of
from tests.passes.graphs import Builder
from tests.programs import program, rewritten, with_target
from tests.sampling import representative
from webkiln.backends.table import REGISTRY
from webkiln.codegen.steps import flops
from webkiln.ir import symbols
from webkiln.ir.graph import Graph
from webkiln.ir.text import print_graph
from webkiln.ir.types import Type
from webkiln.nest.steps import Repeat

LAYOUTS = {"last": ((0, 3, 1, 2), (3, 2, 0, 1)), "first": ((0, 1, 2, 3), (0, 1, 2, 3))}
"""The positions of batch, channels, rows and columns of images, and of features, channels, rows and
columns of filters.
"""
LIMIT = 6 << 10


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


TILED = {
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
SYMBOLIC = {
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
SIZES = [
    {"H": 83, "W": 11, "N": 3},
    {"H": 3, "W": 2, "N": 1},
    {"H": 33, "W": 2, "N": 7},
    {"H": 64, "W": 36, "N": 2},
]
UNTILED = {
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


def limited(backend, limit=LIMIT):
    return with_target(REGISTRY[backend], runs={"row_tile_bytes": limit})


def repeats(network, limit=LIMIT):
    return [
        step
        for step in rewritten(network.graph, limited("js", limit)).steps
        if isinstance(step, Repeat)
    ]


@pytest.mark.parametrize(
    ("backend", "every"), representative([("js", 4), ("js", 1), ("wasm", 1)], ("js", 4))
)
def test_tiles_change_no_bit(backend, every, tmp_path, monkeypatch):
    graphs = {name: (network.graph, SIZES[0]) for name, network in (TILED | UNTILED).items()}
    graphs |= {
        f"{name}, {sizes}": (network.graph, sizes)
        for name, network in SYMBOLIC.items()
        for sizes in SIZES
    }
    jobs = {
        name: job(graph, random_values(graph, sizes=sizes))
        for name, (graph, sizes) in list(graphs.items())[::every]
    }
    check_no_bit_changes(
        jobs, backend, [limited(backend, limit) for limit in (0, LIMIT)], tmp_path, monkeypatch
    )


@pytest.mark.parametrize("name", TILED)
def test_intermediate_results_are_halved(name):
    network = TILED[name]
    full_sizes = {
        call.outputs[0].name: call.outputs[0].type.size
        for call in rewritten(network.graph, limited("js", 0)).calls
    }
    between = [call.outputs[0] for step in repeats(network) for call in step.steps[:-1]]
    assert between
    assert 2 * sum(view.type.size for view in between) <= sum(
        full_sizes[view.name] for view in between
    )


@pytest.mark.parametrize("name", SYMBOLIC)
def test_intermediate_results_do_not_grow_with_the_rows(name):
    """Twice the rows, or images, leave the intermediate results at the same size."""
    network = SYMBOLIC[name]
    (size, *_) = (
        size for size in ("N", "H", "W") if size in symbols.names(network.graph.type("image").shape)
    )
    between = [
        view for step in repeats(network) for call in step.steps[:-1] for view in call.outputs
    ]
    assert between
    for view in between:
        long, longer = (
            symbols.substitute(view.type.size, {"N": 1, "H": 256, "W": 256} | {size: length})
            for length in (512, 1024)
        )
        assert longer < 1.1 * long


@pytest.mark.parametrize("name", TILED)
def test_few_operations_are_repeated(name):
    untiled, tiled = (
        flops(program(TILED[name].graph, limited("js", limit), "float32")["main"])
        for limit in (0, LIMIT)
    )
    assert tiled <= 1.13 * untiled


@pytest.mark.parametrize("name", UNTILED)
def test_other_chains_are_not_tiled(name):
    assert not repeats(UNTILED[name])


def test_intermediate_results_that_fit_are_not_tiled():
    network = TILED["a window of three"]
    assert not repeats(network, 28 * 14 * 48 * 4)
    assert repeats(network, 28 * 14 * 48 * 4 - 4)


def test_outer_dimensions_are_tiled_first():
    """Of images, rows and columns, the first dimension that saves enough."""
    for layout in LAYOUTS:
        (step,) = repeats(net(24, 60, 8, layout).inverted(48, 8))
        assert all(call.outputs[0].type.size % 60 == 0 for call in step.steps)
    (step,) = repeats(net(8, 8, 8, batch=9).inverted(48, 8), 16 << 10)
    assert step.count == 9


def test_a_long_chain_becomes_several_repeats():
    network = net(64, 16, 24)
    for _ in range(60):
        network.depthwise((5, 5), low=2, high=2).conv(24)
    assert len(repeats(network)) > 10


def test_memory_excludes_wide_intermediate_results():
    """A block whose wide tensors take 38 MB needs less than 8 MB when tiled."""
    network = net(448, 112, 8).inverted(96, 8)
    assert program(network.graph, limited("wasm", 0), "float32")["memory"] > 36 << 20
    assert program(network.graph, REGISTRY["wasm"], "float32")["memory"] < 8 << 20


@pytest.mark.parametrize("start", range(0, 240, 40))
@pytest.mark.sample(3)
def test_random_blocks(start):
    repeats_found = 0
    for seed in range(start, start + 40):
        draw = random.Random(seed)
        network = net(
            draw.randint(3, 40),
            draw.choice([1, 2, 5, 9, 20, 60]),
            draw.randint(1, 6),
            draw.choice(["last", "first"]),
            draw.choice([1, 1, 2]),
        )
        for _ in range(draw.randint(1, 3)):
            rows, columns = (network.shape(network.x)[network.images[d]] for d in (2, 3))
            kernel, dilation = (draw.randint(1, 5), draw.randint(1, 3)), draw.randint(1, 2)
            reach = (kernel[0] - 1) * dilation + 1, kernel[1]
            low, high = (tuple(draw.randint(0, 3) for _ in range(2)) for _ in range(2))
            if rows + low[0] + high[0] < reach[0] or columns + low[1] + high[1] < reach[1]:
                break
            if draw.random() < 0.7:
                network.conv(draw.randint(1, 24))
            network.depthwise(
                kernel, stride=draw.randint(1, 3), low=low, high=high, dilation=dilation
            )
            if draw.random() < 0.7:
                network.conv(draw.randint(1, 12), act=None)
        if not network.nodes:
            continue
        values = values_of(network.graph, seed)
        untiled, tiled = (
            run_calls(network.graph, values, limited("js", limit)) for limit in (0, 256)
        )
        repeats_found += len(repeats(network, 256))
        assert all(np.array_equal(untiled[key], tiled[key]) for key in untiled), (
            f"seed {seed}\n{print_graph(network.graph)}"
        )
    assert repeats_found > 5
