"""Options of operators that move or select elements."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from tests.frontends.onnx.option_rows import IMAGE, RNG, Row, X, integers, real


def shapes() -> Iterator[Row]:
    for axis in (0, 1, 2, -1, -2):
        yield Row("Concat", 13, (X, X), {"axis": axis})
        yield Row(
            "Split",
            13,
            (
                real(4, 6, 8),
                integers(*[(1, 3), (2, 4), (5, 3), (5, 3), (2, 4)][(0, 1, 2, -1, -2).index(axis)]),
            ),
            {"axis": axis},
            (1,),
            2,
        )
        yield Row("Split", 11, (real(4, 6, 8),), {"axis": axis}, outputs=2)
        yield Row("Gather", 13, (X, integers(1, -1, 0)), {"axis": axis})
        yield Row("GatherElements", 13, (X, RNG.integers(-2, 2, X.shape)), {"axis": axis})
        yield Row("Squeeze", 13, (X[:1, :1, :1], integers(axis)), {}, (1,))
        yield Row("Squeeze", 11, (X[:1, :1, :1],), {"axes": [axis]})
        yield Row("Unsqueeze", 13, (X, integers(axis)), {}, (1,))
        yield Row("Unsqueeze", 11, (X,), {"axes": [axis]})
        for exclusive, reverse in product((0, 1), (0, 1)):
            yield Row(
                "CumSum",
                14,
                (X, np.array(axis)),
                {"exclusive": exclusive, "reverse": reverse},
                (1,),
            )
        for largest, ordered in product((0, 1), (1,)):
            yield Row(
                "TopK",
                11,
                (X, integers(2)),
                {"axis": axis, "largest": largest, "sorted": ordered},
                (1,),
                2,
            )
        yield Row(
            "OneHot", 11, (RNG.integers(-3, 3, (2, 3)), np.array(4), real(2)), {"axis": axis}, (1,)
        )
        for how in ("none", "add", "mul", "max", "min"):
            attrs = {"axis": axis, **({"reduction": how} if how != "none" else {})}
            at = np.zeros((1, 1, 1), np.int64) + 1
            yield Row("ScatterElements", 18, (X, at, real(1, 1, 1)), attrs)
        yield Row("LpNormalization", 11, (X,), {"axis": axis, "p": 1})
        yield Row("LpNormalization", 11, (X,), {"axis": axis, "p": 2})
    yield Row("TopK", 10, (X, integers(2)), {"axis": 1}, (1,), 2)
    yield Row("TopK", 9, (X,), {"axis": 1, "k": 2}, outputs=2)
    for perm in ([0, 2, 1], [2, 0, 1], None):
        yield Row("Transpose", 13, (X,), {"perm": perm} if perm else {})
    for zero, shape in ((0, (0, -1)), (0, (-1, 2)), (1, (2, 12))):
        yield Row("Reshape", 14, (X, integers(*shape)), {"allowzero": zero}, (1,))
    for op, mode in product(("DepthToSpace",), ("DCR", "CRD")):
        yield Row(op, 13, (IMAGE,), {"blocksize": 2, "mode": mode})
    yield Row("DepthToSpace", 9, (IMAGE,), {"blocksize": 2})
    yield Row("SpaceToDepth", 13, (IMAGE[..., :6, :],), {"blocksize": 2})
    for mode, pads in product(
        ("constant", "reflect", "edge"), ((0, 1, 2, 1, 0, 0), (0, 1, 1, 0, 1, 3))
    ):
        yield Row(
            "Pad",
            13,
            (X, integers(*pads), np.float32(1.5)) if mode == "constant" else (X, integers(*pads)),
            {"mode": mode},
            (1, 2)[: 1 + (mode == "constant")],
        )
        yield Row("Pad", 9, (X,), {"mode": mode, "pads": list(pads), "value": 1.5})
    yield Row("Pad", 18, (X, integers(1, 2, 0, 1), None, integers(-1, 0)), {}, (1, 3))
    yield Row("Pad", 19, (X, integers(1, 2, 0, 1), None, integers(2, 1)), {"mode": "wrap"}, (1, 3))
    for upper, k in product((0, 1), (-1, 0, 2)):
        yield Row("Trilu", 14, (X, np.array(k)), {"upper": upper}, (1,))
    for batch in (0, 1):
        yield Row(
            "ReverseSequence",
            10,
            (real(4, 4, 2), integers(1, 3, 2, 4)),
            {"batch_axis": batch, "time_axis": 1 - batch},
        )
        yield Row(
            "GatherND",
            13,
            (real(2, 2, 3), integers(1, 0)[:, None] if batch else np.array([[0, 1], [1, 0]])),
            {"batch_dims": batch},
        )
    for starts, ends, axes in (([1, -3], [2, -1], [0, 2]), ([0], [100], [1])):
        yield Row("Slice", 9, (X,), {"starts": starts, "ends": ends, "axes": axes})
    yield Row(
        "Slice",
        13,
        (X, integers(-1, 3), integers(-10, 0), integers(1, 2), integers(-1, -2)),
        {},
        (1, 2, 3, 4),
    )
    for start, end in ((0, 2), (-2, 3), (1, -1)):
        yield Row("Shape", 15, (X,), {"start": start, "end": end})
    yield Row("EyeLike", 9, (real(3, 4),), {"k": 1})
    yield Row("EyeLike", 9, (real(3, 4),), {"k": -1, "dtype": 6})
