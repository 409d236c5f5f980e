"""Concatenation in place: which copies are eliminated, which remain, and that results do not
change.
"""

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.lower.fused_calls import run_calls
from tests.passes.graphs import evaluate_graph, values_for
from tests.programs import lower, rewritten
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.table import parse

SKIP = """graph skip
input x: float32[1,6,8]
slot k: float32[8,4]
slot m: float32[4,4]
a: float32[1,6,4] = MatMul(x, k)
r: float32[1,6,4] = Relu(a)
b: float32[1,6,4] = MatMul(r, m)
s: float32[1,6,4] = Tanh(b)
c: float32[1,6,8] = Concat(r, s) {"axis":2}
y: float32[1,6,3] = MatMul(c, w)
slot w: float32[8,3]
output y = y
"""
DENSE = """graph dense
input x: float32[1,5,8]
slot j: float32[8,4]
slot k: float32[4,4]
slot l: float32[8,4]
slot m: float32[12,4]
a: float32[1,5,4] = MatMul(x, j)
b: float32[1,5,4] = MatMul(a, k)
c: float32[1,5,8] = Concat(a, b) {"axis":2}
d: float32[1,5,4] = MatMul(c, l)
e: float32[1,5,12] = Concat(c, d) {"axis":2}
f: float32[1,5,4] = MatMul(e, m)
g: float32[1,5,16] = Concat(e, f) {"axis":2}
output y = g
"""
TWICE = """graph twice
input x: float32[2,4]
a: float32[2,4] = Tanh(x)
b: float32[2,4] = Exp(a)
c: float32[2,8] = Concat(a, a) {"axis":1}
d: float32[4,4] = Concat(a, b) {"axis":0}
e: float32[2,4] = Sin(a)
output c = c
output d = d
output e = e
"""
OUTPUT = """graph shown
input x: float32[2,4]
slot w: float32[4,4]
a: float32[2,4] = MatMul(x, w)
b: float32[2,4] = Exp(a)
c: float32[2,8] = Concat(a, b) {"axis":1}
output a = a
output c = c
"""
RESHAPED = """graph reshaped
input x: float32[2,4]
slot w: float32[4,4]
a: float32[2,4] = MatMul(x, w)
f: float32[4,2] = Reshape(a) {"shape":[4,2]}
b: float32[4,2] = Exp(f)
g: float32[2,4] = Reshape(b) {"shape":[2,4]}
c: float32[2,8] = Concat(a, g) {"axis":1}
output c = c
"""
TRANSPOSED = """graph turned
input x: float32[2,4]
slot w: float32[4,2]
a: float32[2,2] = MatMul(x, w)
t: float32[2,2] = Transpose(a) {"perm":[1,0]}
b: float32[2,2] = Exp(a)
c: float32[2,4] = Concat(t, b) {"axis":1}
output c = c
"""
GRAPHS = {
    "skip": SKIP,
    "dense": DENSE,
    "twice": TWICE,
    "output": OUTPUT,
    "reshaped": RESHAPED,
    "transposed": TRANSPOSED,
}


def graph(name):
    lines = GRAPHS[name].splitlines()
    return parse(
        "\n".join(sorted(lines, key=lambda line: not line.startswith(("graph", "input", "slot"))))
    )


def copies(model, backend=None):
    """Calls that only move elements."""
    calls = (lower(model) if backend is None else rewritten(model, backend)).calls
    return sum(
        not call.nest.accumulators and call.nest.outputs[0].value.op == "load" for call in calls
    )


@pytest.mark.parametrize(
    ("name", "count"),
    [("skip", 0), ("dense", 0), ("twice", 2), ("output", 1), ("reshaped", 2), ("transposed", 1)],
)
def test_number_of_remaining_copies(name, count):
    assert copies(graph(name)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [("skip", 1), ("dense", 3), ("twice", 3), ("output", 1), ("reshaped", 2), ("transposed", 1)],
)
def test_number_of_remaining_copies_where_a_draw_cannot_read_its_target(name, count):
    assert copies(graph(name), REGISTRY["webgl"]) == count
    for call in rewritten(graph(name), REGISTRY["webgl"]).calls:
        assert not {view.name for view in call.inputs} & {view.name for view in call.outputs}


@pytest.mark.parametrize("name", GRAPHS)
def test_results_do_not_change(name):
    model = graph(name)
    values = {key: np.asarray(value, np.float32) for key, value in values_for(model).items()}
    results = run_calls(model, values)
    for output, expected in evaluate_graph(model, values).items():
        assert relative_error(results[output], expected) < 1e-5


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
def test_backends_agree_with_references(backend, tmp_path):
    models = [graph(name) for name in GRAPHS]
    values = [values_for(item) for item in models]
    jobs = [
        Job(
            item,
            {name: arrays[name] for name in item.inputs},
            {name: arrays[name] for name in item.slots},
        )
        for item, arrays in zip(models, values, strict=True)
    ]
    for item, arrays, outputs in zip(models, values, run(jobs, backend, tmp_path), strict=True):
        for name, expected in evaluate_graph(item, arrays).items():
            assert relative_error(outputs[name], expected) < 1e-5


def test_a_contraction_reads_a_slice_in_place():
    model = parse("""graph part
input x: float32[2,9]
slot w: float32[4,3]
s: float32[2,4] = Slice(x) {"sizes":[2,4],"starts":[0,3],"steps":[1,1]}
y: float32[2,3] = MatMul(s, w)
output y = y
""")
    assert len(lower(model).calls) == 1
    values = values_for(model)
    assert relative_error(run_calls(model, values)["y"], evaluate_graph(model, values)["y"]) < 1e-5
