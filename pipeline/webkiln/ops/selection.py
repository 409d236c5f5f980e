"""Operators whose number of results depends on the data: NonZero and NonMaxSuppression. They are
procedures that run on the CPU.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Size
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import BOOL, INT, Expr, apply, cast, const, select
from webkiln.nest.procedure import ProcedureWriter
from webkiln.ops.budget import CALL
from webkiln.ops.operator import Case, Cost, Operator, define
from webkiln.ops.sorting import ZERO, writer

FREE, SELECTED, REJECTED = (const(value, INT) for value in (0, 1, 2))
"""The states of a box in non-maximum suppression."""


@dataclass(frozen=True, slots=True)
class NonZero(Attributes):
    count: str


def _nonzero_types(attrs: NonZero, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type("int64", (max(types[0].rank, 1), symbols.data_dependent(attrs.count))),)


def _lower_nonzero(low: Lowering, attrs: NonZero) -> None:
    x = low.materialize(low.inputs[0])
    shape = x.shape or (1,)
    w = writer([x], low.outputs)
    size = w.number(x.type.size)
    count, position = w.variable(ZERO), w.variable(ZERO)

    def is_set(i: Expr) -> Expr:
        return cast(w.load(0, i), BOOL)

    with w.repeat(size) as i, w.when(is_set(i)):
        w.set(count, count + 1)
    with w.repeat(size) as i, w.when(is_set(i)):
        rest = w.variable(i)
        for axis in reversed(range(len(shape))):
            extent = w.number(shape[axis])
            quotient = w.variable(apply("idiv", rest, extent))
            w.store(0, count * axis + position, rest - quotient * extent)
            w.set(rest, quotient)
        w.set(position, position + 1)
    low.host(w, [x], low.outputs, (count, attrs.count, x.type.size))


def _nonzero_cases() -> Iterable[Case]:
    x = np.random.default_rng(5).integers(0, 3, (3, 1, 4))
    for dtype in ("float32", "int64", "bool", "uint8"):
        yield Case((x.astype(dtype),), {"count": "u0"}, name=dtype)
    yield Case((np.zeros((2, 3), np.float32),), {"count": "u0"}, name="none")
    yield Case((np.array(2, np.float32),), {"count": "u0"}, name="a scalar")


def _nonzero_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """At most one index per axis for each element."""
    return 4 * inputs[0].size * max(inputs[0].rank, 1)


NONZERO = define(
    Operator(
        "NonZero",
        _nonzero_types,
        lambda attrs, x: (np.array(np.nonzero(np.atleast_1d(x))),),
        _lower_nonzero,
        NonZero,
        cases=_nonzero_cases,
        cost=Cost(_nonzero_work, _nonzero_work),
    )
)
"""The indices of the nonzero elements of x, int64 [rank, count], in row-major order. A scalar
counts as a vector of one element.

Attributes: `count` is the name of the data-dependent size.
"""


@dataclass(frozen=True, slots=True)
class NonMaxSuppression(Attributes):
    count: str
    center: bool = False


def _nms_types(attrs: NonMaxSuppression, types: Sequence[Type]) -> tuple[Type, ...]:
    boxes, scores = types[:2]
    if (
        boxes.rank != 3
        or boxes.shape[2] != 4
        or scores.rank != 3
        or (scores.shape[0], scores.shape[2]) != boxes.shape[:2]
    ):
        raise ShapeError(
            f"boxes are {boxes} and scores are {scores}, expected [batch, boxes, 4] and [batch,"
            " classes, boxes]"
        )
    return (Type("int64", (symbols.data_dependent(attrs.count), 3)),)


def _overlap_reference(a: Array, b: Array, *, center: bool) -> float:
    if center:
        a, b = (np.concatenate([box[:2] - box[2:] / 2, box[:2] + box[2:] / 2]) for box in (a, b))
    low_a, high_a, low_b, high_b = (
        np.minimum(a[:2], a[2:]),
        np.maximum(a[:2], a[2:]),
        np.minimum(b[:2], b[2:]),
        np.maximum(b[:2], b[2:]),
    )
    common = float(np.prod(np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0)))
    areas = float(np.prod(high_a - low_a) + np.prod(high_b - low_b))
    return common / (areas - common) if areas > common else 0.0


def _nms_reference(
    attrs: NonMaxSuppression,
    boxes: Array,
    scores: Array,
    limit: Array,
    iou: Array,
    threshold: Array,
) -> tuple[Array, ...]:
    results: list[tuple[int, int, int]] = []
    for batch, label in np.ndindex(*scores.shape[:2]):
        row, selected = scores[batch, label], list[int]()
        for index in np.argsort(-row, kind="stable"):
            if len(selected) >= int(limit.reshape(-1)[0]) or row[index] <= threshold.reshape(-1)[0]:
                break
            pairs = (
                _overlap_reference(
                    boxes[batch, index].astype(float),
                    boxes[batch, other].astype(float),
                    center=attrs.center,
                )
                for other in selected
            )
            if all(overlap <= iou.reshape(-1)[0] for overlap in pairs):
                selected.append(int(index))
        results += [(batch, label, index) for index in selected]
    return (np.array(results, np.int64).reshape(-1, 3),)


def _nms_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> Size:
    """Each box is compared, in Python, with all boxes of higher score."""
    boxes = inputs[1].shape[2]
    return CALL * inputs[1].size * boxes


def _lower_nms(low: Lowering, attrs: NonMaxSuppression) -> None:
    inputs = [low.materialize(view) for view in low.inputs]
    batches, labels, count = inputs[1].shape
    state = low.temporary("int32", (count,))
    operands = (*low.outputs, state)
    w = writer(inputs, operands)
    number, classes = w.number(count), w.number(labels)
    limit, iou, threshold = (w.variable(w.load(position, ZERO)) for position in (2, 3, 4))
    total = w.variable(ZERO)
    with w.repeat(w.number(batches)) as batch, w.repeat(classes) as label:
        row, count_selected, best = (
            w.variable((batch * classes + label) * number),
            w.variable(ZERO),
            w.variable(ZERO),
        )
        with w.repeat(number) as i:
            w.store(1, i, select(apply("gt", w.load(1, row + i), threshold), FREE, REJECTED))
        with w.while_(
            apply(
                "and",
                apply("ge", best, ZERO),
                apply("lt", cast(count_selected, limit.type), limit),
            )
        ):
            _find_best(w, best, row, number)
            with w.when(apply("ge", best, ZERO)):
                w.store(1, best, SELECTED)
                for position, value in enumerate((batch, label, best)):
                    w.store(0, total * 3 + position, value)
                w.set(total, total + 1)
                w.set(count_selected, count_selected + 1)
                _reject_overlapping(w, batch * number, best, number, iou, center=attrs.center)
    low.host(w, inputs, operands, (total, attrs.count, batches * labels * count))


def _find_best(w: ProcedureWriter, best: Expr, row: Expr, number: Expr) -> None:
    """Set `best` to the free box of the highest score, or to -1. The scores start at `row`."""
    w.set(best, const(-1, INT))
    with w.repeat(number) as i, w.when(apply("eq", w.load(6, i), FREE)):
        better = w.variable(apply("lt", best, ZERO))
        with w.when(apply("not", better)):
            w.set(better, apply("gt", w.load(1, row + i), w.load(1, row + best)))
        with w.when(better):
            w.set(best, i)


def _reject_overlapping(
    w: ProcedureWriter, first: Expr, best: Expr, number: Expr, iou: Expr, *, center: bool
) -> None:
    """Reject the free boxes whose overlap with `best` is greater than `iou`. `first` is the first
    box of the image.
    """
    box = [w.variable(part) for part in _bounds(w, first + best, center=center)]
    with w.repeat(number) as i, w.when(apply("eq", w.load(6, i), FREE)):
        other = [w.variable(part) for part in _bounds(w, first + i, center=center)]
        area, other_area = (w.variable((b[1] - b[0]) * (b[3] - b[2])) for b in (box, other))
        sides = [
            apply("min", box[n + 1], other[n + 1]) - apply("max", box[n], other[n]) for n in (0, 2)
        ]
        width, height = (w.variable(apply("max", side, const(0, side.type))) for side in sides)
        common = w.variable(width * height)
        allowed = cast(iou, common.type) * (area + other_area - common)
        with w.when(apply("gt", common, allowed)):
            w.store(1, i, REJECTED)


def _bounds(w: ProcedureWriter, box: Expr, *, center: bool) -> tuple[Expr, Expr, Expr, Expr]:
    """The lower and the upper bound of a box on the first axis, then on the second."""
    a, b, c, d = (w.variable(w.load(0, box * 4 + n)) for n in range(4))
    if center:
        return a - c * 0.5, a + c * 0.5, b - d * 0.5, b + d * 0.5
    return apply("min", a, c), apply("max", a, c), apply("min", b, d), apply("max", b, d)


def _nms_cases() -> Iterable[Case]:
    rng = np.random.default_rng(7)
    corner = rng.uniform(0, 8, (2, 12, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(0.5, 4, (2, 12, 2))], axis=2).astype(
        np.float32
    )
    boxes[0, 3] = boxes[0, 3, [2, 3, 0, 1]]
    scores = rng.uniform(0, 1, (2, 3, 12)).astype(np.float32)
    for limit, iou, threshold, center in (
        (4, 0.2, 0.3, False),
        (100, 0.5, 0.0, True),
        (0, 0.5, 0.0, False),
    ):
        limits = (
            np.array([limit], np.int64),
            np.array([iou], np.float32),
            np.array([threshold], np.float32),
        )
        yield Case(
            (boxes, scores, *limits), {"center": center, "count": "u0"}, name=f"{limit} {iou}"
        )


NMS = define(
    Operator(
        "NonMaxSuppression",
        _nms_types,
        _nms_reference,
        _lower_nms,
        NonMaxSuppression,
        (5, 5),
        _nms_cases,
        cost=Cost(_nms_work),
    )
)
"""Non-maximum suppression.

Inputs: boxes [batch, boxes, 4], scores [batch, classes, boxes], and three tensors of one element:
the maximum number of boxes per class, the intersection over union above which a box is rejected,
and the score that a box must exceed.

Output: rows (batch, class, box), int64 [count, 3], by descending score within each class.

Attributes: boxes are two opposite corners or, with `center`, the centre and the size. `count` is
the name of the data-dependent size.
"""
