"""Compute products and convolutions of dequantized integers as integers, and dequantize the sums.
This is what files in the QDQ form mean. The sums are exact, and operands are read as they are
stored.

Convolutions are computed with channels last. Sums that int32 or the floats cannot hold stay as they
are.

before:
    graph g
    input q: uint8[1,3,5]
    slot s: float32[4,1,1]
    slot w: int8[4,3,1]
    const z: int32[] = [12]
    const t: float32[] = [0.5]
    q/wide: int32[1,3,5] = Cast(q) {"dtype":"int32"} @x
    q/moved: int32[1,3,5] = Sub(q/wide, z) @x
    q/float: float32[1,3,5] = Cast(q/moved) {"dtype":"float32"} @x
    x: float32[1,3,5] = Mul(q/float, t) @x
    w/float: float32[4,3,1] = Cast(w) {"dtype":"float32"} @k
    k: float32[4,3,1] = Mul(w/float, s) @k
    y: float32[1,4,5] = Conv(x, k) {"dilation":[1],"out_dims":[0,1,2],"pad_high":[0],\
"pad_low":[0],"strides":[1],"w_dims":[0,1,2],"x_dims":[0,1,2]} @conv
    output out = y

after:
    graph g
    input q: uint8[1,3,5]
    slot s: float32[4,1,1]
    slot w: int8[4,3,1]
    const t: float32[] = [0.5]
    const y/zero_0: uint8[] = [12]
    const y/zero_1: int8[] = [0]
    y/sums: int32[1,5,4] = ConvInteger(q, w, y/zero_0, y/zero_1) {"dilation":[1],\
"out_dims":[0,2,1],"pad_high":[0],"pad_low":[0],"strides":[1],"w_dims":[0,1,2],"x_dims":[0,1,2]} \
@conv
    y/real: float32[1,5,4] = Cast(y/sums) {"dtype":"float32"} @conv
    y/flat: float32[4] = Reshape(s) {"shape":[4]} @conv
    y/scale: float32[4] = Mul(t, y/flat) @conv
    y/scaled: float32[1,5,4] = Mul(y/real, y/scale) @conv
    y: float32[1,4,5] = Transpose(y/scaled) {"perm":[0,2,1]} @conv
    output out = y
"""

from dataclasses import dataclass, replace
from math import prod

from webkiln.ir import rewrite
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ops.conv_loops import Conv
from webkiln.ops.conversion import Cast
from webkiln.ops.integer_products import NARROW
from webkiln.ops.linear import MatMul
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Reshape, Transpose

PRODUCTS = ("Conv", "MatMul")
"""The operators that have a form for integers, named `<operator>Integer`."""
WIDE = ("float32", "float64")
"""The dtypes that hold the sums."""
LONGEST_SUM = ((1 << 31) - 1) // (255 * 255)
"""The most products of 9-bit factors that int32 holds."""


@dataclass(frozen=True, slots=True)
class Dequantized:
    """(codes - zero) * scale. `zero`: the name of an int32, or None for 0."""

    codes: str
    zero: str | None
    scale: str


def run(graph: Graph) -> Graph:
    return rewrite.apply(graph, convert)


def convert(view: GraphView, node: Node) -> Edit | None:
    if node.op not in PRODUCTS or view.type(node.name).dtype not in WIDE:
        return None
    x, w = _factors(view, node)
    if x is None or w is None or obstacle(view, node) is not None:
        return None
    return _replaced(view, node, x, w)


def obstacle(view: GraphView, node: Node) -> str | None:
    """Why a product or convolution of dequantized weights is not one of integers, or None."""
    if node.op not in PRODUCTS:
        return f"{node.op} is computed in float"
    x, w = _factors(view, node)
    if x is None:
        return "the other factor is float"
    if w is None or w.codes not in view.constant_names:
        return "the weights are not 8-bit integers times scales"
    axis, length = _columns(view, node)
    if is_symbolic(length) or length > LONGEST_SUM:
        return f"sums may have more than {LONGEST_SUM:,} products"
    if any(not _is_scalar(view, name) for name in (x.zero, x.scale)) or any(
        not _is_along(view, name, w.codes, axis) for name in (w.zero, w.scale)
    ):
        return "scales or zero points vary along the sum"
    return None


def _factors(view: GraphView, node: Node) -> tuple[Dequantized | None, Dequantized | None]:
    x, w = node.inputs[:2]
    return _dequantized(view, x), _dequantized(view, w)


def _dequantized(view: GraphView, name: str) -> Dequantized | None:
    product = view.producer(name, "Mul", only_use=False)
    for real, scale in (product.inputs, product.inputs[::-1]) if product else ():
        wide = view.producer(real, "Cast", only_use=False)
        if wide is None or scale not in view.constant_names:
            continue
        code, zero = wide.inputs[0], None
        moved = view.producer(code, "Sub", only_use=False)
        if moved is not None:
            code, zero = moved.inputs
        widened = view.producer(code, "Cast", only_use=False)
        if widened is not None and view.type(code).dtype not in NARROW:
            code = widened.inputs[0]
        if view.type(code).dtype in NARROW and (zero is None or zero in view.constant_names):
            return Dequantized(code, zero, scale)
    return None


def _columns(view: GraphView, node: Node) -> tuple[int, Size]:
    """The axis of the weights that is an axis of the result, and the length of the sums."""
    shape = view.type(node.inputs[1]).shape
    if node.op == "Conv":
        axis = node.attrs_as(Conv).w_dims[0]
        return axis, prod(size for dim, size in enumerate(shape) if dim != axis)
    transposed = node.attrs_as(MatMul).transpose_b
    return len(shape) - (2 if transposed else 1), shape[-1 if transposed else -2]


def _is_scalar(view: GraphView, name: str | None) -> bool:
    return name is None or view.type(name).size == 1


def _is_along(view: GraphView, name: str | None, codes: str, axis: int) -> bool:
    """Whether there is one value, or one for each index along an axis of the codes."""
    if name is None or view.type(name).size == 1:
        return True
    shape, rank = view.type(name).shape, view.type(codes).rank
    wide = (*(1,) * (rank - len(shape)), *shape)
    return all(size == 1 or dim == axis for dim, size in enumerate(wide))


def _zero_point(made: Replacement, position: int, operand: Dequantized) -> str:
    """A zero point in the dtype of the codes, as a scalar or a vector."""
    dtype, name = made.type(operand.codes).dtype, operand.zero
    value = 0 if name is None else made.view.scalar(name)
    if value is not None:
        return made.constant(f"zero_{position}", int(value), dtype)
    assert name is not None
    flat = _flattened(made, f"points_{position}", name)
    return made.add(f"zero_{position}", "Cast", [flat], Cast(dtype))


def _flattened(made: Replacement, name: str, values: str) -> str:
    """One value as a scalar, several as a vector."""
    size = made.type(values).size
    return made.add(name, "Reshape", [values], Reshape(() if size == 1 else (size,)))


def _replaced(view: GraphView, node: Node, x: Dequantized, w: Dequantized) -> Edit:
    """The product of the codes, dequantized by the product of the scales."""
    made, rank = Replacement(view, node), view.type(node.name).rank
    attrs, last = node.attrs, (0, rank - 1, *range(1, rank - 1))
    if node.op == "Conv":
        attrs = replace(node.attrs_as(Conv), out_dims=last)
    zeros = [_zero_point(made, position, operand) for position, operand in enumerate((x, w))]
    sums = made.add("sums", f"{node.op}Integer", [x.codes, w.codes, *zeros], attrs)
    total = made.add("real", "Cast", [sums], Cast(view.type(node.name).dtype))
    scale = made.add("scale", "Mul", [x.scale, _flattened(made, "flat", w.scale)])
    total = made.add("scaled", "Mul", [total, scale])
    if len(node.inputs) > 2:
        total = made.add("biased", "Add", [total, node.inputs[2]])
    if node.op != "Conv":
        return made.finish("Identity", [total])
    roles = {dim: role for role, dim in enumerate(node.attrs_as(Conv).out_dims)}
    perm = tuple(last[roles[dim]] for dim in range(rank))
    return made.finish("Transpose", [total], Transpose(perm))
