"""The layout of second factors, with the reduction and then the columns innermost: which are
changed, which are not, and that results do not change.
"""

import pytest

from tests.backends.harness import run
from tests.lower.chain_graphs import job, parsed, random_values
from tests.lower.fused_calls import deviations, run_calls
from tests.passes.graphs import evaluate_graph
from tests.programs import rewritten
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.lower.factor_layout import CONFLICT_MODULUS, PADDING
from webkiln.ops.evaluate import run_graph


def scores(queries, keys, heads=3, width=8):
    return f"""
        input q: float32[1,{queries},{heads},{width}]
        input x: float32[1,{keys},5]
        slot w: float32[5,{heads},{width}]
        k: float32[1,{keys},{heads},{width}] = Einsum(x, w) {{"equation":"bkc,chd->bkhd"}}
        y: float32[1,{heads},{queries},{keys}] = Einsum(q, k) {{"equation":"bqhd,bkhd->bhqk"}}
        output out = y
    """


def weighted(queries, keys, heads=3, width=8):
    return f"""
        input p: float32[1,{heads},{queries},{keys}]
        input x: float32[1,{keys},5]
        slot w: float32[5,{heads},{width}]
        v: float32[1,{keys},{heads},{width}] = Einsum(x, w) {{"equation":"bkc,chd->bkhd"}}
        y: float32[1,{queries},{heads},{width}] = Einsum(p, v) {{"equation":"bhqk,bkhd->bqhd"}}
        output out = y
    """


CHANGED = {
    "heads": scores(20, 30),
    "rows that conflict in a cache": scores(16, CONFLICT_MODULUS),
    "symbolic sizes": scores("T", "S"),
    "values of heads": weighted(20, 30),
    "wide values": weighted(20, 30, 2, CONFLICT_MODULUS),
    "values of symbolic sizes": weighted("T", "S"),
    "a sum of two": """
        input p: float32[20,6,5]
        input x: float32[6,3,5,8]
        v: float32[6,3,5,8] = Tanh(x)
        y: float32[3,20,8] = Einsum(p, v) {"equation":"qab,ahbd->hqd"}
        output out = y
    """,
    "a matrix": """
        input q: float32[20,8]
        input x: float32[30,5]
        slot w: float32[5,8]
        slot b: float32[8]
        m: float32[30,8] = MatMul(x, w)
        k: float32[30,8] = Add(m, b)
        y: float32[20,30] = MatMul(q, k) {"transpose_b":true}
        output out = y
    """,
    "the result of a map": """
        input q: float32[20,8]
        input x: float32[30,8]
        k: float32[30,8] = Tanh(x)
        y: float32[20,30] = MatMul(q, k) {"transpose_b":true}
        output out = y
    """,
}
STORED = {
    "heads": (1, 3, 8, 30),
    "rows that conflict in a cache": (1, 3, 8, CONFLICT_MODULUS + PADDING),
    "symbolic sizes": (1, 3, 8, symbols.placeholder("S") + PADDING),
    "values of heads": (1, 3, 30, 8),
    "wide values": (1, 2, 30, CONFLICT_MODULUS + PADDING),
    "values of symbolic sizes": (1, 3, symbols.placeholder("S"), 8),
    "a sum of two": (3, 6, 5, 8),
    "a matrix": (8, 30),
    "the result of a map": (8, 30),
}
UNCHANGED = {
    "one row of weights": weighted(1, 30),
    "few rows": scores(1, 30),
    "an input": """
        input q: float32[20,8]
        input k: float32[30,8]
        y: float32[20,30] = MatMul(q, k) {"transpose_b":true}
        output out = y
    """,
    "an output": CHANGED["a matrix"] + "output keys = k\n",
    "another reader": CHANGED["a matrix"] + """
        z: float32[30,8] = Relu(k)
        s: float32[30,8] = Sign(z)
        output other = s
        output third = z
    """,
    "columns already innermost": """
        input q: float32[20,8]
        input x: float32[8,30]
        k: float32[8,30] = Tanh(x)
        y: float32[20,30] = MatMul(q, k)
        output out = y
    """,
}  # fmt: skip


def stored(graph):
    """The stored shapes of Variables that differ from the graph's."""
    without = ("fast_convolutions", "canonicalize", "convert_ends")
    program = rewritten(graph, REGISTRY["js"], without)
    views = {view.name: view.shape for call in program.calls for view in call.outputs}
    return {
        name: shape
        for name, shape in views.items()
        if name in graph.variables and shape != graph.type(name).shape
    }


@pytest.mark.parametrize("name", CHANGED)
def test_columns_lie_innermost(name):
    graph = parsed(CHANGED[name])
    assert [*stored(graph).values()] == [STORED[name]]


@pytest.mark.parametrize("name", UNCHANGED)
def test_other_layouts_are_unchanged(name):
    assert stored(parsed(UNCHANGED[name])) == {}


@pytest.mark.parametrize(
    "name", [name for name in (CHANGED | UNCHANGED) if "symbolic sizes" not in name]
)
def test_results_do_not_change(name):
    graph = parsed((CHANGED | UNCHANGED)[name])
    values = random_values(graph)
    assert not deviations(run_calls(graph, values, REGISTRY["js"]), evaluate_graph(graph, values))


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu"])
def test_backends_agree_with_references(backend, tmp_path):
    jobs = [
        job(graph, random_values(graph)) for graph in map(parsed, (CHANGED | UNCHANGED).values())
    ]
    for item, outputs in zip(jobs, run(jobs, backend, tmp_path), strict=True):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        assert all(relative_error(outputs[key], value) < 1e-5 for key, value in reference.items())
