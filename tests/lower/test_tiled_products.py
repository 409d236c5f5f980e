"""Blocking of chains of products: which chains are blocked, which are not, and that results are
bit-identical.
"""

from itertools import pairwise

import pytest

from tests.lower.chain_graphs import (
    BLOCKED,
    attention,
    check_no_bit_changes,
    job,
    parsed,
    random_values,
)
from tests.lower.fused_calls import deviations, run_calls, values_of
from tests.lower.mixed_graphs import graph as mixed
from tests.passes.graphs import evaluate_graph
from tests.programs import program, rewritten, with_target
from tests.sampling import representative
from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.ir.dim import is_symbolic
from webkiln.ir.text import print_graph
from webkiln.nest.steps import Repeat, calls

UNBLOCKED = {
    "another reader": BLOCKED["two products of one operand"].replace(
        "output other = z", "output other = z\noutput weights = p"
    ),
    "a sum over all rows": """
        input q: float32[2,60,16]
        input k: float32[2,70,16]
        input v: float32[2,60,24]
        a: float32[2,60,70] = MatMul(q, k) {"transpose_b":true}
        m: float32[] = ReduceSum(a) {"axes":[0,1,2]}
        b: float32[2,60,70] = Sub(a, m)
        y: float32[2,70,24] = MatMul(b, v) {"transpose_a":true}
        output out = y
    """,
    "few rows by a large matrix": """
        input x: float32[24,64]
        slot w: float32[64,512]
        slot u: float32[512,64]
        a: float32[24,512] = MatMul(x, w)
        r: float32[24,512] = Tanh(a)
        y: float32[24,64] = MatMul(r, u)
        output out = y
    """,
    "no second product": """
        input q: float32[2,60,16]
        input k: float32[2,70,16]
        a: float32[2,60,70] = MatMul(q, k) {"transpose_b":true}
        p: float32[2,60,70] = Softmax(a) {"axis":2}
        output out = p
    """,
}
LIMIT, SYMBOLIC_LIMIT = 16 << 10, 128 << 10
"""Bytes. Symbolic sizes are assumed to be large."""


def limited(limit, backend="js"):
    return with_target(REGISTRY[backend], tiled_product_bytes=limit)


@pytest.mark.parametrize("backend", representative(["js", "wasm", "webgpu", "webgl"], "js", "wasm"))
@pytest.mark.sample("js")
def test_blocks_change_no_bit(backend, tmp_path, monkeypatch):
    jobs = {
        name: job(graph, random_values(graph))
        for name, text in (BLOCKED | UNBLOCKED).items()
        for graph in [parsed(text)]
    }
    check_no_bit_changes(
        jobs,
        backend,
        [limited(limit, backend) for limit in (0, LIMIT, SYMBOLIC_LIMIT)],
        tmp_path,
        monkeypatch,
    )


@pytest.mark.parametrize("name", BLOCKED)
def test_intermediate_results_fit_the_limit(name):
    graph = parsed(BLOCKED[name])
    is_symbolic_graph = any(
        is_symbolic(size) for input_ in graph.inputs for size in graph.type(input_).shape
    )
    lowered = rewritten(graph, limited(SYMBOLIC_LIMIT if is_symbolic_graph else LIMIT))
    inside = [call for step in lowered.steps if isinstance(step, Repeat) for call in calls([step])]
    results = {call.outputs[0].name for call in inside} & {
        lowered.root(name) for name in graph.outputs.values()
    }
    assert sum(call.nest.is_contraction for call in inside) >= 2
    between = {view for call in inside for view in call.outputs if view.name not in results}
    assert between
    sizes = [
        symbols.substitute(
            view.type.size, {"B": 1, "T": 1024, "S": 1024} if is_symbolic_graph else {}
        )
        * 4
        for view in between
    ]
    assert max(sizes) <= (SYMBOLIC_LIMIT if is_symbolic_graph else LIMIT)


def check_blocks(heads, size, limit, length):
    """Check that blocks cover all rows, and few of them twice."""
    lowered = rewritten(parsed(attention(1, heads, size, size, 16)), limited(limit))
    (rows,) = (step for step in lowered.steps if isinstance(step, Repeat))
    (product, *_) = rows.steps
    count = symbols.substitute(rows.count, {"T": length})
    (first,) = (arg for arg in product.args.values() if rows.counter in symbols.names([arg]))
    starts = [
        symbols.substitute(first, {"T": length, rows.counter: number}) for number in range(count)
    ]
    extent = symbols.substitute(product.outputs[0].shape[-2], {"T": length})
    assert starts[0] == 0
    assert starts[-1] + extent == length
    assert all(0 <= next_start - start <= extent for start, next_start in pairwise(starts))
    assert count * extent <= 1.2 * length + 6


@pytest.mark.parametrize(
    "length", [1, 5, 24, 64, 127, 128, 130, 252, 256, 300, 512, 1000, 2048, 5000]
)
def test_blocks_of_symbolic_sizes_are_even(length):
    check_blocks(4, "T", 1 << 20, length)


@pytest.mark.parametrize("length", [120, 127, 197, 256, 577, 1001])
@pytest.mark.parametrize("rows", [31, 60, 100])
def test_blocks_of_known_sizes_are_even(rows, length):
    check_blocks(1, length, 4 * length * rows, length)


@pytest.mark.parametrize("name", UNBLOCKED)
def test_other_chains_are_not_blocked(name):
    assert not any(
        isinstance(step, Repeat)
        for step in rewritten(parsed(UNBLOCKED[name]), limited(LIMIT)).steps
    )


def test_memory_grows_linearly_with_the_length():
    """Scores of a sequence twice as long take twice the memory, not four times."""
    sizes = []
    for length in (2048, 4096):
        document = program(parsed(attention(1, 8, length, length, 64)), REGISTRY["wasm"], "float32")
        given_ = 4 * 8 * length * 64 * 4
        sizes.append(document["memory"] - given_)
    assert sizes[1] < 2.1 * max(sizes[0], 1 << 20)
    assert sizes[1] < 4 << 20


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_random_graphs_in_blocks(start):
    for seed in range(start, start + 50):
        graph = mixed(seed)
        values = values_of(graph, seed)
        backend = limited(16)
        reference = evaluate_graph(graph, values, backend.target)
        errors = deviations(run_calls(graph, values, backend), reference)
        assert not errors, f"seed {seed}: {errors}\n{print_graph(graph)}"
