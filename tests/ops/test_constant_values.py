"""`ConstantValues` returns the same values as `constant_values`, computes none twice, and releases
each after its last use.
"""

from collections import Counter

import numpy as np

from webkiln.ops import evaluate as evaluation
from webkiln.ops.evaluate import ConstantValues, constant_values
from webkiln.ops.table import parse
from webkiln.weights.shards import stored

GRAPH = parse("""graph g
input x: float32[2,4]
slot a: float32[4,6]
slot b: float32[6]
slot unused: float32[3]
const two: float32[] = [2.0]
double: float32[4,6] = Mul(a, two)
turned: float32[6,4] = Transpose(double) {"perm":[1,0]}
square: float32[6,6] = MatMul(turned, double)
apart: float32[3] = Mul(unused, two)
y: float32[2,6] = MatMul(x, double)
z: float32[2,6] = MatMul(y, square)
w: float32[2,6] = Add(z, b)
output w = w
""")
WEIGHTS = {
    name: np.random.default_rng(3).normal(size=GRAPH.type(name).shape).astype(np.float32)
    for name in sorted(GRAPH.slots)
}


def test_values_on_demand_equal_those_of_the_entire_subgraph(monkeypatch):
    evaluated, read = Counter(), Counter()

    def evaluate(node, operands):
        evaluated[node.name] += 1
        return original(node, operands)

    def slot(name):
        read[name] += 1
        return WEIGHTS[name]

    original = evaluation.evaluate
    expected = constant_values(GRAPH, WEIGHTS)
    monkeypatch.setattr(evaluation, "evaluate", evaluate)
    requested = [weight.name for weight in stored(GRAPH)]
    assert requested == ["double", "square", "b"]
    values = ConstantValues(GRAPH, slot, requested)
    for name in reversed(requested):
        np.testing.assert_array_equal(values(name), expected[name])
    assert not values._retained
    assert (evaluated, read) == (Counter(["double", "turned", "square"]), Counter("ab"))
