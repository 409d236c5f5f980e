"""Support vector machines: kernels, pairwise votes of classes, and pairwise coupling of
probabilities as in libsvm.
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
from webkiln.frontends.onnx.operators.scores import (
    argmax_class,
    post_transform,
    regression_output,
    two_scores,
)
from webkiln.frontends.onnx.operators.shape import reshaped, transposed
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import filled, total

MIN_PROBABILITY = 1e-7
"""Pairwise probabilities are clipped to this distance from 0 and 1."""
MAX_ITERATIONS = 100
TOLERANCE = 0.005


def kernel(call: NodeCall, x: Tensor, vectors: Tensor) -> Tensor:
    """The kernel matrix [samples, vectors]."""
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
    """Squared distances between rows, from differences: expanding the square would lose digits for
    rows close to each other.
    """
    difference = call.op(
        "Sub",
        [
            reshaped(call, x, (x.shape[0], 1, x.shape[1])),
            reshaped(call, vectors, (1, *vectors.shape)),
        ],
    )
    return total(call.builder, difference * difference, 2)


def decision_values(call: NodeCall) -> Tensor:
    """Coefficients times the kernel of the support vectors, or times the features without support
    vectors, plus rho[0].
    """
    x = features(call)
    vectors, coefficients, rho = (
        optional_operand(call, 1, x),
        cast_operand(call, 2, x),
        cast_operand(call, 3, x),
    )
    if vectors is None:
        check_width(call, x, coefficients.shape[1])
    basis = x if vectors is None else kernel(call, x, vectors)
    return call.op("Add", [call.op("MatMul", [basis, transposed(call, coefficients, (1, 0))]), rho])


def svm_regressor(call: NodeCall) -> Tensor:
    y = decision_values(call)
    if call.attr("one_class"):
        y = call.op(
            "Where", [call.op("Greater", [y, call.like(0, y)]), call.like(1, y), call.like(-1, y)]
        )
    return regression_output(call, y)


def margins(call: NodeCall) -> Tensor:
    """Pairwise decision values [samples, pairs] of classes i < j: contributions of the vectors of i
    and of j, plus rho.
    """
    x, sizes = features(call), call.attr("vectors_per_class")
    vectors, coefficients, rho = (cast_operand(call, position, x) for position in (1, 2, 3))
    kernel_values, count = kernel(call, x, vectors), len(sizes)
    contributions = []
    for start, size in zip(accumulate((0, *sizes)), sizes, strict=False):
        own = transposed(call, part(call, coefficients, 1, start, size), (1, 0))
        contributions.append(
            call.op("MatMul", [part(call, kernel_values, 1, start, size), own])
            if size
            else filled(call.builder, 0, x.dtype, (x.shape[0], count - 1))
        )
    joined = call.op("Concat", contributions, {"axis": 1})
    pairs = list(combinations(range(count), 2))
    first, second = (
        [row * (count - 1) + column for row, column in positions]
        for positions in ([(i, j - 1) for i, j in pairs], [(j, i) for i, j in pairs])
    )
    sides = [
        call.op("Gather", [joined, call.constant(positions, "int32")], {"axis": 1})
        for positions in (first, second)
    ]
    return call.op("Add", [call.op("Add", sides), rho])


def votes(call: NodeCall, decisions: Tensor, count: int) -> Tensor:
    """The number of pairs that each class wins, [samples, classes]."""
    pairs = list(combinations(range(count), 2))
    wins = cast(call, call.op("Greater", [decisions, call.like(0, decisions)]), "float32")
    table = np.zeros((len(pairs), count), np.float32)
    lost = np.zeros(count, np.float32)
    for row, (i, j) in enumerate(pairs):
        table[row, i], table[row, j] = 1, -1
        lost[j] += 1
    return call.op("Add", [call.op("MatMul", [wins, call.constant(table)]), call.constant(lost)])


def couple_probabilities(call: NodeCall, decisions: Tensor, count: int) -> Tensor:
    """Class probabilities [samples, classes] from pairwise margins: sigmoids of the margins
    (Platt), coupled by the second method of Wu, Lin and Weng (2004) with libsvm's iteration and
    tolerance.
    """
    pairs = list(combinations(range(count), 2))
    slopes, shifts = cast_operand(call, 4, decisions), cast_operand(call, 5, decisions)
    raw = call.op("Sigmoid", [-(decisions * slopes + shifts)])
    won = call.op("Clip", [raw], {"min": MIN_PROBABILITY, "max": 1 - MIN_PROBABILITY})
    order = np.zeros((count, count), np.int32)
    for pair, (i, j) in enumerate(pairs):
        order[i, j], order[j, i] = pair, len(pairs) + pair
    both = call.op("Concat", [won, 1.0 - won], {"axis": 1})
    samples = decisions.shape[0]
    pairwise = reshaped(
        call,
        call.op("Gather", [both, call.constant(order.ravel())], {"axis": 1}),
        (samples, count, count),
    )
    eye = np.eye(count, dtype=decisions.dtype)
    pairwise = pairwise * call.constant(1 - eye)
    transposed_ = transposed(call, pairwise, (0, 2, 1))
    own = reshaped(call, total(call.builder, transposed_ * transposed_, 2), (samples, count, 1))
    quadratic = call.op("Sub", [own * call.constant(eye), transposed_ * pairwise])
    return _least_error(call, quadratic, count)


def _least_error(call: NodeCall, quadratic: Tensor, count: int) -> Tensor:
    """p of sum 1 that minimises p Q p, by coordinate descent over the classes. Samples that have
    converged stay unchanged.
    """
    samples, dtype = quadratic.shape[0], quadratic.dtype
    each = call.constant(np.eye(count, dtype=dtype).reshape(1, count, count))
    tolerance = TOLERANCE / count

    def products(b: GraphBuilder, p: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Q p, p Q p, and which samples have not converged."""
        q = total(
            b,
            b.op(
                "Mul", [b.capture(quadratic), b.op("Reshape", [p], {"shape": (samples, 1, count)})]
            ),
            2,
        )
        objective = total(b, q * p, 1, keepdims=True)
        error = b.op("ReduceMax", [b.op("Abs", [q - objective])], {"axes": (1,), "keepdims": True})
        return q, objective, b.op("GreaterEqual", [error, b.constant(tolerance, dtype)])

    def update_class(
        b: GraphBuilder, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Update the probability of one class."""
        p, q, objective = states
        row, one = slices
        entry, gradient = (total(b, x * one, 1, keepdims=True) for x in (row, q))
        change = (objective - gradient) / entry
        denominator = change + 1.0
        result = (
            (objective + change * (change * entry + gradient * 2.0)) / denominator / denominator
        )
        return [(p + change * one) / denominator, (q + change * row) / denominator, result], []

    def iterate(b: GraphBuilder, arguments: list[Tensor]) -> list[Tensor]:
        p = arguments[2]
        q, objective, unconverged = products(b, p)
        (updated, _, _), _ = b.scan(
            [p, q, objective], [b.capture(quadratic), b.capture(each)], update_class, axis=1
        )
        result = b.op("Where", [unconverged, updated, p])
        _, _, remaining = products(b, result)
        return [_any(b, remaining), result]

    start = filled(call.builder, 1 / count, dtype, (samples, count))
    (p,), _ = call.builder.loop(
        _any(call.builder, products(call.builder, start)[2]),
        [start],
        iterate,
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
    """The class that wins most pairs, and probabilities or margins."""
    classes, name = call.attr("classes"), call.attr("post_transform")
    if not call.attr("vectors_per_class"):
        y = cast(call, decision_values(call), "float32")
        return [argmax_class(call, y, classes), post_transform(call, y, name)]
    decisions = margins(call)
    label = argmax_class(call, votes(call, cast(call, decisions, "float32"), len(classes)), classes)
    if call.has(4):
        return [
            label,
            post_transform(
                call,
                cast(call, couple_probabilities(call, decisions, len(classes)), "float32"),
                name,
            ),
        ]
    decisions = cast(call, decisions, "float32")
    if len(classes) == 2:
        return [label, two_scores(call, decisions, name, margin=name == "NONE")]
    return [label, post_transform(call, decisions, name)]


SVM: dict[str, NodeHandler] = {"SVMClassifier": svm_classifier, "SVMRegressor": svm_regressor}
