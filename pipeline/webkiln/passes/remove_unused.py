"""Dead code elimination: remove nodes, slots and constants that no output and no state depends on.

before:
    graph g
    input x: float32[2]
    slot w: float32[2]
    y: float32[2] = Relu(x)
    z: float32[2] = Mul(x, w)
    output out = y

after:
    graph g
    input x: float32[2]
    y: float32[2] = Relu(x)
    output out = y
"""

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph


def run(graph: Graph) -> Graph:
    return rewrite.remove_unused(graph)
