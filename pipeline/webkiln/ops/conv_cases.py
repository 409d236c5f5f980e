"""Test cases of the operator Conv."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.ops.operator import Case

NHWC = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "out_dims": (0, 3, 1, 2)}
NCHW = {"x_dims": (0, 1, 2, 3), "w_dims": (0, 1, 2, 3), "out_dims": (0, 1, 2, 3)}
TRANSPOSED = {**NHWC, "x_dilation": (2, 2)}
SAME = {"pad_low": (1, 1), "pad_high": (1, 1)}
PLAIN = {"strides": 1, "dilation": 1, "pad_low": 0, "pad_high": 0}
"""The defaults of attributes with a number per axis."""

CASES: tuple[tuple[str, Sequence[Sequence[int]], Mapping[str, Any]], ...] = (
    ("plain", [(1, 7, 6, 3), (3, 3, 3, 5)], NHWC),
    ("wide", [(2, 9, 8, 8), (3, 3, 8, 37), (37,)], NHWC),
    ("few_features", [(1, 6, 7, 16), (3, 3, 16, 3), (3,)], NHWC | SAME),
    ("one_by_one", [(1, 5, 5, 16), (1, 1, 16, 32), (32,)], NHWC),
    (
        "every_option",
        [(2, 9, 8, 6), (3, 2, 3, 8), (8,)],
        NHWC
        | {"groups": 2, "strides": (2, 1), "dilation": (1, 3)}
        | {"pad_low": (1, 0), "pad_high": (0, 2)},
    ),
    ("depthwise", [(1, 8, 8, 20), (3, 3, 1, 20)], NHWC | SAME | {"groups": 20}),
    ("multiplier", [(1, 6, 6, 4), (3, 3, 1, 8)], NHWC | {"groups": 4}),
    (
        "channels_first",
        [(2, 4, 7, 9), (8, 2, 3, 3), (8,)],
        NCHW | {"groups": 2, "pad_low": (2, 0), "pad_high": (1, 1), "strides": (2, 2)},
    ),
    (
        "transposed",
        [(1, 4, 5, 6), (4, 4, 6, 20), (20,)],
        TRANSPOSED | {"pad_low": (2, 2), "pad_high": (2, 2)},
    ),
    (
        "transposed_odd",
        [(2, 4, 3, 6), (3, 3, 3, 8)],
        TRANSPOSED | {"groups": 2, "pad_low": (2, 1), "pad_high": (1, 2)},
    ),
    (
        "transposed_gap",
        [(1, 3, 4, 5), (1, 2, 5, 8), (8,)],
        TRANSPOSED | {"x_dilation": (3, 4), "pad_low": (0, 1), "pad_high": (2, 3)},
    ),
    (
        "transposed_crop",
        [(1, 5, 4, 3), (2, 3, 3, 4)],
        TRANSPOSED
        | {"strides": (3, 4), "dilation": (2, 3)}
        | {"pad_low": (-1, 4), "pad_high": (2, -1)},
    ),
    (
        "crop",
        [(1, 8, 9, 3), (3, 3, 3, 4)],
        NHWC | {"pad_low": (-1, 2), "pad_high": (1, -2)},
    ),
    (
        "causal_1d",
        [(2, 20, 3), (5, 3, 4)],
        {"x_dims": (0, 2, 1), "w_dims": (2, 1, 0), "out_dims": (0, 2, 1)}
        | {"dilation": (2,), "pad_low": (8,)},
    ),
    (
        "three_d",
        [(1, 4, 5, 6, 2), (2, 3, 3, 2, 5), (5,)],
        {"x_dims": (0, 4, 1, 2, 3), "w_dims": (4, 3, 0, 1, 2), "out_dims": (0, 4, 1, 2, 3)}
        | {"strides": (1, 2, 1), "pad_low": (0, 1, 1), "pad_high": (1, 1, 1)},
    ),
)
"""The name of each case, the shapes of its operands, and its attributes."""


def conv_cases() -> Iterable[Case]:
    rng = np.random.default_rng(1)
    for name, shapes, attrs in CASES:
        inputs = tuple(rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        axes = len(shapes[0]) - 2
        plain = {key: (value,) * axes for key, value in PLAIN.items()}
        yield Case(inputs, {**plain, "groups": 1, **attrs}, name=name)
