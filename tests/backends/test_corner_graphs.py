"""Corner cases of fusion, simplification and scheduling: each was once wrong or rejected on some
backend.
"""

from textwrap import dedent

import numpy as np
import pytest

from tests.backends.harness import Job, run
from tests.passes.graphs import evaluate_graph
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.ir.bind import bind
from webkiln.ops.table import parse

GRAPHS = {
    "every other element of whole rows": (
        """
        input x: float32[1,24,8,8]
        input w: float32[24,24,2,2]
        y: float32[1,24,16,16] = Conv(x, w) {"dilation":[1,1],"groups":1,"out_dims":[0,1,2,3],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[1,0,2,3],"x_dilation":[2,2],"x_dims":[0,1,2,3]}
        output y = y
        """  # noqa: E501
    ),
    "a concatenation in a concatenation in another, of open sizes": (
        """
        input x: float32[T]
        a: float32[T] = Tanh(x)
        b: float32[T] = Neg(a)
        c: float32[2*T] = Concat(a, b) {"axis":0}
        d: float32[3*T] = Concat(x, c) {"axis":0}
        y: float32[4*T] = Concat(x, d) {"axis":0}
        output y = y
        """
    ),
    "a transposed tensor as one row": (
        """
        input x: float32[2,3,4]
        t: float32[4,2,3] = Transpose(x) {"perm":[2,0,1]}
        r: float32[24] = Reshape(t) {"shape":[24]}
        y: float32[24] = Tanh(r)
        output y = y
        """
    ),
    "elements chosen by themselves": (
        """
        input x: float32[]
        a: float32[1] = Reshape(x) {"shape":[1]}
        v: float32[1] = Square(a)
        i: int32[1] = Cast(v) {"dtype":"int32"}
        y: float32[1] = Gather(v, i) {"axis":0}
        output y = y
        """
    ),
    "a tensor and one element of it": (
        """
        input x: float32[4,5]
        one: float32[1,1] = Slice(x) {"sizes":[1,1],"starts":[2,3],"steps":[1,1]}
        y: float32[4,5] = Sub(x, one)
        output y = y
        """
    ),
    "a slice that is padded and copied": (
        """
        input x: float32[1,1,6]
        s: float32[1,1,2] = Slice(x) {"sizes":[1,1,2],"starts":[0,0,3],"steps":[1,1,1]}
        p: float32[2,2,2] = Pad(s) {"high":[1,1,0],"low":[0,0,0],"value":1}
        y: float32[2,2,2] = Transpose(p) {"perm":[0,1,2]}
        output y = y
        """
    ),
    "whole numbers, each repeated along three axes, as floats": (
        """
        input x: int32[2,1,2,1,3]
        r: int32[2,1,1,2,1,1,1,3] = Reshape(x) {"shape":[2,1,1,2,1,1,1,3]}
        b: int32[2,1,2,2,2,1,2,3] = Broadcast(r) {"shape":[2,1,2,2,2,1,2,3]}
        u: int32[2,2,4,2,3] = Reshape(b) {"shape":[2,2,4,2,3]}
        y: float32[2,2,4,2,3] = Cast(u) {"dtype":"float32"}
        output y = y
        """
    ),
    "a tensor and its transpose": (
        """
        input x: float32[3,3,2]
        t: float32[3,3,2] = Transpose(x) {"perm":[1,0,2]}
        y: float32[3,3,2] = Sub(x, t)
        output y = y
        """
    ),
    "a comparison of a sum": (
        """
        input x: float32[2,5,19]
        const zero: float32[] = [0.0]
        sum: float32[2,19] = ReduceSum(x) {"axes":[1]}
        y: bool[2,19] = Greater(sum, zero)
        output y = y
        """
    ),
    "whole numbers of a sum": (
        """
        input x: float32[2,5,19]
        sum: float32[2,19] = ReduceSum(x) {"axes":[1]}
        y: int32[2,19] = Cast(sum) {"dtype":"int32"}
        output y = y
        """
    ),
    "rows repeated and joined": (
        """
        input x: float32[2,3,5,4]
        const half: float32[] = [0.5]
        a: float32[2,3,1,5,4] = Reshape(x) {"shape":[2,3,1,5,4]}
        b: float32[2,3,3,5,4] = Broadcast(a) {"shape":[2,3,3,5,4]}
        c: float32[2,9,5,4] = Reshape(b) {"shape":[2,9,5,4]}
        y: float32[2,9,5,4] = Mul(c, half)
        output y = y
        """
    ),
    "bytes repeated": (
        """
        input x: uint8[2,1]
        y: uint8[2,19] = Broadcast(x) {"shape":[2,19]}
        output y = y
        """
    ),
    "signs of whole numbers among floats": (
        """
        input x: float32[2,19]
        i: int32[2,19] = Cast(x) {"dtype":"int32"}
        s: int32[2,19] = Sign(i)
        f: float32[2,19] = Cast(s) {"dtype":"float32"}
        y: float32[2,19] = Mul(f, x)
        output y = y
        """
    ),
    "equal truths among floats": (
        """
        input a: float32[2,19]
        input b: float32[2,19]
        l: bool[2,19] = Less(a, b)
        g: bool[2,19] = GreaterEqual(a, b)
        e: bool[2,19] = NotEqual(l, g)
        s: bool[2,19] = Equal(e, l)
        y: float32[2,19] = Where(s, a, b)
        output y = y
        """
    ),
    "products beside products": (
        """
        input x: float32[8,8]
        input v: float32[8,12]
        input w: float32[8,4]
        input u: float32[16,20]
        a: float32[8,12] = MatMul(x, v)
        b: float32[8,4] = MatMul(x, w)
        c: float32[8,16] = Concat(a, b) {"axis":1}
        d: float32[8,20] = MatMul(c, u)
        e: float32[20,8] = Transpose(d) {"perm":[1,0]}
        f: float32[20] = ReduceSum(e) {"axes":[1]}
        g: int32[20] = ArgMax(e) {"axis":1,"keepdims":false}
        h: float32[8,4] = Slice(d) {"sizes":[8,4],"starts":[0,5],"steps":[1,2]}
        output c = c
        output e = e
        output f = f
        output g = g
        output h = h
        """
    ),
    "half precision between": (
        """
        input x: float32[2,19]
        h: float16[2,19] = Cast(x) {"dtype":"float16"}
        y: float32[2,19] = Cast(h) {"dtype":"float32"}
        output y = y
        """
    ),
    "bytes that wrap between": (
        """
        input i: int32[2,19]
        b: int8[2,19] = Cast(i) {"dtype":"int8"}
        u: uint8[2,19] = Cast(i) {"dtype":"uint8"}
        v: uint8[2,19] = Mul(u, u)
        y: int32[2,19] = Cast(b) {"dtype":"int32"}
        z: int32[2,19] = Cast(v) {"dtype":"int32"}
        output y = y
        output z = z
        """
    ),
}


def read(name):
    return parse("graph g\n" + dedent(GRAPHS[name]).strip() + "\n")


def heads(levels, anchors, channels):
    """The heads of a detector: [1, A * C, H, W] of each level to [1, H * W * A, C], joined."""
    graph, parts = "", []
    for n, (h, w) in enumerate(levels):
        parted, joined = [1, anchors, channels, h, w], [1, h * w * anchors, channels]
        graph += f"""
            input x{n}: float32[1,{anchors * channels},{h},{w}]
            v{n}: float32{parted} = Reshape(x{n}) {{"shape":{parted}}}
            p{n}: float32{[1, h, w, anchors, channels]} = Transpose(v{n}) {{"perm":[0,3,4,1,2]}}
            r{n}: float32{joined} = Reshape(p{n}) {{"shape":{joined}}}
            """
        parts.append(f"r{n}")
    rows = sum(h * w * anchors for h, w in levels)
    graph += f"""
            y: float32[1,{rows},{channels}] = Concat({", ".join(parts)}) {{"axis":1}}
            output y = y
            """
    lines = [line.strip() for line in graph.splitlines() if line.strip()]
    return parse("\n".join(["graph heads", *lines]) + "\n")


@pytest.mark.parametrize("backend", ["js", "webgl"])
def test_heads_of_detectors(backend, tmp_path):
    jobs = []
    for levels in ([(8, 8), (4, 4)], [(5, 3), (2, 2)], [(3, 3)]):
        for anchors, channels in ((1, 4), (2, 4), (3, 2), (6, 4), (3, 5), (2, 1), (9, 8)):
            graph = heads(levels, anchors, channels)
            rng = np.random.default_rng(0)
            jobs.append(
                Job(
                    graph,
                    {
                        name: rng.standard_normal(graph.type(name).shape).astype(np.float32)
                        for name in graph.inputs
                    },
                )
            )
    for job, outputs in zip(jobs, run(jobs, backend, tmp_path), strict=True):
        for output, reference in evaluate_graph(job.graph, job.inputs).items():
            assert relative_error(outputs[output], reference) < 1e-5


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
def test_corner_graphs(backend, tmp_path):
    rng = np.random.default_rng(4)
    jobs = []
    for name in GRAPHS:
        graph = read(name)
        types = bind(graph, {"T": 5})
        values = {
            item: (rng.standard_normal(types.type(item).shape) * 300).astype(types.type(item).dtype)
            for item in graph.inputs
        }
        jobs.append(Job(graph, values))
    for name, job, outputs in zip(GRAPHS, jobs, run(jobs, backend, tmp_path), strict=True):
        expected = evaluate_graph(job.graph, job.inputs, REGISTRY[backend].target)
        for output, reference in expected.items():
            assert outputs[output].dtype == reference.dtype, name
            assert relative_error(outputs[output], reference) < 1e-5, (name, output)
