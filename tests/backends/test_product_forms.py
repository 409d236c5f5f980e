"""Products in the forms of each class of GPUs match the reference: tiles and splits that do not
divide, padding, strides, groups of products, epilogues, constants in all layouts.
"""

from textwrap import dedent

import numpy as np
import pytest

from tests.backends.adapters import ADAPTERS
from tests.backends.harness import Prepared, run_programs
from tests.passes.graphs import evaluate_graph
from tests.programs import program
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.table import parse
from webkiln.weights.shards import pieces, stored, write


def conv(kernel="[3,2,0,1]", strides="[1,1]", pad="[1,1]", gaps="[]", groups=1):
    return (
        f'{{"dilation":[1,1],"groups":{groups},"out_dims":[0,3,1,2],'
        f'"pad_high":{pad},"pad_low":{pad},"strides":{strides},"w_dims":{kernel},'
        f'"x_dilation":{gaps},"x_dims":[0,3,1,2]}}'
    )


GRAPHS = {
    "a short sum": """
        input x: float32[49,128]
        slot w: float32[128,512]
        slot b: float32[512]
        p: float32[49,512] = MatMul(x, w)
        s: float32[49,512] = Add(p, b)
        y: float32[49,512] = Relu(s)
    """,
    "a long sum of few rows": """
        input x: float32[37,1536]
        slot w: float32[1536,96]
        input r: float32[37,96]
        p: float32[37,96] = MatMul(x, w)
        y: float32[37,96] = Add(p, r)
    """,
    "parts of a concatenation": """
        input x: float32[37,1536]
        slot v: float32[1536,96]
        slot w: float32[1536,32]
        a: float32[37,96] = MatMul(x, v)
        b: float32[37,32] = MatMul(x, w)
        y: float32[37,128] = Concat(a, b) {"axis":1}
    """,
    "parts of tiles": """
        input x: float32[41,1000]
        slot w: float32[1000,72]
        y: float32[41,72] = MatMul(x, w)
    """,
    "columns that are no vectors": """
        input x: float32[19,440]
        slot w: float32[440,77]
        y: float32[19,77] = MatMul(x, w)
    """,
    "a batch of two factors": """
        input x: float32[3,40,64]
        input w: float32[3,64,48]
        y: float32[3,40,48] = MatMul(x, w)
    """,
    "turned weights": """
        input x: float32[24,640]
        slot w: float32[100,640]
        y: float32[24,100] = MatMul(x, w) {"transpose_b":true}
    """,
    "taps of an image": f"""
        input x: float32[1,7,9,64]
        slot w: float32[3,3,64,80]
        slot b: float32[80]
        c: float32[1,7,9,80] = Conv(x, w, b) {conv()}
        y: float32[1,7,9,80] = Relu(c)
    """,
    "a stride": f"""
        input x: float32[2,14,14,48]
        slot w: float32[3,3,48,64]
        slot b: float32[64]
        y: float32[2,7,7,64] = Conv(x, w, b) {conv(strides="[2,2]")}
    """,
    "phases of a transposed convolution": f"""
        input x: float32[1,6,5,64]
        slot w: float32[4,4,64,48]
        slot b: float32[48]
        y: float32[1,12,10,48] = Conv(x, w, b) {conv(pad="[2,2]", gaps="[2,2]")}
    """,
    "phases of different sizes": f"""
        input x: float32[1,6,5,64]
        slot w: float32[3,3,64,48]
        slot b: float32[48]
        y: float32[1,11,9,48] = Conv(x, w, b) {conv(gaps="[2,2]")}
    """,
    "a depthwise convolution": f"""
        input x: float32[1,7,9,96]
        slot w: float32[1,3,3,96]
        slot b: float32[96]
        y: float32[1,7,9,96] = Conv(x, w, b) {conv(kernel="[3,0,1,2]", groups=96)}
    """,
    "filters before channels": f"""
        input x: float32[1,10,10,96]
        slot w: float32[64,96,3,3]
        slot b: float32[64]
        y: float32[1,10,10,64] = Conv(x, w, b) {conv(kernel="[0,1,2,3]")}
    """,
}


def prepared(name):
    """A graph, its values, and its program."""
    graph = parse(f"graph g\n{dedent(GRAPHS[name]).strip()}\noutput y = y\n")
    rng = np.random.default_rng(len(name))
    values = {
        item: rng.standard_normal(graph.type(item).shape).astype(np.float32)
        for item in (*graph.inputs, *graph.slots)
    }
    compiled = program(graph, REGISTRY["webgpu"], "float32")
    shards = list(write(pieces(stored(graph), "float32"), values.__getitem__))
    return graph, values, Prepared(compiled, {n: values[n] for n in graph.inputs}, shards)


def forms(steps, kernels, multiprocessors):
    """The workgroup and the number of launches of the form for a device."""
    for step in steps:
        if "multiprocessors" in step:
            block = "then" if multiprocessors >= step["multiprocessors"] else "else"
            yield from forms(step[block], kernels, multiprocessors)
        else:
            yield kernels[step["kernel"]]["schedule"].get("workgroup", {})


@pytest.mark.parametrize("multiprocessors", representative(ADAPTERS, 8, 132))
def test_forms_match_the_reference(multiprocessors, tmp_path):
    cases = {name: prepared(name) for name in GRAPHS}
    items = [item for _, _, item in cases.values()]
    results = run_programs(items, "webgpu", tmp_path, adapter=ADAPTERS[multiprocessors])
    for (name, (graph, values, _)), outputs in zip(cases.items(), results, strict=True):
        (reference,) = evaluate_graph(graph, values).values()
        assert relative_error(outputs["y"], reference) < 2e-5, name


def test_results_have_equal_bits_from_run_to_run(tmp_path):
    item = prepared("a long sum of few rows")[2]
    twice = run_programs([item, item], "webgpu", tmp_path, adapter=ADAPTERS[132])
    assert np.array_equal(twice[0]["y"], twice[1]["y"])


DIRECT = {"columns": 8, "parts": 8, "depth": 32}
STAGED = {"columns": 8, "rows": 8, "depth": 16, "staged": True}


@pytest.mark.parametrize(
    ("name", "multiprocessors", "expected"),
    [
        ("a short sum", 1, [{}]),
        ("a long sum of few rows", 1, [{"columns": 8, "parts": 8}]),
        ("a long sum of few rows", 132, [DIRECT, {}]),
        ("columns that are no vectors", 132, [STAGED]),
        ("turned weights", 8, [DIRECT]),
        ("a batch of two factors", 8, [{"columns": 16, "parts": 8, "depth": 32}]),
        ("phases of a transposed convolution", 1, [{}] * 4),
        ("phases of a transposed convolution", 8, [DIRECT | {"columns": 16}]),
        ("taps of an image", 1, [{}, {}, {}]),
        ("taps of an image", 24, [DIRECT | {"depth": 16}, {}]),
    ],
)
def test_each_class_has_its_form(name, multiprocessors, expected):
    compiled = prepared(name)[2].program
    assert list(forms(compiled["main"], compiled["kernels"], multiprocessors)) == expected
