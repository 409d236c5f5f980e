"""Batch normalisations that must not be folded into a preceding product."""

from tests.passes.running import run
from webkiln.ir.text import parse


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
