"""Convolutions of few channels in the forms of classes of GPUs match those of PyTorch: filters,
strides, dilation, padding, widths and columns that fill no vector, batches, both layouts.
"""

from itertools import cycle, product

import numpy as np
import pytest
import torch

from tests.backends.harness import Prepared, run_programs
from tests.programs import program, with_target
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.table import parse
from webkiln.plan import window_forms
from webkiln.weights.shards import pieces, stored, write

ADAPTERS = {
    8: {"vendor": "intel", "architecture": "gen-12lp"},
    132: {"vendor": "nvidia", "architecture": "hopper"},
}
NHWC, NCHW = [0, 3, 1, 2], [0, 1, 2, 3]
HWIO, OIHW, OHWI = [3, 2, 0, 1], [0, 1, 2, 3], [0, 3, 1, 2]

CASES = {
    "7x7, stride 2": {"side": (37, 43), "taps": (7, 7), "stride": 2, "pad": (3, 2)},
    "3x3, stride 2": {"pad": (0, 1), "stride": 2, "filters": 32},
    "3x3": {"channels": 1, "filters": 16},
    "5x5 of a batch": {"batch": 3, "taps": (5, 5), "channels": 2, "filters": 24},
    "11x11, stride 4": {"side": (51, 67), "taps": (11, 11), "stride": 4, "pad": (2, 2)},
    "11x11 of 4 channels": {"side": (51, 47), "taps": (11, 11), "stride": 4, "channels": 4},
    "without padding": {"pad": (0, 0), "taps": (5, 5), "stride": 2},
    "dilation": {"dilation": 2, "pad": (2, 2)},
    "dilation and stride": {"dilation": 3, "stride": 2, "pad": (3, 1), "channels": 4},
    "columns that are no vectors": {"filters": 21, "channels": 4, "stride": 2},
    "few columns": {"filters": 5, "side": (40, 50), "taps": (7, 7)},
    "whole vectors of pixels": {"side": (24, 40), "filters": 40},
    "no overlap": {"taps": (4, 4), "stride": 4, "pad": (0, 0), "side": (64, 60), "filters": 96},
    "one row of taps": {"taps": (1, 9), "pad": (0, 4), "channels": 2, "filters": 24},
}
LAYOUTS = {
    "NHWC": (NHWC, HWIO),
    "NCHW": (NCHW, OIHW),
    "NHWC, filters first": (NHWC, OHWI),
    "NHWC of NCHW filters": (NHWC, OIHW),
}
USUAL = {"batch": 1, "side": (29, 31), "channels": 3, "filters": 48, "taps": (3, 3)}
USUAL |= {"stride": 1, "dilation": 1, "pad": (1, 1)}


def permuted(shape, order):
    """The shape of a tensor whose dimensions `order` are the standard ones."""
    result = [0] * len(shape)
    for size, dim in zip(shape, order, strict=True):
        result[dim] = size
    return tuple(result)


def graph_of(case, layout):
    """The graph of a convolution with a bias, a residual and an activation."""
    case = USUAL | case
    dims, kernel = LAYOUTS[layout]
    spans = [(taps - 1) * case["dilation"] + 1 for taps in case["taps"]]
    sizes = [
        (side + sum(case["pad"]) - span) // case["stride"] + 1
        for side, span in zip(case["side"], spans, strict=True)
    ]
    low, high = case["pad"]
    shapes = {
        "x": permuted((case["batch"], case["channels"], *case["side"]), dims),
        "w": permuted((case["filters"], case["channels"], *case["taps"]), kernel),
        "b": (case["filters"],),
        "y": permuted((case["batch"], case["filters"], *sizes), dims),
    }
    types = {name: f"float32{list(shape)}".replace(" ", "") for name, shape in shapes.items()}
    both = f"[{case['stride']},{case['stride']}]"
    return parse(
        "graph g\n"
        f"input x: {types['x']}\n"
        f"input r: {types['y']}\n"
        f"slot w: {types['w']}\n"
        f"slot b: {types['b']}\n"
        f"c: {types['y']} = Conv(x, w, b) "
        f'{{"dilation":[{case["dilation"]},{case["dilation"]}],"out_dims":{dims},'
        f'"pad_high":[{high},{high}],"pad_low":[{low},{low}],"strides":{both},'
        f'"w_dims":{kernel},"x_dims":{dims}}}\n'
        f"s: {types['y']} = Add(c, r)\n"
        f"y: {types['y']} = Relu(s)\n"
        "output y = y\n"
    )


def reference(case, layout, values):
    """What PyTorch computes."""
    case = USUAL | case
    dims, kernel = LAYOUTS[layout]
    image, weights = (
        torch.from_numpy(values[name]).permute(*order).double()
        for name, order in (("x", dims), ("w", kernel))
    )
    low, high = case["pad"]
    padded = torch.nn.functional.pad(image, (low, high, low, high))
    y = torch.nn.functional.conv2d(
        padded,
        weights,
        torch.from_numpy(values["b"]).double(),
        case["stride"],
        0,
        case["dilation"],
    )
    return np.maximum(y.permute(*np.argsort(dims).tolist()).numpy() + values["r"], 0)


def prepared(graph, backend=REGISTRY["webgpu"]):
    rng = np.random.default_rng(len(graph.nodes))
    values = {
        item: rng.standard_normal(graph.type(item).shape).astype(np.float32)
        for item in (*graph.inputs, *graph.slots)
    }
    compiled = program(graph, backend, "float32")
    shards = list(write(pieces(stored(graph), "float32"), values.__getitem__))
    return values, Prepared(compiled, {n: values[n] for n in graph.inputs}, shards)


def windows(steps, kernels, multiprocessors):
    """The windows of the schedules that a device runs."""
    for step in steps:
        if "multiprocessors" in step:
            block = "then" if multiprocessors >= step["multiprocessors"] else "else"
            yield from windows(step[block], kernels, multiprocessors)
        elif "window" in kernels[step["kernel"]]["schedule"]:
            yield kernels[step["kernel"]]["schedule"]["window"]


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch):
    monkeypatch.setattr(window_forms, "MIN_PRODUCTS", 1 << 12)


@pytest.mark.parametrize(
    ("multiprocessors", "layouts"), [(8, ("NHWC", "NCHW")), (132, ("NHWC, filters first",))]
)
@pytest.mark.parametrize("used", representative(["all", "in turn"], "in turn"))
def test_convolutions_match_pytorch(multiprocessors, layouts, used, tmp_path):
    """`used`: the layouts of each case."""
    in_turn = zip(CASES, cycle(layouts), strict=False)
    names = list(in_turn if used == "in turn" else product(CASES, layouts))
    cases = [prepared(graph_of(CASES[name], layout)) for name, layout in names]
    for name, (_, item) in zip(names, cases, strict=True):
        found = windows(item.program["main"], item.program["kernels"], multiprocessors)
        assert len(list(found)) == 1, name
    results = run_programs(
        [item for _, item in cases], "webgpu", tmp_path, adapter=ADAPTERS[multiprocessors]
    )
    for (name, layout), (values, _), outputs in zip(names, cases, results, strict=True):
        expected = reference(CASES[name], layout, values)
        assert relative_error(outputs["y"], expected) < 2e-5, (name, layout)


def test_weights_stored_as_float16(tmp_path):
    backend = with_target(REGISTRY["webgpu"], precision="float16")
    names = [("7x7, stride 2", layout) for layout in LAYOUTS]
    names.append(("columns that are no vectors", "NHWC"))
    cases = [prepared(graph_of(CASES[name], layout), backend) for name, layout in names]
    for _, item in cases:
        assert "float16" in {
            dtype
            for kernel in item.program["kernels"].values()
            if "window" in kernel["schedule"]
            for dtype, _ in kernel["nest"]["inputs"]
        }
    results = run_programs([item for _, item in cases], "webgpu", tmp_path, adapter=ADAPTERS[8])
    for (name, layout), (values, _), outputs in zip(names, cases, results, strict=True):
        rounded = values | {n: values[n].astype(np.float16).astype(np.float32) for n in "wb"}
        expected = reference(CASES[name], layout, rounded)
        assert relative_error(outputs["y"], expected) < 2e-5, (name, layout)


def launches(steps, kernels):
    """The schedules and the views of the launches of an emulated GPU."""
    for step in steps:
        if "multiprocessors" in step:
            yield from launches(step["else"], kernels)
        else:
            yield kernels[step["kernel"]], step["args"], step["operands"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CASES)
def test_emulated_gpus_keep_their_schedules(name, layout):
    graph = graph_of(CASES[name], layout)
    found = program(graph, REGISTRY["webgpu"])
    plain = program(graph, with_target(REGISTRY["webgpu"], runs={"classes": ()}))
    assert list(launches(found["main"], found["kernels"])) == list(
        launches(plain["main"], plain["kernels"])
    )
