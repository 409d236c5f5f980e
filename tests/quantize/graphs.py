"""A graph that reads weights in every way, and what it computes."""

import numpy as np

from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.table import parse
from webkiln.quantize.encode import Slots, slot_values
from webkiln.quantize.weights import Encoded, quantized

CONV = (
    '"dilation":[1,1],"out_dims":[0,1,2,3],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],'
    '"x_dims":[0,1,2,3]'
)
GRAPH = parse(f"""graph g
input x: float32[3,96]
input wide: float32[2,3,96]
input image: float32[1,32,5,5]
input odd: float32[1,27]
input ids: int32[5]
slot columns: float32[96,70]
slot rows: float32[70,96]
slot left_big: float32[96,50]
slot batch: float32[2,96,33]
slot filter: float32[40,32,3,3]
slot turned: float32[3,3,32,40]
slot depthwise: float32[32,1,3,3]
slot grouped: float32[48,8,3,3]
slot uneven: float32[27,80]
slot table: float32[60,90]
slot tied: float32[60,96]
slot folded: float32[60,96]
slot gain: float32[60,1]
slot summed: float32[32,40,50]
slot bias: float32[70]
slot small: float32[96,4]
a: float32[3,70] = MatMul(x, columns) @a
b: float32[3,70] = MatMul(x, rows) {{"transpose_b":true}} @b
c: float32[50,3] = MatMul(left_big, x) {{"transpose_a":true,"transpose_b":true}} @c
d: float32[2,3,33] = MatMul(wide, batch) @d
e: float32[1,40,5,5] = Conv(image, filter) {{{CONV},"w_dims":[0,1,2,3]}} @e
f: float32[1,40,5,5] = Conv(image, turned) {{{CONV},"w_dims":[3,2,0,1]}} @f
g: float32[1,32,5,5] = Conv(image, depthwise) {{{CONV},"w_dims":[0,1,2,3],"groups":32}} @g
h: float32[1,48,5,5] = Conv(image, grouped) {{{CONV},"w_dims":[0,1,2,3],"groups":4}} @h
i: float32[1,80] = MatMul(odd, uneven) @i
j: float32[5,90] = Gather(table, ids) {{"axis":0}} @j
k: float32[5,96] = Gather(tied, ids) {{"axis":0}} @k
l: float32[3,60] = MatMul(x, tied) {{"transpose_b":true}} @l
scaled: float32[60,96] = Mul(folded, gain) @m
m: float32[3,60] = MatMul(x, scaled) {{"transpose_b":true}} @m
n: float32[1,40,5,5,50] = Einsum(image, summed) {{"equation":"nchw,cdk->ndhwk"}} @n
o: float32[3,70] = Add(a, bias) @o
p: float32[3,4] = MatMul(x, small) @p
{"".join(f"output {name} = {name}" + chr(10) for name in "bcdefghijklmnop")}""")
ROWS = {
    "columns": (1,),
    "rows": (0,),
    "left_big": (1,),
    "batch": (0, 2),
    "filter": (0,),
    "turned": (3,),
    "depthwise": (0,),
    "grouped": (0,),
    "uneven": (1,),
    "table": (0,),
    "tied": (0,),
    "scaled": (0,),
    "summed": (2,),
    "small": (1,),
}
"""The axes of each weight along which its reader does not sum."""


def inputs() -> dict[str, Array]:
    rng = np.random.default_rng(1)
    made = {
        name: rng.standard_normal(GRAPH.type(name).shape).astype(np.float32)
        for name in GRAPH.inputs
        if name != "ids"
    }
    return made | {"ids": np.array([3, 59, 0, 17, 3], np.int32)}


def weights() -> dict[str, Array]:
    """Rows differ by a factor of up to 100, so that the scale of one is wrong for the others."""
    rng = np.random.default_rng(2)
    made = {}
    for name in sorted(GRAPH.slots):
        values = rng.standard_normal(GRAPH.type(name).shape)
        axis = ROWS.get(name, (0,))[-1]
        shape = [-1 if dim == axis else 1 for dim in range(values.ndim)]
        values *= 10 ** rng.uniform(-1, 1, values.shape[axis]).reshape(shape)
        made[name] = (values / 10).astype(np.float32)
    return made


def encoded(
    graph: Graph, values: dict[str, Array], choice: dict[str, str]
) -> tuple[Graph, dict[str, Array], tuple[Encoded, ...]]:
    """The quantized graph, the values of its slots, and the weights that have codes."""
    changed, items = quantized(graph, choice)
    slots = {name: value for name, value in values.items() if name in changed.slots}
    slots |= slot_values(graph, Slots((), items), values.__getitem__)
    return changed, slots, items
