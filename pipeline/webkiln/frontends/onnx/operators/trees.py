"""Tree ensembles: all trees of all samples descend one level at a time, by gathering the tests of
their current nodes.
"""

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.classical import check_width, features, optional_operand
from webkiln.frontends.onnx.operators.elementwise import cast
from webkiln.frontends.onnx.operators.scores import (
    argmax_class,
    concat_columns,
    post_transform,
    regression_output,
    threshold_class,
    two_scores,
)
from webkiln.frontends.onnx.operators.shape import iota, reshaped
from webkiln.frontends.onnx.trees import EQUAL, LESS, MISSING, NEUTRAL
from webkiln.ir.dim import known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import widened

MAX_UNROLLED = 64
"""Deeper trees are walked by a loop of the program."""
COMPARISONS = {LESS: "Less", EQUAL: "Equal", LESS | EQUAL: "LessEqual"}
REDUCTIONS = {"SUM": "ReduceSum", "AVERAGE": "ReduceSum", "MIN": "ReduceMin", "MAX": "ReduceMax"}


def scores(call: NodeCall) -> Tensor:
    """The aggregated leaf weights, [samples, targets]."""
    x = features(call)
    check_width(call, x, call.attr("features"), at_least=True)
    at = leaf_positions(call, x)
    b, samples, trees = call.builder, *at.shape
    targets, aggregate = call.attr("targets"), call.attr("aggregate")
    weights = (
        call.tensor(6) if call.type(6).dtype == "float64" else cast(call, call.tensor(6), "float32")
    )
    leaf_weights = b.op("Gather", [weights, at - call.attr("leaves_from")], {"axis": 0})
    axis = 1
    if call.attr("one_target_a_tree"):
        leaf_weights, axis = reshaped(call, leaf_weights, (samples, targets, trees // targets)), 2
    y = b.op(REDUCTIONS[aggregate], [leaf_weights], {"axes": (axis,), "keepdims": False})
    if aggregate in NEUTRAL and not call.attr("one_target_a_tree"):
        y = b.op(
            "Where", [b.op("Equal", [y, call.like(NEUTRAL[aggregate], y)]), call.like(0, y), y]
        )
    return y * (1 / known(trees, "the number of trees")) if aggregate == "AVERAGE" else y


def leaf_positions(call: NodeCall, x: Tensor) -> Tensor:
    """The leaf that each sample reaches in each tree, as a node position, int32 [samples,
    trees].
    """
    roots, depth = cast(call, call.tensor(1), "int32"), call.attr("depth")
    start = widened(
        call.builder, reshaped(call, roots, (1, roots.type.size)), (x.shape[0], roots.type.size)
    )
    thresholds = call.tensor(3)
    wide = "float64" if "float64" in (x.dtype, thresholds.dtype) else "float32"
    x = cast(call, x, wide)

    def step(b: GraphBuilder, at: Tensor) -> Tensor:
        """Descend one level. Leaves are past the end of the arrays, where a gather returns 0: they
        stay.
        """

        def gathered(position: int) -> Tensor:
            return b.op("Gather", [b.capture(call.tensor(position)), at], {"axis": 0})

        value = b.op("GatherElements", [b.capture(x), gathered(2)], {"axis": 1})
        bound = gathered(3)
        bound = bound if bound.dtype == wide else b.op("Cast", [bound], {"dtype": wide})
        holds = _holds(b, value, bound, call.attr("test"), gathered(7) if call.has(7) else None)
        offsets = b.op(
            "Where",
            [
                holds,
                *(b.op("Cast", [gathered(position)], {"dtype": "int32"}) for position in (4, 5)),
            ],
        )
        return b.op("Add", [at, offsets])

    if depth > MAX_UNROLLED:
        levels = iota(call, depth, "int32")
        states, _ = call.builder.scan(
            [start], [levels], lambda b, states, _: ([step(b, states[0])], []), axis=0
        )
        return states[0]
    for _ in range(depth):
        start = step(call.builder, start)
    return start


def _holds(
    b: GraphBuilder, value: Tensor, bound: Tensor, test: int, holds: Tensor | None
) -> Tensor:
    """Whether the tests are true: all by one comparison, or each by its bits."""
    if holds is None:
        return b.op(COMPARISONS[test], [value, bound])
    bits = [b.constant(bit, "int32") for bit in (LESS, EQUAL, MISSING, 0)]
    missing = b.op("Where", [b.op("IsNaN", [value]), bits[2], bits[3]])
    outcome = b.op(
        "Where",
        [
            b.op("Less", [value, bound]),
            bits[0],
            b.op("Where", [b.op("Equal", [value, bound]), bits[1], missing]),
        ],
    )
    return b.op(
        "NotEqual", [b.op("BitAnd", [b.op("Cast", [holds], {"dtype": "int32"}), outcome]), bits[3]]
    )


def add_base_values(call: NodeCall, y: Tensor) -> Tensor:
    bases = optional_operand(call, 8, y)
    return y if bases is None else call.op("Add", [y, bases])


def tree_regressor(call: NodeCall) -> Tensor:
    return regression_output(call, add_base_values(call, scores(call)))


def tree_ensemble(call: NodeCall) -> Tensor:
    return cast(
        call, post_transform(call, scores(call), call.attr("post_transform")), call.type(0).dtype
    )


def tree_classifier(call: NodeCall) -> list[Tensor]:
    classes, name, only, bound = (
        call.attr("classes"),
        call.attr("post_transform"),
        call.attr("only"),
        0.5 if call.attr("positive") else 0,
    )
    y = cast(call, add_base_values(call, scores(call)), "float32")
    if only is None:
        return [argmax_class(call, y, classes), post_transform(call, y, name)]
    label = threshold_class(call, y, bound, classes)
    if only == 0:
        return [label, two_scores(call, y, name, margin=not call.attr("positive"))]
    return [label, post_transform(call, concat_columns(call, call.op("Sub", [y, y]), y), name)]


TREES: dict[str, NodeHandler] = {
    "TreeEnsembleRegressor": tree_regressor,
    "TreeEnsembleClassifier": tree_classifier,
    "TreeEnsemble": tree_ensemble,
}
