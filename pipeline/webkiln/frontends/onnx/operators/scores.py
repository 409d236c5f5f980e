"""Scores of classes and targets: post-transforms, and class selection."""

from collections.abc import Sequence
from math import pi, sqrt

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.classical import (
    cast_operand,
    check_width,
    features,
    optional_operand,
)
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.shape import transposed
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import element, largest, total

NEAR_ZERO = 1e-7
"""Scores of at most this magnitude count as 0 in SOFTMAX_ZERO."""
WINITZKI = 0.147
"""The constant in the approximation of the inverse error function that defines PROBIT
(onnx.reference.ops.aionnxml, onnxruntime).
"""


def post_transform(call: NodeCall, scores: Tensor, name: str) -> Tensor:
    """Apply a post_transform to scores [samples, classes]."""
    match name:
        case "LOGISTIC":
            return call.op("Sigmoid", [scores])
        case "SOFTMAX":
            return call.op("Softmax", [scores], {"axis": 1})
        case "SOFTMAX_ZERO":
            return softmax_zero(call, scores)
        case "PROBIT":
            return probit(call, scores)
    return scores


def softmax_zero(call: NodeCall, scores: Tensor) -> Tensor:
    """A softmax over the scores that are not 0; the others are scaled only."""
    top = largest(call.builder, scores, 1, keepdims=True)
    is_zero = call.op("LessEqual", [call.op("Abs", [scores]), call.like(NEAR_ZERO, scores)])
    powers = call.op("Exp", [scores - top])
    terms = call.op("Where", [is_zero, scores * call.op("Exp", [-top]), powers])
    return terms / total(call.builder, terms, 1, keepdims=True)


def probit(call: NodeCall, p: Tensor) -> Tensor:
    """sqrt(2) times the inverse error function of 2 p - 1, after Winitzki."""
    x = p * 2.0 - 1.0
    logarithm = call.op("Log", [(1.0 - x) * (1.0 + x)])
    middle = logarithm * 0.5 + 2 / (pi * WINITZKI)
    inner = call.op("Sqrt", [middle * middle - logarithm * (1 / WINITZKI)]) - middle
    return call.op("Sign", [x]) * call.op("Sqrt", [inner]) * sqrt(2)


def class_labels(call: NodeCall, index: Tensor, classes: Sequence[int]) -> Tensor:
    """The labels of classes, given their indices."""
    if tuple(classes) == tuple(range(len(classes))):
        return cast(call, index, "int64")
    return call.op("Gather", [call.constant(list(classes), "int64"), index], {"axis": 0})


def argmax_class(call: NodeCall, scores: Tensor, classes: Sequence[int]) -> Tensor:
    """The class with the largest score of each row."""
    return class_labels(call, call.op("ArgMax", [scores], {"axis": 1, "keepdims": False}), classes)


def threshold_class(call: NodeCall, score: Tensor, bound: float, classes: Sequence[int]) -> Tensor:
    """The second of two classes where a score [samples, 1] exceeds a bound, else the first."""
    flat = element(call.builder, score, 1, 0)
    return class_labels(
        call, cast(call, call.op("Greater", [flat, call.like(bound, flat)]), "int32"), classes
    )


def concat_columns(call: NodeCall, first: Tensor, second: Tensor) -> Tensor:
    return call.op("Concat", [first, second], {"axis": 1})


def two_scores(call: NodeCall, score: Tensor, name: str, *, margin: bool) -> Tensor:
    """Scores of two classes from that of the second, [samples, 1], which is a probability or a
    margin.
    """
    if name == "PROBIT":
        raise call.unsupported(
            "has PROBIT of one score for two classes, which onnxruntime leaves undefined",
            "Convert it with post_transform NONE",
        )
    if name == "LOGISTIC":
        return concat_columns(call, call.op("Sigmoid", [-score]), call.op("Sigmoid", [score]))
    return concat_columns(call, -score if margin else 1.0 - score, score)


def regression_output(call: NodeCall, y: Tensor) -> Tensor:
    """Apply the post_transform of a regressor. As in onnxruntime, a single target is only
    transformed by PROBIT.
    """
    name = call.attr("post_transform")
    return cast(
        call,
        y if y.shape[1] == 1 and name != "PROBIT" else post_transform(call, y, name),
        "float32",
    )


def affine(call: NodeCall) -> Tensor:
    """The features times the coefficients [targets, features], plus the intercepts."""
    x = features(call)
    coefficients, intercepts = cast_operand(call, 1, x), optional_operand(call, 2, x)
    check_width(call, x, coefficients.shape[1])
    y = call.op("MatMul", [x, transposed(call, coefficients, (1, 0))])
    return y if intercepts is None else call.op("Add", [y, intercepts])


def linear_regressor(call: NodeCall) -> Tensor:
    return regression_output(call, affine(call))


def linear_classifier(call: NodeCall) -> list[Tensor]:
    scores, classes, name = (
        cast(call, affine(call), "float32"),
        call.attr("classes"),
        call.attr("post_transform"),
    )
    if scores.shape[1] == 1:
        return [
            threshold_class(call, scores, 0, classes),
            two_scores(call, scores, name, margin=False),
        ]
    return [argmax_class(call, scores, classes), post_transform(call, scores, name)]


SCORES: dict[str, NodeHandler] = {
    "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier,
}
