"""Graphs in which one product is an operand of another, others that look similar, and values for
them.
"""

from textwrap import dedent

import numpy as np

from tests.backends.harness import Job, run
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import parse


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


PRODUCT_CHAINS = {
    "blocks of heads": attention(1, 6, 30, 28, 16),
    "rows of each head": attention(1, 2, 120, 130, 16),
    "a partial last block": attention(1, 2, 127, 96, 16),
    "a mask": attention(2, 3, 101, 90, 8, mask=True),
    "batches": attention(5, 1, 48, 60, 8),
    "symbolic sizes": attention("B", 3, "T", "S", 16, mask=True),
    "one symbolic size": attention(1, 4, "T", "T", 16),
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
    "two products of one operand": """
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
    "unrelated calls in between": """
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
OTHER_PRODUCTS = {
    "another reader": PRODUCT_CHAINS["two products of one operand"].replace(
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
    "a diagonal of large rows": """
        input q: float32[80,80,2]
        input k: float32[2,64]
        input w: float32[64,3]
        a: float32[80,80,64] = MatMul(q, k)
        y: float32[80,3] = Einsum(a, w) {"equation":"iic,cd->id"}
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
SIZES = {"B": 2, "T": 83, "S": 71}


def parsed(text):
    return parse(
        "graph g\n" + "\n".join(line.strip() for line in dedent(text).splitlines() if line.strip())
    )


def random_values(graph, seed=0, sizes=SIZES):
    rng = np.random.default_rng(seed)
    shape = {
        name: [sizes.get(str(size), size) for size in graph.type(name).shape]
        for name in (*graph.inputs, *sorted(graph.slots))
    }
    return {
        name: rng.standard_normal(extents).astype(np.float32) for name, extents in shape.items()
    }


def job(graph, values):
    return Job(
        graph,
        {name: values[name] for name in graph.inputs},
        {name: values[name] for name in graph.slots},
    )


def check_no_bit_changes(jobs, backend, variants, folder, monkeypatch):
    """Check that the jobs compute what the operators define, and that all variants of the backend
    compute the same bits.
    """
    results = []
    for number, variant in enumerate(variants):
        monkeypatch.setitem(REGISTRY, backend, variant)
        results.append(run(list(jobs.values()), backend, folder / str(number)))
    for (name, item), unblocked, *blocked in zip(jobs.items(), *results, strict=True):
        reference, _ = run_graph(item.graph, item.inputs, item.weights)
        for key, value in reference.items():
            assert relative_error(unblocked[key], value) < 1e-5, (name, key)
            assert all(np.array_equal(unblocked[key], other[key]) for other in blocked), (name, key)
