"""Each pass rewrites the example in its docstring as documented; no pass changes results."""

from importlib import import_module
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings

from tests.passes.graphs import evaluate_graph, graphs, values_for
from tests.passes.running import run
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.ops.table import infer, parse
from webkiln.passes.pipeline import PASSES


@pytest.mark.parametrize(
    ("package", "name"), [*(("passes", name) for name in PASSES), ("lower", "block_products")]
)
def test_example_in_the_docstring(package, name):
    text = import_module(f"webkiln.{package}.{name}").__doc__
    before, after = (
        dedent(part.split("\n\nafter:")[0]).strip() + "\n"
        for part in (text.split("before:\n")[1], text.split("after:\n")[1])
    )
    graph = parse(before)
    verify(graph, infer)
    assert print_graph(run(name, graph, package)) == after


@pytest.mark.parametrize("name", PASSES)
def test_passes_are_idempotent(name):
    graph = parse(dedent(import_module(f"webkiln.passes.{name}").__doc__.split("after:\n")[1]))
    assert run(name, graph) == graph


@settings(max_examples=150, deadline=None)
@given(graph=graphs())
def test_no_pass_changes_results(graph):
    inputs = values_for(graph)
    reference = evaluate_graph(graph, inputs)
    for name in PASSES:
        graph = run(name, graph)
        for output, value in evaluate_graph(graph, inputs).items():
            np.testing.assert_allclose(
                value,
                reference[output],
                rtol=1e-4,
                atol=1e-5,
                err_msg=f"{name} changes {output}\n{print_graph(graph)}",
            )


CASES = {
    "matmul with a bias": (
        """
        graph g
        input x: float32[2,3]
        slot w: float32[3,4]
        slot b: float32[4]
        slot p: float32[4]
        m: float32[2,4] = MatMul(x, w) @dense
        a: float32[2,4] = Add(m, b) @dense
        y: float32[2,4] = BatchNorm(a, p, b, p, p) {"axis":1,"epsilon":0.01} @bn
        output out = y
    """
    ),
    "alone": (
        """
        graph g
        input x: float32[2,3,4]
        slot p: float32[3]
        y: float32[2,3,4] = BatchNorm(x, p, p, p, p) {"axis":1,"epsilon":0.01} @bn
        output out = y
    """
    ),
    "channels first convolution": (
        """
        graph g
        input x: float32[1,2,5]
        slot w: float32[4,2,3]
        slot b: float32[4]
        slot p: float32[4]
        c: float32[1,4,3] = Conv(x, w, b) {"dilation":[1],"groups":1,"out_dims":[0,1,2],\
"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[0,1,2],"x_dims":[0,1,2]} @conv
        y: float32[1,4,3] = BatchNorm(c, p, b, p, p) {"axis":1,"epsilon":0.01} @bn
        output out = y
    """
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_folding_batchnorm_does_not_change_results(name):
    graph = parse(dedent(CASES[name]))
    inputs = values_for(graph)
    folded = run("fold_batchnorm", graph)
    assert "BatchNorm" not in {node.op for node in folded.nodes}
    runtime = {node.op for node in folded.nodes} - {node.op for node in folded.constant_subgraph()}
    assert "Rsqrt" not in runtime
    np.testing.assert_allclose(
        evaluate_graph(folded, inputs)["out"],
        evaluate_graph(graph, inputs)["out"],
        rtol=1e-4,
        atol=1e-5,
    )


def test_one_over_x_and_one_to_the_x_are_not_x():
    graph = parse(
        dedent("""
        graph g
        input x: float32[2]
        const one: float32[] = [1.0]
        a: float32[2] = Div(one, x)
        b: float32[2] = Pow(one, x)
        output a = a
        output b = b
        """).lstrip()
    )
    assert run("remove_identities", graph) == graph


def test_definitions_of_live_data_dependent_sizes_are_not_removed():
    graph = parse(
        dedent("""
        graph g
        input x: int32[6]
        const c: float32[] = [1.5]
        u: int32[u0]; v: int64[u0]; w: int64[6]; n: int64[u0] = Unique(x) {"axis":null,"count":"u0"}
        f: int64[1,u1] = NonZero(x) {"count":"u1"}
        a: float32[u0,2] = Broadcast(c) {"shape":[{"size":"u0"},2]}
        y: float32[u0,2] = Neg(a)
        output out = y
        """).lstrip()
    )
    live = run("remove_unused", graph)
    assert [node.op for node in live.nodes] == ["Unique", "Broadcast", "Neg"]
    np.testing.assert_array_equal(
        evaluate_graph(live, {"x": np.array([4, 1, 4, 4, 0, 1], "int32")})["out"],
        np.full((3, 2), -1.5),
    )


def test_sinking_cancels_inverse_transposes():
    graph = parse(
        dedent("""
        graph g
        input x: float32[1,4,5,2]
        slot p: float32[2]
        slot c: float32[2,1,1]
        a: float32[1,2,4,5] = Transpose(x) {"perm":[0,3,1,2]}
        b: float32[1,2,4,5] = BatchNorm(a, p, p, p, p) {"axis":1,"epsilon":0.01}
        d: float32[1,2,4,5] = Mul(b, c)
        e: float32[1,2,4,5] = Add(d, a)
        f: float32[1,2,5,8] = Pad(e) {"high":[0,0,1,1],"low":[0,0,0,2],"value":0.5}
        g: float32[1,4,5,8] = Concat(f, f) {"axis":1}
        y: float32[1,5,8,4] = Transpose(g) {"perm":[0,2,3,1]}
        output out = y
    """).lstrip()
    )
    inputs = values_for(graph)
    moved = run("remove_identities", run("sink_transposes", graph))
    constant_nodes = moved.constant_subgraph()
    assert "Transpose" not in {node.op for node in moved.nodes if node not in constant_nodes}
    np.testing.assert_allclose(
        evaluate_graph(moved, inputs)["out"],
        evaluate_graph(graph, inputs)["out"],
        rtol=1e-5,
        atol=1e-6,
    )


def test_transposes_do_not_sink_past_other_computed_operands_and_softmax():
    graph = parse(
        dedent("""
        graph g
        input x: float32[3,4]
        input z: float32[4,3]
        a: float32[4,3] = Transpose(x) {"perm":[1,0]}
        y: float32[4,3] = Add(a, z)
        w: float32[4,3] = Softmax(a) {"axis":1}
        output out = y
        output other = w
    """).lstrip()
    )
    assert run("sink_transposes", graph) == graph
