"""Windows along the innermost axis: which of them copy their padding, and their results."""

from itertools import product
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
from tests.convolutions import PLAIN_2D
from tests.programs import rewritten
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.conv_cases import NCHW
from webkiln.ops.operator import Case
from webkiln.ops.table import parse

POOL = {"axes": (2, 3), "window": (3, 3)}


def windows():
    """Depthwise convolutions and pools of images stored channel by channel: widths around the
    register's, padding on no, one or both sides, cropping, strides and dilation.
    """
    rng = np.random.default_rng(0)
    for width, stride, dilation, (low, high) in product(
        (3, 4, 6, 9, 17), (1, 2), (1, 2), ((0, 0), (1, 1), (2, 0), (0, 2), (2, -1), (-1, 2))
    ):
        if width + low + high < 2 * dilation + 1:
            continue
        attrs = {
            "strides": (1, stride),
            "dilation": (1, dilation),
            "pad_low": (1, low),
            "pad_high": (1, high),
        }
        x = rng.standard_normal((2, 3, 5, width)).astype(np.float32)
        name = f"{width}/{stride}, dilation {dilation}, pads {low} and {high}"
        w, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((3, 1, 3, 3), (3,)))
        yield "Conv", Case((x, w, b), PLAIN_2D | NCHW | {"groups": 3} | attrs, 1e-5, name)
        if low >= 0 and high >= 0:
            yield "MaxPool", Case((x,), POOL | attrs, 0, name)


@pytest.mark.parametrize("variant", ["simd", "relaxed"])
def test_windows_of_every_kind(variant, tmp_path):
    cases = list(windows())
    results = run(
        [node_job(op, case, trained=True) for op, case in cases], "wasm", tmp_path, variant
    )
    for (op, case), outputs in zip(cases, results, strict=True):
        for name, value in expected(op, case).items():
            assert relative_error(outputs[name], value) <= case.tolerance, (op, case.name)


def copies(text: str, backend: str = "wasm") -> list[str]:
    """The names of the copies with padding in the program of a graph."""
    graph = parse("graph g\n" + dedent(text).strip() + "\n")
    program = rewritten(graph, REGISTRY[backend], without=())
    return [name for name in program.buffers if name.endswith("~padded")]


def depthwise(width: str = "16", stride: int = 1, dtype: str = "float32") -> str:
    out = width if stride == 1 else "8"
    return f"""
        input x: {dtype}[1,8,16,{width}]
        slot w: {dtype}[8,1,3,3]
        y: {dtype}[1,8,16,{out}] = Conv(x, w) {{"dilation":[1,1],"groups":8,"out_dims":[0,1,2,3],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,{stride}],"w_dims":[0,1,2,3],"x_dims":[0,1,2,3]}}
        output y = y
        """  # noqa: E501


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8"])
def test_depthwise_convolutions_copy_their_padding(dtype):
    assert copies(depthwise(dtype=dtype)) == ["y~padded"]


def test_windows_that_stay_scalar_copy_nothing():
    assert copies(depthwise(stride=2)) == []


def test_open_widths_are_not_copied():
    assert copies(depthwise(width="W")) == []


def test_only_vectors_need_copies():
    assert copies(depthwise(), "js") == copies(depthwise(), "webgpu") == []


def test_rows_of_open_number_are_copied():
    assert copies(depthwise().replace("[1,8,", "[N,8,")) == ["y~padded"]
