"""Second factors are stored with the sum and then columns innermost: which are, which are not, and
that the numbers stay.
"""

import pytest

from tests.backends.harness import run
from tests.lower.chain_graphs import given, job, parsed
from tests.lower.fused_calls import run_calls, wrong
from tests.passes.graphs import evaluate_graph
from webkiln.backends.compare import relative_error
from webkiln.backends.table import TARGETS
from webkiln.ir import symbols
from webkiln.lower import lower as lowering
from webkiln.lower.columns import ALIKE, APART
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


TAKEN = {
    "heads": scores(20, 30),
    "rows that are alike": scores(16, ALIKE),
    "open sizes": scores("T", "S"),
    "values of heads": weighted(20, 30),
    "wide values": weighted(20, 30, 2, ALIKE),
    "values of open sizes": weighted("T", "S"),
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
    "what a map makes": """
        input q: float32[20,8]
        input x: float32[30,8]
        k: float32[30,8] = Tanh(x)
        y: float32[20,30] = MatMul(q, k) {"transpose_b":true}
        output out = y
    """,
}
STORED = {
    "heads": (1, 3, 8, 30),
    "rows that are alike": (1, 3, 8, ALIKE + APART),
    "open sizes": (1, 3, 8, symbols.placeholder("S") + APART),
    "values of heads": (1, 3, 30, 8),
    "wide values": (1, 2, 30, ALIKE + APART),
    "values of open sizes": (1, 3, symbols.placeholder("S"), 8),
    "a sum of two": (3, 6, 5, 8),
    "a matrix": (8, 30),
    "what a map makes": (8, 30),
}
STAYS = {
    "one row of weights": weighted(1, 30),
    "few rows": scores(1, 30),
    "an input": """
        input q: float32[20,8]
        input k: float32[30,8]
        y: float32[20,30] = MatMul(q, k) {"transpose_b":true}
        output out = y
    """,
    "an output": TAKEN["a matrix"] + "output keys = k\n",
    "another reader": TAKEN["a matrix"] + """
        z: float32[30,8] = Relu(k)
        s: float32[30,8] = Sign(z)
        output other = s
        output third = z
    """,
    "rows of columns already": """
        input q: float32[20,8]
        input x: float32[8,30]
        k: float32[8,30] = Tanh(x)
        y: float32[20,30] = MatMul(q, k)
        output out = y
    """,
}  # fmt: skip


def stored(made, monkeypatch):
    """The shapes in which Variables are stored, where they are others than the graph's."""
    monkeypatch.setattr(lowering, "tidy", lambda call: call)
    views = {
        view.name: view.shape
        for call in lowering.lower(made, target=TARGETS["js"]).calls
        for view in call.outputs
    }
    return {
        name: shape
        for name, shape in views.items()
        if name in made.variables and shape != made.type(name).shape
    }


@pytest.mark.parametrize("name", TAKEN)
def test_columns_lie_innermost(name, monkeypatch):
    made = parsed(TAKEN[name])
    assert [*stored(made, monkeypatch).values()] == [STORED[name]]


@pytest.mark.parametrize("name", STAYS)
def test_what_stays(name, monkeypatch):
    assert stored(parsed(STAYS[name]), monkeypatch) == {}


@pytest.mark.parametrize("name", [name for name in (TAKEN | STAYS) if "open sizes" not in name])
def test_the_numbers_stay(name):
    made = parsed((TAKEN | STAYS)[name])
    values = given(made)
    assert not wrong(run_calls(made, values, TARGETS["js"]), evaluate_graph(made, values))


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu"])
def test_backends_compute_them(backend, tmp_path):
    jobs = [job(made, given(made)) for made in map(parsed, (TAKEN | STAYS).values())]
    for item, outputs in zip(jobs, run(jobs, backend, tmp_path), strict=True):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        assert all(relative_error(outputs[key], value) < 1e-5 for key, value in reference.items())
