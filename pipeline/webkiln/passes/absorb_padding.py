"""Fold a zero Pad (for MaxPool: minus infinity) of spatial axes into the padding attribute of the
convolution or pooling that reads it.

before:
    graph g
    input x: float32[1,4,4,2]
    slot w: float32[3,3,2,5]
    p: float32[1,6,5,2] = Pad(x) {"high":[0,1,1,0],"low":[0,1,0,0],"value":0.0} @pad
    y: float32[1,4,3,5] = Conv(p, w) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],\
"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]} @conv
    output out = y

after:
    graph g
    input x: float32[1,4,4,2]
    slot w: float32[3,3,2,5]
    y: float32[1,4,3,5] = Conv(x, w) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],\
"pad_high":[1,1],"pad_low":[1,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dilation":[],"x_dims":[0,3,\
1,2]} @conv
    output out = y
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from webkiln.ir import rewrite
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.table import complete


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, absorb)


def absorb(view: GraphView, node: Node) -> Edit | None:
    if node.op not in ("Conv", "MaxPool", "AvgPool"):
        return None
    pad = view.producer(node.inputs[0], "Pad", only_use=False)
    if pad is None:
        return None
    attrs = complete(node)
    value = complete(pad)["value"]
    axes: Sequence[int] = attrs["x_dims"][2:] if node.op == "Conv" else attrs["axes"]
    other_axes = [axis for axis in range(len(pad.attrs["low"])) if axis not in axes]
    if value != (-inf if node.op == "MaxPool" else 0) or any(
        pad.attrs[side][axis] for side in ("low", "high") for axis in other_axes
    ):
        return None
    if node.op == "AvgPool":
        if any((*attrs["pad_low"], *attrs["pad_high"])) and not attrs["count_include_pad"]:
            return None
        attrs["count_include_pad"] = True
    x_dilation = attrs.get("x_dilation") or (1,) * len(axes)
    for side in ("low", "high"):
        padding = attrs[f"pad_{side}"]
        attrs[f"pad_{side}"] = tuple(
            size + pad.attrs[side][axis] * dilation
            for size, axis, dilation in zip(padding, axes, x_dilation, strict=True)
        )
    return Edit(nodes=[replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attrs=attrs)])
