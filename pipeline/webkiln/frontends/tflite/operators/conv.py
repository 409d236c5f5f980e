"""Convolutions and matrix products: on floats, on integers, and on floats quantized at run time for
int8 weights.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tflite.operators.fused import activated
from webkiln.frontends.tflite.operators.hybrid import SumOfProducts, hybrid
from webkiln.frontends.tflite.operators.integers import (
    centred,
    factor,
    has,
    is_hybrid,
    is_quantized,
    number,
    placed,
    requantized,
    result,
    shifted_left,
    shifted_right,
    zero,
)
from webkiln.ir.dim import Size, is_symbolic
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import padding_of, pads, window_of
from webkiln.ops.pieces import cast, reshaped

EXACT = 1 << 31


def linear(
    call: NodeCall,
    x: int,
    weights: int,
    bias: int,
    product: SumOfProducts,
    terms: Size,
    rows: Sequence[Size] | None = None,
) -> Tensor:
    """Select the computation of a sum of `terms` products by the kind of quantization. The operands
    are at these positions. `rows` is the shape of x whose first axis is quantized separately, if it
    is not x's own.
    """
    if is_quantized(call, x):
        return quantized(call, x, weights, bias, product, terms)
    if is_hybrid(call, x, weights):
        if rows is None:
            total = hybrid(call, call.tensor(x), weights, product)
        else:
            operand = reshaped(call.builder, call.tensor(x), rows)
            total = hybrid(call, operand, weights, product, inner=1)
        return activated(call, with_bias(call, total, bias))
    factors = [call.tensor(x), cast(call.builder, call.tensor(weights), call.type(x).dtype)]
    return activated(call, with_bias(call, product("", factors), bias))


def with_bias(call: NodeCall, y: Tensor, bias: int) -> Tensor:
    return call.op("Add", [y, call.tensor(bias)]) if has(call, bias) else y


def quantized(
    call: NodeCall, x: int, weights: int, bias: int, product: SumOfProducts, terms: Size
) -> Tensor:
    """Integer sums, requantized."""
    once = call.spec.op == "FULLY_CONNECTED"
    if call.type(x).dtype != "int16" or call.attr("narrow", 0):
        total = with_bias(call, integer_sum(call, x, weights, product), bias)
        if not once:
            return requantized(call, total)
        halves = [shifted_right(call, total, 16), call.op("BitAnd", [total, number(call, 0xFFFF)])]
        return placed(
            call,
            call.op("ScaleAway", [*halves, factor(call, "multiplier"), factor(call, "places")]),
        )
    high, low = wide_sum(
        call,
        cast(call.builder, call.tensor(x), "int32"),
        centred(call, weights),
        lambda *factors: product("", factors),
        terms,
        has(call, bias),
    )
    return result(
        call,
        call.op(
            "ScaleAway" if once else "ScaleWide",
            [high, low, factor(call, "multiplier"), factor(call, "places")],
        ),
    )


def integer_sum(call: NodeCall, x: int, weights: int, product: SumOfProducts) -> Tensor:
    """The int32 sum of products of operands without their zero points."""
    factors = [call.tensor(x), call.tensor(weights)]
    if {factor.dtype for factor in factors} <= {"int8", "uint8"}:
        zeros = [
            call.constant(zero(call, position), factor.dtype)
            for position, factor in zip((x, weights), factors, strict=True)
        ]
        return product("Integer", [*factors, *zeros])
    return product("", [centred(call, x), centred(call, weights)])


def wide_sum(
    call: NodeCall,
    x: Tensor,
    w: Tensor,
    product: Callable[[Tensor, Tensor], Tensor],
    terms: Size,
    bias: bool,
) -> tuple[Tensor, Tensor]:
    """A sum of int16 times int8 products and the bias, as high * 2**16 + low. If it may exceed 32
    bits, the upper and lower bytes of x are multiplied separately.
    """
    half = number(call, 0xFFFF)
    if is_symbolic(terms) or terms << 22 >= EXACT:
        upper, lower = (
            product(shifted_right(call, x, 8), w),
            product(call.op("BitAnd", [x, number(call, 255)]), w),
        )
        low = call.op(
            "ShiftLeft", [call.op("BitAnd", [upper, number(call, 255)]), number(call, 8)]
        ) + call.op("BitAnd", [lower, half])
        high = shifted_right(call, upper, 8) + shifted_right(call, lower, 16)
    else:
        total = product(x, w)
        high, low = shifted_right(call, total, 16), call.op("BitAnd", [total, half])
    if bias:
        high, low = (
            call.op("Add", [high, factor(call, "bias_high")]),
            call.op("Add", [low, factor(call, "bias_low")]),
        )
    return high + shifted_right(call, low, 16), call.op("BitAnd", [low, half])


def window(call: NodeCall, x: Tensor, kernel: Sequence[Size]) -> dict[str, Any]:
    names = ("d", "h", "w")[-len(kernel) :]
    strides = tuple(call.attr(f"stride_{name}", 1) for name in names)
    dilation = tuple(call.attr(f"dilation_{name}_factor", 1) for name in names)
    if min(*strides, *dilation) < 1:
        raise call.error(f"strides are {strides}, dilation is {dilation}; all must be 1 or more")
    return window_of(x, kernel, None, call.attr("padding").lower(), strides, dilation)


def conv_2d(call: NodeCall) -> Tensor:
    """x [N, H, W, C], weights [out, h, w, C / groups]."""
    _, h, w, own = call.type(1).shape
    groups = call.type(0).shape[3] // own

    def product(kind: str, factors: Sequence[Tensor]) -> Tensor:
        order = {
            "x_dims": (0, 3, 1, 2),
            "w_dims": (0, 3, 1, 2),
            "out_dims": (0, 3, 1, 2),
            "groups": groups,
        }
        return call.op(f"Conv{kind}", factors, order | window(call, factors[0], (h, w)))

    return linear(call, 0, 1, 2, product, h * w * own)


def depthwise_conv_2d(call: NodeCall) -> Tensor:
    """Weights [1, h, w, C * multiplier]; the output channel is c * multiplier + m."""
    _, h, w, _ = call.type(1).shape

    def product(kind: str, factors: Sequence[Tensor]) -> Tensor:
        order = {
            "x_dims": (0, 3, 1, 2),
            "w_dims": (3, 0, 1, 2),
            "out_dims": (0, 3, 1, 2),
            "groups": factors[0].shape[3],
        }
        return call.op(f"Conv{kind}", factors, order | window(call, factors[0], (h, w)))

    return linear(call, 0, 1, 2, product, h * w)


def conv_3d(call: NodeCall) -> Tensor:
    """x [N, D, H, W, C], weights [d, h, w, C, out]."""
    *kernel, own, _ = call.type(1).shape

    def product(kind: str, factors: Sequence[Tensor]) -> Tensor:
        order = {
            "x_dims": (0, 4, 1, 2, 3),
            "w_dims": (4, 3, 0, 1, 2),
            "out_dims": (0, 4, 1, 2, 3),
            "groups": factors[0].shape[4] // own,
        }
        return call.op(f"Conv{kind}", factors, order | window(call, factors[0], kernel))

    return linear(call, 0, 1, 2, product, prod(kernel) * own)


def transposed(
    call: NodeCall,
    kind: str,
    factors: Sequence[Tensor],
    spatial: Sequence[int],
    order: dict[str, Any],
    sizes: Sequence[Size],
) -> Tensor:
    """Transposed convolution. `spatial` are the spatial axes of the kernel, `sizes` the spatial
    sizes of the result.
    """
    x, weights, *zeros = factors
    kernel = [weights.shape[axis] for axis in spatial]
    names = ("d", "h", "w")[-len(kernel) :]
    strides = tuple(call.attr(f"stride_{name}", 1) for name in names)
    dilation = tuple(call.attr(f"dilation_{name}_factor", 1) for name in names)
    starts = tuple(size - 1 if axis in spatial else 0 for axis, size in enumerate(weights.shape))
    steps = tuple(-1 if axis in spatial else 1 for axis in range(weights.type.rank))
    flipped = call.op(
        "Slice", [weights], {"starts": starts, "sizes": weights.shape, "steps": steps}
    )
    cuts = padding_of(call.attr("padding").lower(), sizes, kernel, strides, dilation)
    pairs = []
    for axis, (size, out, stride, gap, (cut, _)) in enumerate(
        zip(kernel, sizes, strides, dilation, cuts, strict=True)
    ):
        span = (size - 1) * gap + 1
        reach = (x.shape[axis + 1] - 1) * stride
        pairs.append((span - 1 - cut, out + cut - 1 - reach))
    attrs = {"strides": (1,) * len(kernel), "dilation": dilation, "x_dilation": strides} | pads(
        pairs
    )
    return call.op(f"Conv{kind}", [x, flipped, *zeros], order | attrs)


def transpose_conv(call: NodeCall) -> Tensor:
    """Operands: the shape of the result, weights [out, h, w, in], x."""
    sizes = call.sizes(0)[1:3]
    _, h, w, own = call.type(1).shape
    order = {"x_dims": (0, 3, 1, 2), "w_dims": (0, 3, 1, 2), "out_dims": (0, 3, 1, 2), "groups": 1}
    return linear(
        call,
        2,
        1,
        3,
        lambda kind, factors: transposed(call, kind, factors, (1, 2), order, sizes),
        h * w * own,
    )


def conv_3d_transpose(call: NodeCall) -> Tensor:
    """Operands: the shape of the result, weights [d, h, w, out, in], x."""
    sizes = call.sizes(0)[1:4]
    order = {
        "x_dims": (0, 4, 1, 2, 3),
        "w_dims": (3, 4, 0, 1, 2),
        "out_dims": (0, 4, 1, 2, 3),
        "groups": 1,
    }
    return linear(
        call,
        2,
        1,
        3,
        lambda kind, factors: transposed(call, kind, factors, (0, 1, 2), order, sizes),
        prod(call.type(1).shape[:3]),
    )


def fully_connected(call: NodeCall) -> Tensor:
    """Flatten x to rows with the length of the weights' [out, in]."""
    if call.attr("weights_format", "DEFAULT") != "DEFAULT":
        raise call.unsupported(
            "has shuffled weights",
            "Convert the model again, without the experimental weights format",
        )
    x, (outputs, inputs) = call.type(0), call.type(1).shape
    rows = x.size // inputs
    shape = (*x.shape[:-1], outputs) if call.attr("keep_num_dims", 0) else (rows, outputs)

    def product(kind: str, factors: Sequence[Tensor]) -> Tensor:
        flat = reshaped(call.builder, factors[0], (rows, inputs))
        return call.op(f"MatMul{kind}", [flat, *factors[1:]], {"transpose_b": True})

    return reshaped(call.builder, linear(call, 0, 1, 2, product, inputs, (rows, inputs)), shape)


def batch_matmul(call: NodeCall) -> Tensor:
    attrs = {"transpose_a": bool(call.attr("adj_x", 0)), "transpose_b": bool(call.attr("adj_y", 0))}
    if is_quantized(call):
        if call.type(0).dtype == "int16":
            return product_16bit(call, attrs)
        total = integer_sum(
            call, 0, 1, lambda kind, factors: call.op(f"MatMul{kind}", factors, attrs)
        )
        return requantized(call, total)
    if is_hybrid(call, 0, 1):
        x = call.tensor(0)
        flipped = (
            call.op(
                "Transpose",
                [x],
                {"perm": (*range(x.type.rank - 2), x.type.rank - 1, x.type.rank - 2)},
            )
            if attrs["transpose_a"]
            else x
        )
        return hybrid(
            call,
            flipped,
            1,
            lambda kind, factors: call.op(f"MatMul{kind}", factors, attrs | {"transpose_a": False}),
            rows=x.type.rank - 1,
            inner=call.type(1).rank - (1 if attrs["transpose_b"] else 2),
        )
    return call.op("MatMul", [call.tensor(0), call.tensor(1)], attrs)


def product_16bit(call: NodeCall, attrs: dict[str, Any]) -> Tensor:
    """Multiply int16 matrices: the upper and lower bytes of the second separately."""
    x, w = (cast(call.builder, call.tensor(index), "int32") for index in (0, 1))
    terms = call.type(0).shape[-2 if attrs["transpose_a"] else -1]

    def sums(part: Tensor) -> tuple[Tensor, Tensor]:
        return wide_sum(
            call, x, part, lambda a, b: call.op("MatMul", [a, b], attrs), 2 * terms, bias=False
        )

    (upper, upper_low), (lower, lower_low) = (
        sums(shifted_right(call, w, 8)),
        sums(call.op("BitAnd", [w, number(call, 255)])),
    )
    low = shifted_left(call, upper_low, 8) + lower_low
    high = shifted_left(call, upper, 8) + lower + shifted_right(call, low, 16)
    low = call.op("BitAnd", [low, number(call, 0xFFFF)])
    return result(
        call, call.op("ScaleWide", [high, low, factor(call, "multiplier"), factor(call, "places")])
    )


CONV: dict[str, NodeHandler] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "CONV_3D": conv_3d,
    "TRANSPOSE_CONV": transpose_conv,
    "CONV_3D_TRANSPOSE": conv_3d_transpose,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
}
