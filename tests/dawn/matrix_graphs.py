"""Graphs with products of float16 that subgroup matrices can multiply: factors are results of
elementwise operators, or weights, with values that float16 represents.
"""

from itertools import product
from textwrap import dedent

import numpy as np

from tests.backends.harness import Prepared
from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.table import parse
from webkiln.program_builder.loop_backend import LoopBackend
from webkiln.weights.shards import pieces, stored, write

ROWS, COLUMNS, DEPTHS = (64, 65, 130), (64, 100, 132), (32, 40, 192)
"""Blocks of 64 x 64 that are full or not; one step, a part of one, and several in several parts."""
CONV = (
    '{"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":PAD,"pad_low":PAD,'
    '"strides":STRIDES,"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}'
)


def conv(pad: int = 0, stride: int = 1) -> str:
    return CONV.replace("PAD", f"[{pad},{pad}]").replace("STRIDES", f"[{stride},{stride}]")


EPILOGUES = {
    "alone": ("", "y: float32[M,N] = Neg(p)"),
    "bias and activation": (
        "slot b: float32[N]",
        "s: float32[M,N] = Add(p, b)\ny: float32[M,N] = Relu(s)",
    ),
    "residual": (
        "slot b: float32[N]\ninput r: float32[M,N]",
        "s: float32[M,N] = Add(p, b)\ny: float32[M,N] = Add(s, r)",
    ),
    "function": ("", "s: float32[M,N] = Sigmoid(p)\ny: float32[M,N] = Mul(s, p)"),
}
"""What follows a product p: its own variables, and its operators."""


def _product(rows: int, columns: int, depth: int, epilogue: str) -> str:
    declared, operators = EPILOGUES[epilogue]
    text = f"""
input x: float32[M,{depth}]
slot w: float32[{depth},N]
{declared}
a: float32[M,{depth}] = Neg(x)
p: float32[M,N] = MatMul(a, w)
{operators}
"""
    return text.replace("[M,", f"[{rows},").replace("N]", f"{columns}]")


OTHERS = {
    "a batch of activations": """
        input x: float32[3,70,48]
        input w: float32[3,48,68]
        a: float32[3,70,48] = Neg(x)
        c: float32[3,48,68] = Neg(w)
        y: float32[3,70,68] = MatMul(a, c)
    """,
    "turned weights": """
        input x: float32[80,96]
        slot w: float32[72,96]
        a: float32[80,96] = Neg(x)
        y: float32[80,72] = MatMul(a, w) {"transpose_b":true}
    """,
    "a convolution of 1 x 1": f"""
        input x: float32[2,9,9,32]
        slot w: float32[1,1,32,80]
        slot b: float32[80]
        a: float32[2,9,9,32] = Neg(x)
        c: float32[2,9,9,80] = Conv(a, w, b) {conv()}
        y: float32[2,9,9,80] = Relu(c)
    """,
    "taps of an image": f"""
        input x: float32[1,9,9,32]
        slot w: float32[3,3,32,64]
        slot b: float32[64]
        a: float32[1,9,9,32] = Neg(x)
        y: float32[1,9,9,64] = Conv(a, w, b) {conv(1)}
    """,
    "a stride": f"""
        input x: float32[1,20,20,16]
        slot w: float32[3,3,16,68]
        slot b: float32[68]
        a: float32[1,20,20,16] = Neg(x)
        y: float32[1,9,9,68] = Conv(a, w, b) {conv(0, 2)}
    """,
}
CHAIN = """
    input x: float32[70,48]
    slot w: float32[48,100]
    slot v: float32[100,84]
    slot b: float32[84]
    a: float32[70,48] = Neg(x)
    p: float32[70,100] = MatMul(a, w)
    h: float32[70,100] = Relu(p)
    q: float32[70,84] = MatMul(h, v)
    y: float32[70,84] = Add(q, b)
"""
"""Two products, with float16 between them."""


def products() -> dict[str, str]:
    """The cross product of sizes and epilogues."""
    return {
        f"{rows}x{depth}x{columns} {name}": _product(rows, columns, depth, name)
        for rows, columns, depth, name in product(ROWS, COLUMNS, DEPTHS, EPILOGUES)
    }


def parsed(text: str) -> Graph:
    lines = "\n".join(line for line in dedent(text).splitlines() if line)
    return parse(f"graph g\n{lines}\noutput y = y\n")


def values_of(graph: Graph) -> dict[str, Array]:
    """Inputs and weights."""
    rng = np.random.default_rng(7)
    return {
        name: rng.standard_normal(graph.type(name).shape).astype(np.float16).astype(np.float32)
        for name in (*graph.inputs, *graph.slots)
    }


def backend(matrices: bool = True) -> LoopBackend:
    """WebGPU with float16 between layers, with or without subgroup matrices. Emulated GPUs compute
    no Winograd convolutions, whose filters would remain float32.
    """
    runs = {"matrices": matrices}
    return with_target(REGISTRY["webgpu"], precision="float16", winograd=False, runs=runs)


def prepared(graph: Graph, values: dict[str, Array], matrices: bool = True) -> Prepared:
    shards = list(write(pieces(stored(graph), "float32"), values.__getitem__))
    compiled = program(graph, backend(matrices), "float32")
    return Prepared(compiled, {name: values[name] for name in graph.inputs}, shards)
