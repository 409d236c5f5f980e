"""Products of which later products read what becomes of them, by blocks: which are taken, which are not, and that no bit changes."""

from dataclasses import replace
from itertools import pairwise
from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.lower.mixed_graphs import graph as mixed
from tests.lower.test_fusion import run_calls, values_of, wrong
from tests.parts import representative
from tests.passes.graphs import evaluate_graph
from webkiln.backends.compare import relative_error
from webkiln.backends.table import TARGETS
from webkiln.ir import dim
from webkiln.ir.dim import is_symbolic
from webkiln.ir.text import parse, print_graph
from webkiln.lower.lower import lower
from webkiln.nest.build import Repeat, calls
from webkiln.ops.evaluate import run_graph
from webkiln.program import program


def attention(batch, heads, queries, keys, width, *, mask=False):
    scores = f"float32[{batch},{heads},{queries},{keys}]"
    return f"""
        input q: float32[{batch},{heads},{queries},{width}]
        input k: float32[{batch},{heads},{keys},{width}]
        input v: float32[{batch},{heads},{keys},{width}]
        {f"input m: float32[1,1,{queries},{keys}]" if mask else "const m: float32[] = [0.125]"}
        a: {scores} = MatMul(q, k) {{"transpose_b":true}}
        b: {scores} = {"Add" if mask else "Mul"}(a, m)
        p: {scores} = Softmax(b) {{"axis":3}}
        y: float32[{batch},{heads},{queries},{width}] = MatMul(p, v)
        output out = y
    """


BLOCKED = {
    "blocks of heads": attention(1, 6, 30, 28, 16),
    "rows of each head": attention(1, 2, 120, 130, 16),
    "rows that are left": attention(1, 2, 127, 96, 16),
    "a mask": attention(2, 3, 101, 90, 8, mask=True),
    "batches": attention(5, 1, 48, 60, 8),
    "open sizes": attention("B", 3, "T", "S", 16, mask=True),
    "one open size": attention(1, 4, "T", "T", 16),
    "heads inside": """
        input q: float32[1,90,4,16]
        input k: float32[1,90,4,16]
        input v: float32[1,90,4,16]
        a: float32[1,4,90,90] = Einsum(q, k) {"equation":"bqhd,bkhd->bhqk"}
        p: float32[1,4,90,90] = Softmax(a) {"axis":3}
        y: float32[1,90,4,16] = Einsum(p, v) {"equation":"bhqk,bkhd->bqhd"}
        output out = y
    """,
    "over rows": """
        input q: float32[3,60,16]
        input k: float32[3,70,16]
        input v: float32[3,60,16]
        a: float32[3,60,70] = MatMul(q, k) {"transpose_b":true}
        p: float32[3,60,70] = Softmax(a) {"axis":1}
        y: float32[3,70,16] = MatMul(p, v) {"transpose_a":true}
        output out = y
    """,
    "two products of the same": """
        input q: float32[2,60,16]
        input k: float32[2,70,16]
        input v: float32[2,70,16]
        input w: float32[2,70,24]
        a: float32[2,60,70] = MatMul(q, k) {"transpose_b":true}
        p: float32[2,60,70] = Sigmoid(a)
        y: float32[2,60,16] = MatMul(p, v)
        z: float32[2,60,24] = MatMul(p, w)
        output out = y
        output other = z
    """,
    "what stands among them": """
        input q: float32[2,60,16]
        input k: float32[2,70,16]
        input x: float32[2,70,8]
        slot w: float32[8,16]
        a: float32[2,60,70] = MatMul(q, k) {"transpose_b":true}
        p: float32[2,60,70] = Softmax(a) {"axis":2}
        v: float32[2,70,16] = MatMul(x, w)
        y: float32[2,60,16] = MatMul(p, v)
        r: float32[2,60,16] = Relu(y)
        s: float32[2,60,16] = Add(r, q)
        output out = s
    """,
}  # fmt: skip
WHOLE = {
    "what others read": BLOCKED["two products of the same"].replace("output other = z", "output other = z\noutput weights = p"),
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
    "few rows by much": """
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
}  # fmt: skip
LIMIT, OPEN_LIMIT = 16 << 10, 128 << 10
"""Bytes; open sizes are taken to be large."""
OPEN = {"B": 2, "T": 83, "S": 71}


def parsed(text):
    return parse("graph g\n" + "\n".join(line.strip() for line in dedent(text).splitlines() if line.strip()))


def limited(limit, backend="js"):
    return replace(TARGETS[backend], between=limit)


def given(made, seed=0, sizes=OPEN):
    rng = np.random.default_rng(seed)
    shape = {name: [sizes.get(str(size), size) for size in made.type(name).shape] for name in (*made.inputs, *sorted(made.slots))}
    return {name: rng.standard_normal(extents).astype(np.float32) for name, extents in shape.items()}


def job(made, values):
    return Job(made, {name: values[name] for name in made.inputs}, {name: values[name] for name in made.slots})


def check_no_bit_changes(jobs, backend, targets, folder, monkeypatch):
    """The jobs compute what the operators say, and for every target the bits of the first one."""
    results = []
    for number, target in enumerate(targets):
        monkeypatch.setitem(TARGETS, backend, target)
        results.append(run(list(jobs.values()), backend, folder / str(number)))
    for (name, item), plain, *blocked in zip(jobs.items(), *results, strict=True):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        for key, value in reference.items():
            assert relative_error(plain[key], value) < 1e-5, (name, key)
            assert all(np.array_equal(plain[key], other[key]) for other in blocked), (name, key)


@pytest.mark.parametrize("backend", representative(["js", "wasm", "webgpu", "webgl"], "js", "wasm"))
def test_blocks_change_no_bit(backend, tmp_path, monkeypatch):
    jobs = {name: job(made, given(made)) for name, text in (BLOCKED | WHOLE).items() for made in [parsed(text)]}
    check_no_bit_changes(jobs, backend, [limited(limit, backend) for limit in (0, LIMIT, OPEN_LIMIT)], tmp_path, monkeypatch)


@pytest.mark.parametrize("name", BLOCKED)
def test_what_lies_between_fits(name):
    made = parsed(BLOCKED[name])
    is_open = any(is_symbolic(size) for input_ in made.inputs for size in made.type(input_).shape)
    lowered = lower(made, target=limited(OPEN_LIMIT if is_open else LIMIT))
    inside = [call for step in lowered.steps if isinstance(step, Repeat) for call in calls([step])]
    results = {call.outputs[0].name for call in inside} & {lowered.roots[name] for name in made.outputs.values()}
    assert sum(call.nest.is_contraction for call in inside) >= 2
    between = {view for call in inside for view in call.outputs if view.name not in results}
    assert between
    sizes = [dim.at(view.type.size, {"B": 1, "T": 1024, "S": 1024} if is_open else {}) * 4 for view in between]
    assert max(sizes) <= (OPEN_LIMIT if is_open else LIMIT)


def check_blocks(heads, size, limit, length):
    """Blocks hold all rows, and few of them twice."""
    lowered = lower(parsed(attention(1, heads, size, size, 16)), target=limited(limit))
    (rows,) = (step for step in lowered.steps if isinstance(step, Repeat))
    (product, *_) = rows.steps
    count = dim.at(rows.count, {"T": length})
    (first,) = (arg for arg in product.args.values() if rows.counter in dim.names([arg]))
    begins = [dim.at(first, {"T": length, rows.counter: number}) for number in range(count)]
    each = dim.at(product.outputs[0].shape[-2], {"T": length})
    assert begins[0] == 0
    assert begins[-1] + each == length
    assert all(0 <= after - before <= each for before, after in pairwise(begins))
    assert count * each <= 1.2 * length + 6


@pytest.mark.parametrize("length", [1, 5, 24, 64, 127, 128, 130, 252, 256, 300, 512, 1000, 2048, 5000])
def test_blocks_of_open_sizes_are_even(length):
    check_blocks(4, "T", 1 << 20, length)


@pytest.mark.parametrize("length", [120, 127, 197, 256, 577, 1001])
@pytest.mark.parametrize("rows", [31, 60, 100])
def test_blocks_of_known_sizes_are_even(rows, length):
    check_blocks(1, length, 4 * length * rows, length)


@pytest.mark.parametrize("name", WHOLE)
def test_what_stays_whole(name):
    assert not any(isinstance(step, Repeat) for step in lower(parsed(WHOLE[name]), target=limited(LIMIT)).steps)


def test_memory_grows_with_the_length_alone():
    """Scores of a sequence twice as long take twice the memory, not four times."""
    sizes = []
    for length in (2048, 4096):
        made = program(parsed(attention(1, 8, length, length, 64)), TARGETS["wasm"], "float32")
        given_ = 4 * 8 * length * 64 * 4
        sizes.append(made["memory"] - given_)
    assert sizes[1] < 2.1 * max(sizes[0], 1 << 20)
    assert sizes[1] < 4 << 20


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_random_graphs_by_blocks(start):
    for seed in range(start, start + 50):
        made = mixed(seed)
        values = values_of(made, seed)
        found = wrong(run_calls(made, values, limited(16)), evaluate_graph(made, values))
        assert not found, f"seed {seed}: {found}\n{print_graph(made)}"
