"""What gives as many results as the values say, as procedures that run on the CPU."""

from collections.abc import Iterable, Sequence

import numpy as np

from webkiln.errors import ShapeError
from webkiln.ir import symbols
from webkiln.ir.graph import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.expr import BOOL, INT, Expr, apply, cast, const, select
from webkiln.ops.budget import CALL
from webkiln.ops.operator import REQUIRED, Case, Operator, define
from webkiln.ops.order import ZERO, writer


def _nonzero_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    return (Type("int64", (max(types[0].rank, 1), symbols.data_dependent(attrs["count"]))),)


def _lower_nonzero(low: Lowering, attrs: Attributes) -> None:
    x = low.materialize(low.inputs[0])
    shape = x.shape or (1,)
    w = writer([x], low.outputs)
    size = w.number(x.type.size)
    count, place = w.variable(ZERO), w.variable(ZERO)

    def is_set(i: Expr) -> Expr:
        return cast(w.load(0, i), BOOL)

    with w.repeat(size) as i, w.when(is_set(i)):
        w.set(count, count + 1)
    with w.repeat(size) as i, w.when(is_set(i)):
        rest = w.variable(i)
        for axis in reversed(range(len(shape))):
            extent = w.number(shape[axis])
            quotient = w.variable(apply("idiv", rest, extent))
            w.store(0, count * axis + place, rest - quotient * extent)
            w.set(rest, quotient)
        w.set(place, place + 1)
    low.host(w, [x], low.outputs, (count, attrs["count"], x.type.size))


def _nonzero_cases() -> Iterable[Case]:
    x = np.random.default_rng(5).integers(0, 3, (3, 1, 4))
    for dtype in ("float32", "int64", "bool", "uint8"):
        yield Case((x.astype(dtype),), {"count": "u0"}, name=dtype)
    yield Case((np.zeros((2, 3), np.float32),), {"count": "u0"}, name="none")
    yield Case((np.array(2, np.float32),), {"count": "u0"}, name="a scalar")


def _nonzero_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """An index along every axis of every element, at most."""
    return 4 * inputs[0].size * max(inputs[0].rank, 1)


NONZERO = define(
    Operator(
        "NonZero",
        _nonzero_types,
        lambda attrs, x: (np.array(np.nonzero(np.atleast_1d(x))),),
        _lower_nonzero,
        {"count": REQUIRED},
        cases=_nonzero_cases,
        work=_nonzero_work,
        scratch=_nonzero_work,
    )
)
"""The indices of what is not 0, int64 [rank, count], in row-major order; `count` names the
data_dependent size.
"""


def _nms_types(attrs: Attributes, types: Sequence[Type]) -> tuple[Type, ...]:
    boxes, scores = types[:2]
    if (
        boxes.rank != 3
        or boxes.shape[2] != 4
        or scores.rank != 3
        or (scores.shape[0], scores.shape[2]) != boxes.shape[:2]
    ):
        raise ShapeError(
            f"boxes are {boxes}, scores {scores}; expected [batch, boxes, 4] and [batch, classes,"
            " boxes]"
        )
    return (Type("int64", (symbols.data_dependent(attrs["count"]), 3)),)


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
    attrs: Attributes, boxes: Array, scores: Array, most: Array, iou: Array, least: Array
) -> tuple[Array, ...]:
    found: list[tuple[int, int, int]] = []
    for batch, label in np.ndindex(*scores.shape[:2]):
        row, kept = scores[batch, label], list[int]()
        for index in np.argsort(-row, kind="stable"):
            if len(kept) >= int(most.reshape(-1)[0]) or row[index] <= least.reshape(-1)[0]:
                break
            pairs = (
                _overlap_reference(
                    boxes[batch, index].astype(float),
                    boxes[batch, other].astype(float),
                    center=attrs["center"],
                )
                for other in kept
            )
            if all(overlap <= iou.reshape(-1)[0] for overlap in pairs):
                kept.append(int(index))
        found += [(batch, label, index) for index in kept]
    return (np.array(found, np.int64).reshape(-1, 3),)


def _nms_work(attrs: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """In Python, each box with all that are better."""
    boxes = inputs[1].shape[2]
    return CALL * inputs[1].size * boxes


def _lower_nms(low: Lowering, attrs: Attributes) -> None:
    inputs = [low.materialize(view) for view in low.inputs]
    batches, labels, count = inputs[1].shape
    state = low.temporary("int32", (count,))
    operands = (*low.outputs, state)
    w = writer(inputs, operands)
    number, classes = w.number(count), w.number(labels)
    free, taken, gone = (const(value, INT) for value in (0, 1, 2))
    most, iou, least = (w.variable(w.load(position, ZERO)) for position in (2, 3, 4))
    found = w.variable(ZERO)

    def corners(box: Expr) -> tuple[Expr, Expr, Expr, Expr]:
        """Low and high ends on the first axis, then on the second."""
        a, b, c, d = (w.variable(w.load(0, box * 4 + n)) for n in range(4))
        if attrs["center"]:
            return a - c * 0.5, a + c * 0.5, b - d * 0.5, b + d * 0.5
        return apply("min", a, c), apply("max", a, c), apply("min", b, d), apply("max", b, d)

    with w.repeat(w.number(batches)) as batch, w.repeat(classes) as label:
        row, chosen, best = (
            w.variable((batch * classes + label) * number),
            w.variable(ZERO),
            w.variable(ZERO),
        )
        with w.repeat(number) as i:
            w.store(1, i, select(apply("gt", w.load(1, row + i), least), free, gone))
        with w.while_(
            apply("and", apply("ge", best, ZERO), apply("lt", cast(chosen, most.type), most))
        ):
            w.set(best, const(-1, INT))
            with w.repeat(number) as i, w.when(apply("eq", w.load(6, i), free)):
                better = w.variable(apply("lt", best, ZERO))
                with w.when(apply("not", better)):
                    w.set(better, apply("gt", w.load(1, row + i), w.load(1, row + best)))
                with w.when(better):
                    w.set(best, i)
            with w.when(apply("ge", best, ZERO)):
                w.store(1, best, taken)
                for position, value in enumerate((batch, label, best)):
                    w.store(0, found * 3 + position, value)
                w.set(found, found + 1)
                w.set(chosen, chosen + 1)
                box = [w.variable(part) for part in corners(batch * number + best)]
                with w.repeat(number) as i, w.when(apply("eq", w.load(6, i), free)):
                    other = [w.variable(part) for part in corners(batch * number + i)]
                    area, share = (w.variable((b[1] - b[0]) * (b[3] - b[2])) for b in (box, other))
                    sides = [
                        apply("min", box[n + 1], other[n + 1]) - apply("max", box[n], other[n])
                        for n in (0, 2)
                    ]
                    width, height = (
                        w.variable(apply("max", side, const(0, side.type))) for side in sides
                    )
                    common = w.variable(width * height)
                    with w.when(
                        apply("gt", common, cast(iou, common.type) * (area + share - common))
                    ):
                        w.store(1, i, gone)
    low.host(w, inputs, operands, (found, attrs["count"], batches * labels * count))


def _nms_cases() -> Iterable[Case]:
    rng = np.random.default_rng(7)
    corner = rng.uniform(0, 8, (2, 12, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(0.5, 4, (2, 12, 2))], axis=2).astype(
        np.float32
    )
    boxes[0, 3] = boxes[0, 3, [2, 3, 0, 1]]
    scores = rng.uniform(0, 1, (2, 3, 12)).astype(np.float32)
    for most, iou, least, center in (
        (4, 0.2, 0.3, False),
        (100, 0.5, 0.0, True),
        (0, 0.5, 0.0, False),
    ):
        limits = (
            np.array([most], np.int64),
            np.array([iou], np.float32),
            np.array([least], np.float32),
        )
        yield Case(
            (boxes, scores, *limits), {"center": center, "count": "u0"}, name=f"{most} {iou}"
        )


NMS = define(
    Operator(
        "NonMaxSuppression",
        _nms_types,
        _nms_reference,
        _lower_nms,
        {"center": False, "count": REQUIRED},
        (5, 5),
        _nms_cases,
        work=_nms_work,
    )
)
"""Boxes [batch, boxes, 4] (two corners, or with `center` a centre and a size), scores [batch,
classes,
boxes], and one element each: how many to choose of a class at most, the overlap (intersection over
union) above which a box is dropped, the score that it must exceed. Gives rows (batch, class, box),
int64 [count, 3], the best of each class first.
"""
