"""Fold a zero Pad (for MaxPool: minus infinity) of spatial axes into the padding attribute of the
convolution or pooling that reads it.

before:
    graph g
    input x: float32[1,4,4,2]
    slot w: float32[3,3,2,5]
    p: float32[1,6,5,2] = Pad(x) {"high":[0,1,1,0],"low":[0,1,0,0],"value":0.0} @pad
    y: float32[1,4,3,5] = Conv(p, w) {"dilation":[1,1],"out_dims":[0,3,1,2],\
"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]} @conv
    output out = y

after:
    graph g
    input x: float32[1,4,4,2]
    slot w: float32[3,3,2,5]
    y: float32[1,4,3,5] = Conv(x, w) {"dilation":[1,1],"out_dims":[0,3,1,2],\
"pad_high":[1,1],"pad_low":[1,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]} @conv
    output out = y
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from webkiln.ir import rewrite
from webkiln.ir.dim import Shape, Size
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.conv_loops import Conv
from webkiln.ops.pool import AvgPool, Pool
from webkiln.ops.shape import Pad


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, absorb)


def absorb(view: GraphView, node: Node) -> Edit | None:
    if node.op not in ("Conv", "MaxPool", "AvgPool"):
        return None
    pad = view.producer(node.inputs[0], "Pad", only_use=False)
    if pad is None:
        return None
    padding = pad.attrs_as(Pad)
    attrs = node.attrs_as(Conv) if node.op == "Conv" else node.attrs_as(Pool)
    axes = attrs.x_dims[2:] if isinstance(attrs, Conv) else attrs.axes
    other_axes = [axis for axis in range(len(padding.low)) if axis not in axes]
    if padding.value != (-inf if node.op == "MaxPool" else 0) or any(
        sizes[axis] for sizes in (padding.low, padding.high) for axis in other_axes
    ):
        return None
    if isinstance(attrs, AvgPool):
        if any((*attrs.pad_low, *attrs.pad_high)) and not attrs.count_include_pad:
            return None
        attrs = replace(attrs, count_include_pad=True)
    x_dilation = attrs.x_dilation if isinstance(attrs, Conv) else ()
    dilation = x_dilation or (1,) * len(axes)

    def added(before: Sequence[Size], sizes: Sequence[Size]) -> Shape:
        rows = zip(before, axes, dilation, strict=True)
        return tuple(size + sizes[axis] * gap for size, axis, gap in rows)

    attrs = replace(
        attrs,
        pad_low=added(attrs.pad_low, padding.low),
        pad_high=added(attrs.pad_high, padding.high),
    )
    return Edit(nodes=[replace(node, inputs=(pad.inputs[0], *node.inputs[1:]), attrs=attrs)])
