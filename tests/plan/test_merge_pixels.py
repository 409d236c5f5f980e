"""Tiles over the pixels of an image: the division that recovers rows and columns, and images of
every size against the operator's reference.
"""

from itertools import product

import numpy as np
import pytest

from tests.backends.harness import expected, node_job, run
from tests.convolutions import PLAIN_2D
from tests.hosts import SAMPLED_VARIANTS
from webkiln.backends.compare import relative_error
from webkiln.ir.types import Type
from webkiln.nest.build import Lowering
from webkiln.nest.interpret import interpret
from webkiln.nest.steps import View, calls
from webkiln.ops.conv_cases import NHWC
from webkiln.ops.operator import Case
from webkiln.plan.integer_division import RECIPROCAL_BITS, by_reciprocal


@pytest.mark.parametrize(
    "width", [1, 2, 3, 7, 56, 224, 255, 256, 257, 4093, 65535, 65536, 2**20 + 7, 2**24 - 1]
)
def test_multiplication_by_reciprocals_divides_exactly(width):
    limit = min(2**24, 2**RECIPROCAL_BITS // width)
    edges = np.arange(0, limit, width)[[0, 1, -2, -1]] if limit > width else np.array([0])
    numbers = np.unique(
        np.clip(np.concatenate([edges, edges - 1, edges + 1, [limit - 1]]), 0, limit - 1)
    ).astype(np.int32)
    low = Lowering(
        [View("x", Type("int32", numbers.shape))],
        [View("y", Type("int32", numbers.shape))],
        "divide",
    )
    nest = low.nest()
    index = nest.axes(numbers.shape)
    nest.store(low.outputs[0], by_reciprocal(nest.load(low.inputs[0], index), nest.argument(width)))
    nest.done()
    (call,) = calls(low.steps)
    quotients = np.empty_like(numbers)
    interpret(call.nest, [numbers], call.args, [quotients])
    np.testing.assert_array_equal(quotients, numbers // width)


def images():
    """Heights and widths around the tile size, with and without padding and strides. Features fill
    vectors or do not.
    """
    rng = np.random.default_rng(0)
    for height, width, stride, pad, features in product(
        (1, 2, 5, 9), (1, 3, 6, 7, 13), (1, 2), (0, 1), (3, 8, 20)
    ):
        if min(height, width) + 2 * pad < 3:
            continue
        attrs = (
            PLAIN_2D
            | NHWC
            | {"strides": (stride, stride), "pad_low": (pad, pad), "pad_high": (pad, pad)}
        )
        x, w, b = (
            rng.standard_normal(shape).astype(np.float32)
            for shape in ((2, height, width, 9), (3, 3, 9, features), (features,))
        )
        yield Case((x, w, b), attrs, 1e-5, f"{height}x{width}/{stride} pad {pad} of {features}")


@pytest.mark.parametrize(("variant", "every"), SAMPLED_VARIANTS)
def test_images_of_every_size(variant, every, tmp_path):
    cases = list(images())[::every]
    results = run(
        [node_job("Conv", case, trained=True) for case in cases], "wasm", tmp_path, variant
    )
    for case, outputs in zip(cases, results, strict=True):
        for name, value in expected("Conv", case).items():
            assert relative_error(outputs[name], value) <= case.tolerance, case.name
