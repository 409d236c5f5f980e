"""The conditions under which transposes are absorbed by products, or sink."""

from itertools import permutations

import pytest

from tests.passes.comparison import agree, graph_of, operators
from tests.passes.running import run


@pytest.mark.parametrize("op", ["BatchNorm", "Concat", "Pad"])
def test_transposes_sink_past_operators_with_axis_attributes(op):
    """All sizes are equal, and the permutation is not its own inverse."""
    reads = {
        "BatchNorm": ("BatchNorm(t, p, q, q, p)", '{"axis":0,"epsilon":0.01}', "3,3,3"),
        "Concat": ("Concat(t, t)", '{"axis":0}', "6,3,3"),
        "Pad": ("Pad(t)", '{"high":[0,1,0],"low":[1,1,0],"value":0.5}', "4,5,3"),
    }
    call, attrs, shape = reads[op]
    graph = graph_of(f"""
        graph g
        input x: float32[3,3,3]
        slot p: float32[3]
        slot q: float32[3]
        t: float32[3,3,3] = Transpose(x) {{"perm":[1,2,0]}}
        y: float32[{shape}] = {call} {attrs}
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert [node.op for node in sunk.nodes] == [op, "Transpose"]
    agree(sunk, graph)


def test_different_transposes_of_operands_do_not_sink():
    graph = graph_of("""
        graph g
        input x: float32[3,3,3]
        a: float32[3,3,3] = Transpose(x) {"perm":[1,2,0]}
        b: float32[3,3,3] = Transpose(x) {"perm":[2,0,1]}
        y: float32[3,3,3] = Add(a, b)
        output out = y
    """)
    assert run("sink_transposes", graph) == graph


def test_transposes_sink_past_operators_with_a_computed_scalar():
    graph = graph_of("""
        graph g
        input x: float32[3,4]
        input s: float32[]
        t: float32[4,3] = Transpose(x) {"perm":[1,0]}
        y: float32[4,3] = Add(t, s)
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert [node.op for node in sunk.nodes] == ["Add", "Transpose"]
    agree(sunk, graph)


@pytest.mark.parametrize("perm", [perm for perm in permutations(range(3)) if perm != (0, 1, 2)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_products_absorb_transposes_that_keep_an_axis_innermost(side, perm):
    """The contracted axis must be innermost in the untransposed operand or, in the right operand,
    the column axis.
    """
    transposed_shape = (2, 5, 4)
    shape = [transposed_shape[perm.index(dim)] for dim in range(3)]
    graph = graph_of(f"""
        graph g
        input q: float32[2,5,4]
        input k: float32[{",".join(map(str, shape))}]
        t: float32[2,5,4] = Transpose(k) {{"perm":[{",".join(map(str, perm))}]}}
        y: float32[2,5,5] = MatMul({"t, q" if side == "left" else "q, t"}) {{"transpose_b":true}}
        output out = y
    """)
    changed = run("absorb_transposes", graph)
    absorbed = perm.index(2) in ((2,) if side == "left" else (1, 2))
    assert [node.op for node in changed.nodes] == (
        ["Einsum"] if absorbed else ["Transpose", "MatMul"]
    )
    agree(changed, graph)


def test_products_in_the_constant_subgraph_do_not_absorb_transposes():
    graph = graph_of("""
        graph g
        input x: float32[5,3]
        slot v: float32[3,4]
        slot w: float32[3,4]
        t: float32[4,3] = Transpose(w) {"perm":[1,0]}
        m: float32[3,3] = MatMul(v, t)
        y: float32[5,3] = MatMul(x, m)
        output out = y
    """)
    assert run("absorb_transposes", graph) == graph


def test_transposes_sink_past_weights_with_another_transpose():
    graph = graph_of("""
        graph g
        input x: float32[3,3,3]
        slot w: float32[3,3,3]
        a: float32[3,3,3] = Transpose(x) {"perm":[1,2,0]}
        b: float32[3,3,3] = Transpose(w) {"perm":[2,0,1]}
        y: float32[3,3,3] = Add(a, b)
        output out = y
    """)
    sunk = run("sink_transposes", graph)
    assert operators(sunk) == ["Add", "Transpose"]
    agree(sunk, graph)
