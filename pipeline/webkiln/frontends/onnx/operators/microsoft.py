"""The domain com.microsoft: what onnxruntime's optimisers and quantisers make of standard
operators.
"""

from math import inf, prod, sqrt

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.attention import merge_heads, split_heads
from webkiln.frontends.onnx.operators.conv import convolved
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.linear import gemm, matrix_product, scale
from webkiln.frontends.onnx.operators.reduce import rms_norm, standardise
from webkiln.frontends.onnx.operators.shape import iota, reshaped, transposed
from webkiln.ops.builder import Tensor


def gelu(call: NodeCall) -> Tensor:
    return call.op("Gelu", [add_bias(call, call.tensor(0), 1)], {"approximate": False})


def fast_gelu(call: NodeCall) -> Tensor:
    return call.op("Gelu", [add_bias(call, call.tensor(0), 1)], {"approximate": True})


def quick_gelu(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return x * call.op("Sigmoid", [x * call.attr("alpha", 1.702)])


def add_bias(call: NodeCall, x: Tensor, position: int) -> Tensor:
    return call.op("Add", [x, call.tensor(position)]) if call.has(position) else x


def apply_activation(
    call: NodeCall, x: Tensor, name: str | None, parameters: list[float]
) -> Tensor:
    """The activation that an attribute names."""
    first, second = (*parameters, None, None)[:2]
    match name:
        case None | "":
            return x
        case "Relu" | "Tanh" | "Sigmoid":
            return call.op(name, [x])
        case "LeakyRelu":
            return call.op("LeakyRelu", [x], {"alpha": 0.01 if first is None else first})
        case "Clip":
            return call.op(
                "Clip",
                [x],
                {"min": -inf if first is None else first, "max": inf if second is None else second},
            )
        case "HardSigmoid":
            slope, shift = 0.2 if first is None else first, 0.5 if second is None else second
            return call.op("Clip", [x * slope + shift], {"min": 0, "max": 1})
    raise call.unsupported(
        f"has the activation {name}", "Save the model without onnxruntime's optimisations"
    )


def fused_conv(call: NodeCall) -> Tensor:
    """A convolution, a sum with the fourth operand, and an activation."""
    y = add_bias(call, convolved(call, call.tensor(0), call.tensor(1), call.optional(2)), 3)
    return apply_activation(
        call, y, call.attr("activation"), list(call.attr("activation_params") or ())
    )


def fused_gemm(call: NodeCall) -> Tensor:
    parameters = [
        call.attr(name)
        for name in ("activation_alpha", "activation_beta")
        if call.attr(name) is not None
    ]
    return apply_activation(call, gemm(call), call.attr("activation"), parameters)


def fused_matmul(call: NodeCall) -> Tensor:
    a, b = call.tensor(0), call.tensor(1)
    if call.attr("transBatchA", 0) or call.attr("transBatchB", 0):
        raise call.unsupported(
            "turns batches round", "Save the model without onnxruntime's optimisations"
        )
    for name, x in (("transA", a), ("transB", b)):
        if call.attr(name, 0) and x.type.rank > 1:
            turned = transposed(
                call, x, (*range(x.type.rank - 2), x.type.rank - 1, x.type.rank - 2)
            )
            a, b = (turned, b) if name == "transA" else (a, turned)
    return scale(call, matrix_product(call, a, b), call.attr("alpha", 1.0))


def skip_layer_norm(call: NodeCall) -> list[Tensor]:
    """Operands: x, what is added, scale, bias, and one more bias of the sum, which is an output,
    too.
    """
    total = add_bias(call, call.op("Add", [call.tensor(0), call.tensor(1)]), 4)
    whole, mean, inverse = standardise(
        call, total, (total.type.rank - 1,), call.attr("epsilon", 1e-12)
    )
    return [add_bias(call, call.op("Mul", [whole, call.tensor(2)]), 3), mean, inverse, total]


def skip_rms_norm(call: NodeCall) -> list[Tensor]:
    total = add_bias(call, call.op("Add", [call.tensor(0), call.tensor(1)]), 3)
    mean = call.op(
        "ReduceMean", [total * total], {"axes": (total.type.rank - 1,), "keepdims": True}
    )
    inverse = call.op("Rsqrt", [mean + call.attr("epsilon", 1e-12)])
    return [call.op("Mul", [total * inverse, call.tensor(2)]), mean, inverse, total]


def embed_layer_norm(call: NodeCall) -> list[Tensor]:
    """Operands: words, segments, tables of words, positions and segments, scale, bias, mask,
    positions.
    """
    words = call.tensor(0)
    batch, steps = words.shape
    total = call.op("Gather", [call.tensor(2), words], {"axis": 0})
    places = (
        call.op("Gather", [call.tensor(3), call.tensor(8)], {"axis": 0})
        if call.has(8)
        else part(call, call.tensor(3), 0, 0, steps)
    )
    total = call.op("Add", [total, places])
    if call.has(1):
        total = call.op(
            "Add", [total, call.op("Gather", [call.tensor(4), call.tensor(1)], {"axis": 0})]
        )
    whole, _, _ = standardise(call, total, (2,), call.attr("epsilon", 1e-12))
    y = call.op("Add", [call.op("Mul", [whole, call.tensor(5)]), call.tensor(6)])
    if call.has(7):
        counted = call.op(
            "ReduceSum", [cast(call, call.tensor(7), "int32")], {"axes": (1,), "keepdims": False}
        )
    else:
        counted = call.op("Broadcast", [call.constant(0, "int32")], {"shape": (batch,)})
    return [y, counted, total]


def attended(call: NodeCall, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """[N, heads, T, size] of queries, keys and values to [N, T, heads * size]."""
    scale = call.attr("scale", 0.0) or 1 / sqrt(q.shape[3])
    scores = call.op("MatMul", [q * scale, k], {"transpose_b": True})
    if bias is not None:
        scores = call.op("Add", [scores, bias])
    if call.attr("unidirectional", 0):
        rows, columns = scores.shape[2:]
        down = reshaped(call, iota(call, rows, "int32"), (rows, 1)) + (columns - rows)
        seen = call.op("LessEqual", [iota(call, columns, "int32"), down])
        scores = call.op("Where", [seen, scores, call.like(-inf, scores)])
    weights = call.op("Softmax", [scores], {"axis": 3})
    return merge_heads(call, call.op("MatMul", [weights, v]))


def masked(call: NodeCall, position: int, columns: int, dtype: str) -> Tensor | None:
    """A bias from a mask: lengths [N], which keys count [N, T], or which for each query [N, S, T]."""
    if not call.has(position):
        return None
    mask = call.tensor(position)
    if mask.type.rank == 1:
        lengths = reshaped(call, cast(call, mask, "int32"), (mask.shape[0], 1, 1, 1))
        kept = call.op("Less", [iota(call, columns, "int32"), lengths])
    else:
        shape = (
            (mask.shape[0], 1, 1, mask.shape[1])
            if mask.type.rank == 2
            else (mask.shape[0], 1, *mask.shape[1:])
        )
        kept = cast(call, reshaped(call, mask, shape), "bool")
    zero, far = (
        call.constant(0, dtype),
        call.constant(call.attr("mask_filter_value", -10000.0), dtype),
    )
    return call.op("Where", [kept, zero, far])


def summed(call: NodeCall, parts: list[Tensor | None]) -> Tensor | None:
    total = None
    for item in parts:
        total = (
            item if total is None else call.op("Add", [total, item]) if item is not None else total
        )
    return total


def attention(call: NodeCall) -> Tensor:
    """Operands: x, weights and biases of queries, keys and values side by side, mask, past, bias of
    the scores.
    """
    x, heads = call.tensor(0), call.attr("num_heads")
    if call.has(4):
        raise call.unsupported("has a past", "Export the model without a cache of keys and values")
    if call.attr("do_rotary", 0):
        raise call.unsupported(
            "turns queries and keys by their places",
            "Save the model without onnxruntime's optimisations",
        )
    together_ = add_bias(call, matrix_product(call, x, call.tensor(1)), 2)
    widths = call.attr("qkv_hidden_sizes") or (together_.shape[2] // 3,) * 3
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads(call, part(call, together_, 2, start, width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    return attended(
        call, q, k, v, summed(call, [masked(call, 3, x.shape[1], x.dtype), call.optional(5)])
    )


def multi_head_attention(call: NodeCall) -> list[Tensor]:
    """Operands: queries, keys, values [N, T, hidden], their biases side by side, mask of the keys,
    bias of the scores, past keys and values.
    """
    heads = call.attr("num_heads")
    if (
        not call.has(1)
        or not call.has(2)
        or any(call.type(position).rank not in (3, 4) for position in (1, 2))
    ):
        raise call.unsupported(
            "has queries, keys and values in one tensor",
            "Save the model without onnxruntime's optimisations",
        )
    inputs = [call.tensor(position) for position in range(3)]
    if call.has(3):
        start = 0
        for number, x in enumerate(inputs):
            if x.type.rank == 3:
                inputs[number] = call.op(
                    "Add", [x, part(call, call.tensor(3), 0, start, x.shape[2])]
                )
                start += x.shape[2]
    q, k, v = (split_heads(call, x, heads) if x.type.rank == 3 else x for x in inputs)
    if call.has(6):
        k = call.op("Concat", [call.tensor(6), k], {"axis": 2})
        v = call.op("Concat", [call.tensor(7), v], {"axis": 2})
    bias = summed(call, [masked(call, 4, k.shape[2], q.dtype), call.optional(5)])
    return [attended(call, q, k, v, bias), k, v]


def matmul_n_bits(call: NodeCall) -> Tensor:
    """Weights [columns, blocks, bytes] of 4 or 8 bits, scales and zero points of each block."""
    a, packed = call.tensor(0), call.tensor(1)
    rows, columns, bits, block = (
        call.attr("K"),
        call.attr("N"),
        call.attr("bits", 4),
        call.attr("block_size"),
    )
    if bits not in (4, 8) or call.has(4):
        raise call.unsupported(
            f"has weights of {bits} bits, or groups of rows",
            "Quantise it to 4 or 8 bits without reordering",
        )
    blocks = -(-rows // block)
    whole = reshaped(call, nibbles(call, packed, bits), (columns, blocks, block))
    zero = call.constant(1 << (bits - 1), "float32")
    if call.has(3):
        given = call.tensor(3)
        if given.dtype == "uint8":
            wide = nibbles(call, reshaped(call, given, (columns, given.type.size // columns)), bits)
            given = part(call, wide, 1, 0, blocks)
        zero = reshaped(call, cast(call, given, "float32"), (columns, blocks, 1))
    scales = reshaped(call, cast(call, call.tensor(2), "float32"), (columns, blocks, 1))
    weights = call.op("Mul", [call.op("Sub", [cast(call, whole, "float32"), zero]), scales])
    kernel = part(call, reshaped(call, weights, (columns, blocks * block)), 1, 0, rows)
    flat = reshaped(call, cast(call, a, "float32"), (prod(a.shape[:-1]), rows))
    y = reshaped(
        call, call.op("MatMul", [flat, kernel], {"transpose_b": True}), (*a.shape[:-1], columns)
    )
    return cast(call, add_bias(call, y, 5), a.dtype)


def nibbles(call: NodeCall, packed: Tensor, bits: int) -> Tensor:
    """The numbers in bytes, the low half of each first."""
    if bits == 8:
        return packed
    low = call.op("BitAnd", [packed, call.constant(15, "uint8")])
    high = call.op("ShiftRight", [packed, call.constant(4, "uint8")])
    wide = [reshaped(call, item, (*packed.shape, 1)) for item in (low, high)]
    joined = call.op("Concat", wide, {"axis": packed.type.rank})
    return reshaped(call, joined, (*packed.shape[:-1], packed.shape[-1] * 2))


MICROSOFT: dict[str, NodeHandler] = {
    "Gelu": gelu,
    "BiasGelu": gelu,
    "FastGelu": fast_gelu,
    "QuickGelu": quick_gelu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "SkipLayerNormalization": skip_layer_norm,
    "SkipSimplifiedLayerNormalization": skip_rms_norm,
    "SimplifiedLayerNormalization": rms_norm,
    "EmbedLayerNormalization": embed_layer_norm,
    "Attention": attention,
    "MultiHeadAttention": multi_head_attention,
    "MatMulNBits": matmul_n_bits,
}
