"""Sliding windows along a row: which contractions have them, and depthwise convolutions of every
size against the operator's reference.
"""

import json
from itertools import product

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
from tests.convolutions import PLAIN_2D
from tests.hosts import SAMPLED_VARIANTS
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.nest.schedule import Slide
from webkiln.ops.conv_cases import NHWC
from webkiln.ops.conv_loops import Conv
from webkiln.ops.operator import Case
from webkiln.ops.table import parse


def depthwise(width, *, kernel=3, stride=1, dilation=1, pads=(1, 1), features=8):
    span = (kernel - 1) * dilation + 1
    out = (width + sum(pads) - span) // stride + 1 if isinstance(width, int) else width
    attributes = {
        "strides": (1, stride),
        "dilation": (1, dilation),
        "groups": features,
        "pad_low": (0, pads[0]),
        "pad_high": (0, pads[1]),
    }
    attrs = json.dumps(PLAIN_2D | NHWC | attributes)
    return parse(f"""graph g
input x: float32[1,5,{width},{features}]
slot w: float32[1,{kernel},1,{features}]
y: float32[1,5,{out},{features}] = Conv(x, w) {attrs}
output y = y
""")


def schedule(graph, backend="wasm"):
    *_, call = REGISTRY[backend].plan(graph).calls
    return call.schedule


@pytest.mark.parametrize(
    ("graph", "count", "slide"),
    [
        (depthwise(56), 7, Slide(3, 1, 1, 8)),
        (depthwise(16), 4, Slide(3, 1, 1, 5)),
        (depthwise(31), 7, Slide(3, 1, 1, 9)),
        (depthwise(56, kernel=5, pads=(2, 2)), 7, Slide(5, 1, 2, 9)),
        (depthwise(56, stride=2, pads=(0, 1)), 7, Slide(3, 2, 0, 14)),
        (depthwise(56, pads=(1, 1), dilation=2), 7, Slide(3, 1, 0, 0)),
        (depthwise(58, pads=(0, 0)), 7, Slide(3, 1, 0, 9)),
    ],
)
def test_windows_slide(graph, count, slide):
    chosen = schedule(graph)
    if graph.nodes[0].attrs_as(Conv).dilation == (1, 2):
        assert chosen.slide is None, "the windows of neighbours interleave"
        return
    assert (chosen.tile.count, chosen.slide) == (count, slide)


@pytest.mark.parametrize(
    "graph", [depthwise(13), depthwise(56, stride=3), depthwise(57, kernel=9, pads=(4, 4))]
)
def test_other_windows_do_not_slide(graph):
    assert schedule(graph).slide is None


@pytest.mark.parametrize("backend", ["js", "webgpu", "webgl"])
def test_other_backends_do_not_slide(backend):
    assert getattr(schedule(depthwise(56), backend), "slide", None) is None


def images():
    rng = np.random.default_rng(0)
    for width, kernel, stride, dilation, pads in product(
        (7, 12, 30), (2, 3, 5, 7), (1, 2), (1, 2), ((0, 0), (1, 1), (0, 2))
    ):
        for features in (4, 20) if width > 7 else (3, 8):
            if width + sum(pads) < (kernel - 1) * dilation + 1:
                continue
            attrs = (
                PLAIN_2D
                | NHWC
                | {
                    "groups": features,
                    "strides": (1, stride),
                    "dilation": (1, dilation),
                }
            )
            attrs |= {"pad_low": (1, pads[0]), "pad_high": (1, pads[1])}
            x, w = (
                rng.standard_normal(shape).astype(np.float32)
                for shape in ((2, 4, width, features), (2, kernel, 1, features))
            )
            name = (
                f"{width} of {features} by {kernel}, stride {stride}, dilation {dilation}, pads"
                f" {pads}"
            )
            yield Case((x, w, rng.standard_normal(features).astype(np.float32)), attrs, 1e-5, name)


@pytest.mark.parametrize(("variant", "every"), SAMPLED_VARIANTS)
def test_rows_of_every_size(variant, every, tmp_path):
    cases = list(images())[::every]
    results = run(
        [node_job("Conv", case, trained=True) for case in cases], "wasm", tmp_path, variant
    )
    for case, outputs in zip(cases, results, strict=True):
        for name, value in expected("Conv", case).items():
            assert relative_error(outputs[name], value) <= case.tolerance, case.name
