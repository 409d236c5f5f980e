"""Products with 4-bit weights: which forms are found, and values against exact products."""

from collections import Counter

import numpy as np
import pytest

from tests.passes.running import optimised, run
from tests.programs import program
from webkiln.backends.table import REGISTRY
from webkiln.errors import InternalError
from webkiln.ir.text import print_graph
from webkiln.lower.lower import unfused
from webkiln.ops.block_products import MatMulBlocks
from webkiln.ops.evaluate import run_graph
from webkiln.ops.load_time import load_time_nodes, nodes_after
from webkiln.ops.table import parse
from webkiln.weights.shards import stored

HEAD = """graph g
input x: float32[{rows},64]
input ids: int32[3]
slot p: uint8[48,32]
slot s: float16[48,2]
slot z: uint8[48,1]
slot m: float32[48,2]
const zero: float32[] = [{zero}]
codes: uint8[48,64] = UnpackBits(p) {{"bits":4,"signed":false}} @w
real: float32[48,64] = Cast(codes) {{"dtype":"float32"}} @w
factors: float32[48,2] = Cast(s) {{"dtype":"float32"}} @w
scales: float32[48,64] = Repeat(factors) {{"axis":1,"size":64,"times":32}} @w
"""
FORMS = {
    "plain": "w: float32[48,64] = Mul(real, scales) @w\n",
    "center": """moved: float32[48,64] = Sub(real, zero) @w
w: float32[48,64] = Mul(moved, scales) @w
""",
    "points": """four: uint8[48,2] = UnpackBits(z) {"bits":4,"signed":false} @w
wide: float32[48,2] = Cast(four) {"dtype":"float32"} @w
zeros: float32[48,64] = Repeat(wide) {"axis":1,"size":64,"times":32} @w
moved: float32[48,64] = Sub(real, zeros) @w
w: float32[48,64] = Mul(moved, scales) @w
""",
    "minima": """least: float32[48,64] = Repeat(m) {"axis":1,"size":64,"times":32} @w
scaled: float32[48,64] = Mul(real, scales) @w
w: float32[48,64] = Add(scaled, least) @w
""",
}
TAIL = """y: float32[{rows},48] = MatMul(x, w) {{"transpose_a":false,"transpose_b":true}} @dense
other: float32[48,64] = Mul(real, scales) @other
v: float32[{rows},48] = MatMul(x, other) {{"transpose_a":false,"transpose_b":true}} @other
t: float32[{rows},48] = Tanh(v)
rows: float32[3,64] = Gather(w, ids) {{"axis":0}} @table
output y = y
output t = t
output rows = rows
"""


def graph_of(form: str, rows: int = 5, zero: float = 8.0):
    return parse(
        (HEAD + FORMS[form].replace("{", "{{").replace("}", "}}") + TAIL).format(
            rows=rows, zero=zero
        )
    )


def values(graph):
    rng = np.random.default_rng(4)
    weights = {
        "p": rng.integers(0, 255, (48, 32), np.uint8, endpoint=True),
        "s": rng.uniform(0.01, 0.1, (48, 2)).astype(np.float16),
        "z": rng.integers(0, 255, (48, 1), np.uint8, endpoint=True),
        "m": rng.uniform(-0.3, 0.3, (48, 2)).astype(np.float32),
    }
    x = rng.normal(0, 1, graph.type("x").shape).astype(np.float32)
    inputs = {"x": x, "ids": np.array([47, 0, 5], np.int32)}
    return inputs, {name: weights[name] for name in graph.slots}


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("form", FORMS)
def test_products_of_blocks(form: str, rows: int) -> None:
    graph = optimised(graph_of(form, rows))
    changed = run("block_products", graph, "lower")
    counts = Counter(node.op for node in changed.nodes)
    assert (counts["MatMul"], counts["MatMulBlocks"], counts["QuantizeBlocks"]) == (
        0,
        1 if form == "plain" else 2,
        1,
    )
    inputs, weights = values(graph)
    expected, everything = run_graph(graph, inputs, weights)
    results, _ = run_graph(changed, inputs, weights)
    np.testing.assert_array_equal(results["rows"], expected["rows"])
    scales = np.abs(inputs["x"].reshape(rows, 2, 32)).max(-1) / 127
    weight = np.abs(everything["w"]).reshape(48, 2, 32).sum(-1)
    bound = scales / 2 @ weight.T
    assert np.all(np.abs(results["y"] - expected["y"]) <= bound * 1.001)
    assert np.any(results["y"] != expected["y"])


@pytest.mark.parametrize("form", FORMS)
def test_the_bundle_stays_the_same(form: str) -> None:
    graph = optimised(graph_of(form))
    changed = run("block_products", graph, "lower")
    names = {item.name for item in stored(graph)}
    assert names == graph.slots
    computed = {name for node in nodes_after(changed, names) for name in node.outputs}
    constant = changed.constant_subgraph()
    folded = {name for node in constant for name in node.outputs}
    read = {name for node in changed.nodes if node not in constant for name in node.inputs}
    defined = {name for node in changed.nodes for name in node.outputs} - folded
    given = names | computed | changed.constants.keys() | set(changed.inputs)
    assert read <= given | defined
    assert not {"w", "codes", "real", "other"} & computed


@pytest.mark.parametrize("zero", [-1.0, 7.5, 8.0, 16.0])
def test_zero_points_that_are_no_codes_are_offsets(zero: float) -> None:
    graph = optimised(graph_of("center", zero=zero))
    changed = run("block_products", graph, "lower")
    products = {node.name: node for node in changed.nodes if node.op == "MatMulBlocks"}
    assert products["y"].attrs_as(MatMulBlocks).center == (8 if zero == 8.0 else 0)
    assert len(products["y"].inputs) == (4 if zero == 8.0 else 5)
    inputs, weights = values(graph)
    expected, results = (run_graph(item, inputs, weights)[0]["y"] for item in (graph, changed))
    np.testing.assert_allclose(results, expected, rtol=0, atol=0.02 * np.abs(expected).max())


def test_weights_that_a_bundle_contains_as_floats_stay() -> None:
    """Codes of so few weights would save less than loading them as codes is worth."""
    text = print_graph(graph_of("center")).replace("[48,", "[12,").replace(",48]", ",12]")
    small = optimised(parse(text))
    assert load_time_nodes(small) == ()
    assert run("block_products", small, "lower") == small
    backend = REGISTRY["wasm"]
    assert program(small, backend, products="dot") == program(small, backend)


def test_constants_that_no_bundle_contains_are_not_read() -> None:
    graph = optimised(graph_of("center"))
    with pytest.raises(InternalError, match="no bundle contains p, which is read"):
        unfused(run("block_products", graph, "lower"), stored=graph.slots - {"p"})
