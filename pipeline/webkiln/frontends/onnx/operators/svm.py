"""Support vector machines: kernels, votes of pairs of classes, and probabilities from them as
libsvm couples them.
"""

from itertools import accumulate, combinations

import numpy as np

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.classical import (
    cast_operand,
    check_width,
    features,
    optional_operand,
)
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.scores import best, of_targets, transformed, two_scores
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import filled, total

MIN_PROBABILITY = 1e-7
"""Probabilities of pairs stay so far from 0 and 1."""
MAX_ITERATIONS = 100
TOLERANCE = 0.005


def kernel(call: NodeCall, x: Tensor, vectors: Tensor) -> Tensor:
    """[samples, vectors]."""
    gamma, coef0, degree = (call.attr(name) for name in ("gamma", "coef0", "degree"))
    check_width(call, x, vectors.shape[1])
    products = call.op("MatMul", [x, transposed(call, vectors, (1, 0))])
    match call.attr("kernel"):
        case "POLY":
            base = products * gamma + coef0
            return call.op("Pow", [base, call.like(degree, base)])
        case "SIGMOID":
            return call.op("Tanh", [products * gamma + coef0])
        case "RBF":
            return call.op("Exp", [distances(call, x, vectors) * -gamma])
    return products


def distances(call: NodeCall, x: Tensor, vectors: Tensor) -> Tensor:
    """Squares of the distances between rows, from the differences themselves, which lose no digits
    where rows are near.
    """
    apart = call.op(
        "Sub",
        [
            reshaped(call, x, (x.shape[0], 1, x.shape[1])),
            reshaped(call, vectors, (1, *vectors.shape)),
        ],
    )
    return total(call.builder, apart * apart, 2)


def decision_values(call: NodeCall) -> Tensor:
    """The rows of coefficients applied to the kernel of the support vectors, or to the features
    where there are none, plus rho[0].
    """
    x = features(call)
    vectors, coefficients, rho = (
        optional_operand(call, 1, x),
        cast_operand(call, 2, x),
        cast_operand(call, 3, x),
    )
    if vectors is None:
        check_width(call, x, coefficients.shape[1])
    given = x if vectors is None else kernel(call, x, vectors)
    return call.op("Add", [call.op("MatMul", [given, transposed(call, coefficients, (1, 0))]), rho])


def svm_regressor(call: NodeCall) -> Tensor:
    y = decision_values(call)
    if call.attr("one_class"):
        y = call.op(
            "Where", [call.op("Greater", [y, call.like(0, y)]), call.like(1, y), call.like(-1, y)]
        )
    return of_targets(call, y)


def margins(call: NodeCall) -> Tensor:
    """[samples, pairs]: of classes i < j, what the vectors of i say against j, and those of j
    against i, plus rho.
    """
    x, sizes = features(call), call.attr("vectors_per_class")
    vectors, coefficients, rho = (cast_operand(call, position, x) for position in (1, 2, 3))
    near, count = kernel(call, x, vectors), len(sizes)
    said = []
    for start, size in zip(accumulate((0, *sizes)), sizes, strict=False):
        own = transposed(call, part(call, coefficients, 1, start, size), (1, 0))
        said.append(
            call.op("MatMul", [part(call, near, 1, start, size), own])
            if size
            else filled(call.builder, 0, x.dtype, (x.shape[0], count - 1))
        )
    joined = call.op("Concat", said, {"axis": 1})
    pairs = list(combinations(range(count), 2))
    first, second = (
        [row * (count - 1) + column for row, column in places]
        for places in ([(i, j - 1) for i, j in pairs], [(j, i) for i, j in pairs])
    )
    sides = [
        call.op("Gather", [joined, call.constant(places, "int32")], {"axis": 1})
        for places in (first, second)
    ]
    return call.op("Add", [call.op("Add", sides), rho])


def votes(call: NodeCall, decisions: Tensor, count: int) -> Tensor:
    """How many pairs each class wins, [samples, classes]."""
    pairs = list(combinations(range(count), 2))
    wins = cast(call, call.op("Greater", [decisions, call.like(0, decisions)]), "float32")
    table = np.zeros((len(pairs), count), np.float32)
    lost = np.zeros(count, np.float32)
    for row, (i, j) in enumerate(pairs):
        table[row, i], table[row, j] = 1, -1
        lost[j] += 1
    return call.op("Add", [call.op("MatMul", [wins, call.constant(table)]), call.constant(lost)])


def couple_probabilities(call: NodeCall, decisions: Tensor, count: int) -> Tensor:
    """Probabilities of classes [samples, classes] from margins of pairs: sigmoids of these (Platt),
    and of all that fit them those of least error (Wu, Lin and Weng, 2004, their second method), to
    which libsvm's rounds come as near as it takes for near enough.
    """
    pairs = list(combinations(range(count), 2))
    slopes, shifts = cast_operand(call, 4, decisions), cast_operand(call, 5, decisions)
    raw = call.op("Sigmoid", [-(decisions * slopes + shifts)])
    won = call.op("Clip", [raw], {"min": MIN_PROBABILITY, "max": 1 - MIN_PROBABILITY})
    order = np.zeros((count, count), np.int32)
    for place, (i, j) in enumerate(pairs):
        order[i, j], order[j, i] = place, len(pairs) + place
    both = call.op("Concat", [won, 1.0 - won], {"axis": 1})
    samples = decisions.shape[0]
    against = reshaped(
        call,
        call.op("Gather", [both, call.constant(order.ravel())], {"axis": 1}),
        (samples, count, count),
    )
    eye = np.eye(count, dtype=decisions.dtype)
    against = against * call.constant(1 - eye)
    turned = transposed(call, against, (0, 2, 1))
    own = reshaped(call, total(call.builder, turned * turned, 2), (samples, count, 1))
    quadratic = call.op("Sub", [own * call.constant(eye), turned * against])
    return _least_error(call, quadratic, count)


def _least_error(call: NodeCall, quadratic: Tensor, count: int) -> Tensor:
    """p of sum 1 with the least p Q p, by rounds over the classes; a sample whose error is small
    stays as it is.
    """
    samples, dtype = quadratic.shape[0], quadratic.dtype
    each = call.constant(np.eye(count, dtype=dtype).reshape(1, count, count))
    near = TOLERANCE / count

    def products(b: GraphBuilder, p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q p, p Q p, and which samples are not there yet."""
        q = total(
            b,
            b.op(
                "Mul", [b.inside(quadratic), b.op("Reshape", [p], {"shape": (samples, 1, count)})]
            ),
            2,
        )
        whole = total(b, q * p, 1, keepdims=True)
        error = b.op("ReduceMax", [b.op("Abs", [q - whole])], {"axes": (1,), "keepdims": True})
        return q, whole, b.op("GreaterEqual", [error, b.constant(near, dtype)])

    def turn(
        b: GraphBuilder, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Better one class."""
        p, q, whole = states
        row, one = slices
        entry, gradient = (total(b, x * one, 1, keepdims=True) for x in (row, q))
        change = (whole - gradient) / entry
        less = change + 1.0
        after = (whole + change * (change * entry + gradient * 2.0)) / less / less
        return [(p + change * one) / less, (q + change * row) / less, after], []

    def round_(b: GraphBuilder, given: list[Tensor]) -> list[Tensor]:
        p = given[2]
        q, whole, far = products(b, p)
        (better, _, _), _ = b.scan(
            [p, q, whole], [b.inside(quadratic), b.inside(each)], turn, axis=1
        )
        after = b.op("Where", [far, better, p])
        _, _, still = products(b, after)
        return [_any(b, still), after]

    start = filled(call.builder, 1 / count, dtype, (samples, count))
    (p,), _ = call.builder.loop(
        _any(call.builder, products(call.builder, start)[2]),
        [start],
        round_,
        bound=MAX_ITERATIONS,
        number="int32",
    )
    return p


def _any(b: GraphBuilder, flags: Tensor) -> Tensor:
    marks = b.op(
        "ReduceMax",
        [b.op("Cast", [flags], {"dtype": "int32"})],
        {"axes": (0, 1), "keepdims": False},
    )
    return b.op("Greater", [marks, b.constant(0, "int32")])


def svm_classifier(call: NodeCall) -> list[Tensor]:
    """The class that wins most pairs, and probabilities, or margins."""
    classes, name = call.attr("classes"), call.attr("post_transform")
    if not call.attr("vectors_per_class"):
        y = cast(call, decision_values(call), "float32")
        return [best(call, y, classes), transformed(call, y, name)]
    decisions = margins(call)
    label = best(call, votes(call, cast(call, decisions, "float32"), len(classes)), classes)
    if call.has(4):
        return [
            label,
            transformed(
                call,
                cast(call, couple_probabilities(call, decisions, len(classes)), "float32"),
                name,
            ),
        ]
    decisions = cast(call, decisions, "float32")
    if len(classes) == 2:
        return [label, two_scores(call, decisions, name, margin=name == "NONE")]
    return [label, transformed(call, decisions, name)]


SVM: dict[str, NodeHandler] = {"SVMClassifier": svm_classifier, "SVMRegressor": svm_regressor}
