"""Test cases of the operator Conv."""

from collections.abc import Iterable

import numpy as np

from webkiln.ir.types import Array
from webkiln.ops.operator import Case

NHWC = {"x_dims": (0, 3, 1, 2), "w_dims": (3, 2, 0, 1), "out_dims": (0, 3, 1, 2)}
NCHW = {"x_dims": (0, 1, 2, 3), "w_dims": (0, 1, 2, 3), "out_dims": (0, 1, 2, 3)}
PLAIN_2D = {
    "strides": (1, 1),
    "dilation": (1, 1),
    "pad_low": (0, 0),
    "pad_high": (0, 0),
    "groups": 1,
}


def conv_cases() -> Iterable[Case]:
    rng = np.random.default_rng(1)

    def make(*shape: int) -> Array:
        return rng.standard_normal(shape).astype(np.float32)

    def case(name: str, x: Array, w: Array, *bias: Array, **attrs: object) -> Case:
        return Case((x, w, *bias), PLAIN_2D | attrs, 1e-5, name)

    yield case("plain", make(1, 7, 6, 3), make(3, 3, 3, 5), **NHWC)
    yield case("wide", make(2, 9, 8, 8), make(3, 3, 8, 37), make(37), **NHWC)
    yield case(
        "few_features",
        make(1, 6, 7, 16),
        make(3, 3, 16, 3),
        make(3),
        **NHWC | {"pad_low": (1, 1), "pad_high": (1, 1)},
    )
    yield case("one_by_one", make(1, 5, 5, 16), make(1, 1, 16, 32), make(32), **NHWC)
    yield case(
        "every_option",
        make(2, 9, 8, 6),
        make(3, 2, 3, 8),
        make(8),
        **NHWC
        | {
            "groups": 2,
            "strides": (2, 1),
            "dilation": (1, 3),
            "pad_low": (1, 0),
            "pad_high": (0, 2),
        },
    )
    yield case(
        "depthwise",
        make(1, 8, 8, 20),
        make(3, 3, 1, 20),
        **NHWC | {"groups": 20, "pad_low": (1, 1), "pad_high": (1, 1)},
    )
    yield case("multiplier", make(1, 6, 6, 4), make(3, 3, 1, 8), **NHWC | {"groups": 4})
    yield case(
        "channels_first",
        make(2, 4, 7, 9),
        make(8, 2, 3, 3),
        make(8),
        **NCHW | {"groups": 2, "pad_low": (2, 0), "pad_high": (1, 1), "strides": (2, 2)},
    )
    transposed = {**NHWC, "x_dilation": (2, 2)}
    yield case(
        "transposed",
        make(1, 4, 5, 6),
        make(4, 4, 6, 20),
        make(20),
        **transposed | {"pad_low": (2, 2), "pad_high": (2, 2)},
    )
    yield case(
        "transposed_odd",
        make(2, 4, 3, 6),
        make(3, 3, 3, 8),
        **transposed | {"groups": 2, "pad_low": (2, 1), "pad_high": (1, 2)},
    )
    yield case(
        "transposed_gap",
        make(1, 3, 4, 5),
        make(1, 2, 5, 8),
        make(8),
        **transposed | {"x_dilation": (3, 4), "pad_low": (0, 1), "pad_high": (2, 3)},
    )
    yield case(
        "transposed_crop",
        make(1, 5, 4, 3),
        make(2, 3, 3, 4),
        **transposed
        | {
            "strides": (3, 4),
            "dilation": (2, 3),
            "pad_low": (-1, 4),
            "pad_high": (2, -1),
        },
    )
    yield case(
        "crop",
        make(1, 8, 9, 3),
        make(3, 3, 3, 4),
        **NHWC | {"pad_low": (-1, 2), "pad_high": (1, -2)},
    )
    yield Case(
        (make(2, 20, 3), make(5, 3, 4)),
        {
            "x_dims": (0, 2, 1),
            "w_dims": (2, 1, 0),
            "out_dims": (0, 2, 1),
            "strides": (1,),
            "dilation": (2,),
            "pad_low": (8,),
            "pad_high": (0,),
            "groups": 1,
        },
        name="causal_1d",
    )
    yield Case(
        (make(1, 4, 5, 6, 2), make(2, 3, 3, 2, 5), make(5)),
        {
            "x_dims": (0, 4, 1, 2, 3),
            "w_dims": (4, 3, 0, 1, 2),
            "out_dims": (0, 4, 1, 2, 3),
            "strides": (1, 2, 1),
            "dilation": (1, 1, 1),
            "pad_low": (0, 1, 1),
            "pad_high": (1, 1, 1),
            "groups": 1,
        },
        name="three_d",
    )
