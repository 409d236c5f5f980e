"""The conditions under which batch normalisations are folded into convolutions and products."""

import pytest

from tests.passes.comparison import CONV, agree, graph_of, operators
from tests.passes.running import run
from webkiln.ops.table import parse


def test_products_that_broadcast_to_their_bias_are_not_folded():
    graph = parse(
        """
        graph g
        input x: float32[2,5]
        slot w: float32[5,1]
        slot b: float32[6]
        slot scale: float32[6]
        slot beta: float32[6]
        slot mean: float32[6]
        slot variance: float32[6]
        m: float32[2,1] = MatMul(x, w)
        a: float32[2,6] = Add(m, b)
        y: float32[2,6] = BatchNorm(a, scale, beta, mean, variance) {"axis":1,"epsilon":0.01}
        output out = y
        """
    )
    operators = [node.op for node in run("fold_batchnorm", graph).nodes]
    assert (operators[:2], operators[-2:]) == (["MatMul", "Add"], ["Mul", "Add"])


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_only_normalisations_over_features_are_folded_into_convolutions(axis):
    """All sizes are equal, so that only the axis differs."""
    graph = graph_of(f"""
        graph g
        input x: float32[2,3,2]
        slot w: float32[2,2,2]
        slot p: float32[2]
        slot q: float32[2]
        c: float32[2,2,2] = Conv(x, w) {CONV}
        y: float32[2,2,2] = BatchNorm(c, p, q, q, p) {{"axis":{axis},"epsilon":0.01}}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == (["Conv"] if axis == 2 else ["Conv", "Mul", "Add"])
    agree(folded, graph)


@pytest.mark.parametrize("position", range(1, 5), ids=["scale", "beta", "mean", "variance"])
def test_normalisations_with_computed_parameters_are_not_folded(position):
    names = ["c", "p", "p", "p", "p"]
    names[position] = "z"
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        input z: float32[5]
        slot w: float32[3,2,5]
        slot p: float32[5]
        c: float32[1,2,5] = Conv(x, w) {CONV}
        y: float32[1,2,5] = BatchNorm({", ".join(names)}) {{"axis":2,"epsilon":0.01}}
        output out = y
    """)
    assert run("fold_batchnorm", graph) == graph


@pytest.mark.parametrize("computed", ["kernel", "bias", "factor"])
def test_normalisations_are_not_folded_into_computed_weights(computed):
    """The weights would be multiplied in every run."""
    kinds = {"kernel": "slot", "bias": "slot", "factor": "slot", computed: "input"}
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        {kinds["kernel"]} w: float32[3,2,5]
        {kinds["bias"]} b: float32[5]
        {kinds["factor"]} m: float32[5,5]
        slot p: float32[5]
        c: float32[1,2,5] = Conv(x, w, b) {CONV}
        d: float32[1,2,5] = BatchNorm(c, p, p, p, p) {{"axis":2,"epsilon":0.01}}
        e: float32[1,2,5] = MatMul(d, m)
        y: float32[1,2,5] = BatchNorm(e, p, p, p, p) {{"axis":2,"epsilon":0.01}}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == (
        ["Conv", "MatMul", "Mul", "Add"]
        if computed == "factor"
        else ["Conv", "Mul", "Add", "MatMul", "Add"]
    )
    agree(folded, graph)


def test_normalisations_are_not_folded_past_the_addition_of_a_matrix():
    graph = graph_of("""
        graph g
        input x: float32[3,4]
        slot w: float32[4,3]
        slot b: float32[3,3]
        slot p: float32[3]
        m: float32[3,3] = MatMul(x, w)
        a: float32[3,3] = Add(m, b)
        y: float32[3,3] = BatchNorm(a, p, p, p, p) {"axis":1,"epsilon":0.01}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == ["MatMul", "Add", "Mul", "Add"]
    agree(folded, graph)


@pytest.mark.parametrize("terms", ["m, b", "b, m", "m, c", "c, m"])
def test_normalisations_are_folded_past_the_addition_of_a_vector_or_a_number(terms):
    graph = graph_of(f"""
        graph g
        input x: float32[2,4]
        slot w: float32[4,3]
        slot b: float32[3]
        slot c: float32[]
        slot p: float32[3]
        m: float32[2,3] = MatMul(x, w)
        a: float32[2,3] = Add({terms})
        y: float32[2,3] = BatchNorm(a, p, p, p, p) {{"axis":1,"epsilon":0.01}}
        output out = y
    """)
    folded = run("fold_batchnorm", graph)
    assert operators(folded) == ["MatMul", "Add"]
    agree(folded, graph)
