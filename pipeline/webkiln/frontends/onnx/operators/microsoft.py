"""The domain com.microsoft: fused operators written by onnxruntime's optimisers."""

from math import inf, sqrt

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.attention import merge_heads, split_heads
from webkiln.frontends.onnx.operators.conv import convolution
from webkiln.frontends.onnx.operators.elementwise import cast, part
from webkiln.frontends.onnx.operators.linear import gemm, scale
from webkiln.frontends.onnx.operators.reduce import rms_norm
from webkiln.frontends.onnx.operators.shape import iota, reshaped, transposed
from webkiln.ir.dim import Size, known
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.linear import matrix_product
from webkiln.ops.functional.normalization import standardise_with_moments


def gelu(call: NodeCall) -> Tensor:
    return call.op("Gelu", [add_bias(call, call.tensor(0), 1)], {"approximate": False})


def fast_gelu(call: NodeCall) -> Tensor:
    return call.op("Gelu", [add_bias(call, call.tensor(0), 1)], {"approximate": True})


def quick_gelu(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return x * call.op("Sigmoid", [x * call.attr("alpha", 1.702)])


def scaled_silu(call: NodeCall) -> Tensor:
    """The optional second operand, a scalar, replaces the attribute."""
    x = call.tensor(0)
    if call.has(1):
        return call.op("Silu", [call.op("Mul", [x, call.tensor(1)])])
    return call.op("ScaledSilu", [x], {"alpha": call.attr("alpha", 1.0)})


def add_bias(call: NodeCall, x: Tensor, position: int) -> Tensor:
    return call.op("Add", [x, call.tensor(position)]) if call.has(position) else x


def apply_activation(
    call: NodeCall, x: Tensor, name: str | None, parameters: list[float]
) -> Tensor:
    """Apply the activation that an attribute names."""
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
    """A convolution plus the optional fourth operand, followed by an activation."""
    y = add_bias(call, convolution(call, call.tensor(0), call.tensor(1), call.optional(2)), 3)
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
            "transposes batches", "Save the model without onnxruntime's optimisations"
        )
    for name, x in (("transA", a), ("transB", b)):
        if call.attr(name, 0) and x.type.rank > 1:
            swapped = transposed(
                call, x, (*range(x.type.rank - 2), x.type.rank - 1, x.type.rank - 2)
            )
            a, b = (swapped, b) if name == "transA" else (a, swapped)
    return scale(call, matrix_product(call.builder, a, b), call.attr("alpha", 1.0))


def skip_layer_norm(call: NodeCall) -> list[Tensor]:
    """Layer normalisation of a sum. Operands: x, skip, scale, bias, and a bias of the sum. The sum
    is an output, too.
    """
    total = add_bias(call, call.op("Add", [call.tensor(0), call.tensor(1)]), 4)
    normalised, mean, inverse = standardise_with_moments(
        call.builder, total, (total.type.rank - 1,), call.attr("epsilon", 1e-12)
    )
    return [add_bias(call, call.op("Mul", [normalised, call.tensor(2)]), 3), mean, inverse, total]


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
    positions = (
        call.op("Gather", [call.tensor(3), call.tensor(8)], {"axis": 0})
        if call.has(8)
        else part(call, call.tensor(3), 0, 0, steps)
    )
    total = call.op("Add", [total, positions])
    if call.has(1):
        total = call.op(
            "Add", [total, call.op("Gather", [call.tensor(4), call.tensor(1)], {"axis": 0})]
        )
    normalised, _, _ = standardise_with_moments(
        call.builder, total, (2,), call.attr("epsilon", 1e-12)
    )
    y = call.op("Add", [call.op("Mul", [normalised, call.tensor(5)]), call.tensor(6)])
    if call.has(7):
        counted = call.op(
            "ReduceSum", [cast(call, call.tensor(7), "int32")], {"axes": (1,), "keepdims": False}
        )
    else:
        counted = call.op("Broadcast", [call.constant(0, "int32")], {"shape": (batch,)})
    return [y, counted, total]


def attention_output(
    call: NodeCall, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None
) -> Tensor:
    """Attention of queries, keys and values [N, heads, T, size], as [N, T, heads * size]."""
    scale = call.attr("scale", 0.0) or 1 / sqrt(known(q.shape[3], "the size of a head"))
    scores = call.op("MatMul", [q * scale, k], {"transpose_b": True})
    if bias is not None:
        scores = call.op("Add", [scores, bias])
    if call.attr("unidirectional", 0):
        rows, columns = scores.shape[2:]
        limits = reshaped(call, iota(call, rows, "int32"), (rows, 1)) + (columns - rows)
        visible = call.op("LessEqual", [iota(call, columns, "int32"), limits])
        scores = call.op("Where", [visible, scores, call.like(-inf, scores)])
    weights = call.op("Softmax", [scores], {"axis": 3})
    return merge_heads(call, call.op("MatMul", [weights, v]))


def mask_to_bias(call: NodeCall, position: int, columns: Size, dtype: str) -> Tensor | None:
    """An additive bias from a mask: key lengths [N], a mask of keys [N, T], or a mask per query [N,
    S, T].
    """
    if not call.has(position):
        return None
    mask = call.tensor(position)
    if mask.type.rank == 1:
        lengths = reshaped(call, cast(call, mask, "int32"), (mask.shape[0], 1, 1, 1))
        visible = call.op("Less", [iota(call, columns, "int32"), lengths])
    else:
        shape = (
            (mask.shape[0], 1, 1, mask.shape[1])
            if mask.type.rank == 2
            else (mask.shape[0], 1, *mask.shape[1:])
        )
        visible = cast(call, reshaped(call, mask, shape), "bool")
    zero, filler = (
        call.constant(0, dtype),
        call.constant(call.attr("mask_filter_value", -10000.0), dtype),
    )
    return call.op("Where", [visible, zero, filler])


def sum_present(call: NodeCall, parts: list[Tensor | None]) -> Tensor | None:
    """The sum of the tensors that are not None."""
    total = None
    for item in parts:
        total = (
            item if total is None else call.op("Add", [total, item]) if item is not None else total
        )
    return total


def attention(call: NodeCall) -> Tensor:
    """Operands: x, concatenated weights and biases of queries, keys and values, mask, past, bias of
    the scores.
    """
    x, heads = call.tensor(0), call.attr("num_heads")
    if call.has(4):
        raise call.unsupported("has a past", "Export the model without a cache of keys and values")
    if call.attr("do_rotary", 0):
        raise call.unsupported(
            "applies rotary embeddings to queries and keys",
            "Save the model without onnxruntime's optimisations",
        )
    projected = add_bias(call, matrix_product(call.builder, x, call.tensor(1)), 2)
    widths = call.attr("qkv_hidden_sizes") or (projected.shape[2] // 3,) * 3
    starts = (0, widths[0], widths[0] + widths[1])
    q, k, v = (
        split_heads(call, part(call, projected, 2, start, width), heads)
        for start, width in zip(starts, widths, strict=True)
    )
    return attention_output(
        call,
        q,
        k,
        v,
        sum_present(call, [mask_to_bias(call, 3, x.shape[1], x.dtype), call.optional(5)]),
    )


def multi_head_attention(call: NodeCall) -> list[Tensor]:
    """Operands: queries, keys, values [N, T, hidden], their concatenated biases, key mask, bias of
    the scores, past keys and values.
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
        start: Size = 0
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
    bias = sum_present(call, [mask_to_bias(call, 4, k.shape[2], q.dtype), call.optional(5)])
    return [attention_output(call, q, k, v, bias), k, v]


MICROSOFT: dict[str, NodeHandler] = {
    "Gelu": gelu,
    "BiasGelu": gelu,
    "FastGelu": fast_gelu,
    "QuickGelu": quick_gelu,
    "ScaledSiLU": scaled_silu,
    "FusedConv": fused_conv,
    "FusedGemm": fused_gemm,
    "FusedMatMul": fused_matmul,
    "SkipLayerNormalization": skip_layer_norm,
    "SkipSimplifiedLayerNormalization": skip_rms_norm,
    "SimplifiedLayerNormalization": rms_norm,
    "EmbedLayerNormalization": embed_layer_norm,
    "Attention": attention,
    "MultiHeadAttention": multi_head_attention,
}
