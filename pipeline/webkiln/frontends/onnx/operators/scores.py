"""Scores of classes and targets: how they are transformed, and which class they choose."""

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
"""What SOFTMAX_ZERO takes for no score."""
WINITZKI = 0.147
"""The constant of the approximation of the inverse error function by which PROBIT is defined
(onnx.reference.ops.aionnxml, onnxruntime).
"""


def transformed(call: NodeCall, scores: Tensor, name: str) -> Tensor:
    """A post_transform of scores [samples, classes]."""
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
    """A softmax of the scores that are not 0."""
    top = largest(call.builder, scores, 1, keepdims=True)
    none = call.op("LessEqual", [call.op("Abs", [scores]), call.like(NEAR_ZERO, scores)])
    raised = call.op("Exp", [scores - top])
    kept = call.op("Where", [none, scores * call.op("Exp", [-top]), raised])
    return kept / total(call.builder, kept, 1, keepdims=True)


def probit(call: NodeCall, p: Tensor) -> Tensor:
    """sqrt(2) times the inverse error function of 2 p - 1, after Winitzki."""
    x = p * 2.0 - 1.0
    logarithm = call.op("Log", [(1.0 - x) * (1.0 + x)])
    middle = logarithm * 0.5 + 2 / (pi * WINITZKI)
    inner = call.op("Sqrt", [middle * middle - logarithm * (1 / WINITZKI)]) - middle
    return call.op("Sign", [x]) * call.op("Sqrt", [inner]) * sqrt(2)


def chosen(call: NodeCall, place: Tensor, classes: Sequence[int]) -> Tensor:
    """The numbers of classes by their places."""
    if tuple(classes) == tuple(range(len(classes))):
        return cast(call, place, "int64")
    return call.op("Gather", [call.constant(list(classes), "int64"), place], {"axis": 0})


def best(call: NodeCall, scores: Tensor, classes: Sequence[int]) -> Tensor:
    """The class of the largest score of each row."""
    return chosen(call, call.op("ArgMax", [scores], {"axis": 1, "keepdims": False}), classes)


def above(call: NodeCall, score: Tensor, bound: float, classes: Sequence[int]) -> Tensor:
    """The second of two classes where a score [samples, 1] is more than a bound."""
    flat = element(call.builder, score, 1, 0)
    return chosen(
        call, cast(call, call.op("Greater", [flat, call.like(bound, flat)]), "int32"), classes
    )


def side_by_side(call: NodeCall, first: Tensor, second: Tensor) -> Tensor:
    return call.op("Concat", [first, second], {"axis": 1})


def two_scores(call: NodeCall, score: Tensor, name: str, *, margin: bool) -> Tensor:
    """Scores of two classes from that of the second, [samples, 1], which is a probability, or a
    margin.
    """
    if name == "PROBIT":
        raise call.unsupported(
            "has PROBIT of one score for two classes, which onnxruntime leaves undefined",
            "Convert it with post_transform NONE",
        )
    if name == "LOGISTIC":
        return side_by_side(call, call.op("Sigmoid", [-score]), call.op("Sigmoid", [score]))
    return side_by_side(call, -score if margin else 1.0 - score, score)


def of_targets(call: NodeCall, y: Tensor) -> Tensor:
    """The post_transform of what a regressor computes; one target alone stays as it is, as
    onnxruntime has it.
    """
    name = call.attr("post_transform")
    return cast(
        call, y if y.shape[1] == 1 and name != "PROBIT" else transformed(call, y, name), "float32"
    )


def affine(call: NodeCall) -> Tensor:
    """The features times the coefficients [targets, features], plus the intercepts."""
    x = features(call)
    coefficients, intercepts = cast_operand(call, 1, x), optional_operand(call, 2, x)
    check_width(call, x, coefficients.shape[1])
    y = call.op("MatMul", [x, transposed(call, coefficients, (1, 0))])
    return y if intercepts is None else call.op("Add", [y, intercepts])


def linear_regressor(call: NodeCall) -> Tensor:
    return of_targets(call, affine(call))


def linear_classifier(call: NodeCall) -> list[Tensor]:
    scores, classes, name = (
        cast(call, affine(call), "float32"),
        call.attr("classes"),
        call.attr("post_transform"),
    )
    if scores.shape[1] == 1:
        return [above(call, scores, 0, classes), two_scores(call, scores, name, margin=False)]
    return [best(call, scores, classes), transformed(call, scores, name)]


SCORES: dict[str, NodeHandler] = {
    "LinearRegressor": linear_regressor,
    "LinearClassifier": linear_classifier,
}
