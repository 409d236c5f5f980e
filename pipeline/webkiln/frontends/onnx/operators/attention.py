"""Attention: softmax weights from masked products of queries and keys, applied to values."""

from math import inf, sqrt

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import DTYPES, cast, part
from webkiln.frontends.onnx.operators.reduce import reduce_axes
from webkiln.frontends.onnx.operators.shape import iota, reshaped, transposed
from webkiln.ir.dim import Shape, Size, known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.activations import stepwise_softmax


def split_heads(call: NodeCall, x: Tensor, heads: Size) -> Tensor:
    """Reshape [N, T, heads * size] to [N, heads, T, size]."""
    n, t, width = x.shape
    return transposed(call, reshaped(call, x, (n, t, heads, width // heads)), (0, 2, 1, 3))


def merge_heads(call: NodeCall, x: Tensor) -> Tensor:
    """Reshape [N, heads, T, size] to [N, T, heads * size]."""
    n, heads, t, size = x.shape
    return reshaped(call, transposed(call, x, (0, 2, 1, 3)), (n, t, heads * size))


def repeat_heads(call: NodeCall, x: Tensor, heads: Size) -> Tensor:
    """Repeat each head so that there are `heads` heads (grouped-query attention)."""
    n, own, t, size = x.shape
    if own == heads:
        return x
    wide = call.op(
        "Broadcast",
        [reshaped(call, x, (n, own, 1, t, size))],
        {"shape": (n, own, heads // own, t, size)},
    )
    return reshaped(call, wide, (n, heads, t, size))


def mask_bias(call: NodeCall, mask: Tensor, dtype: str) -> Tensor:
    """An additive mask: 0 where `mask` is true, else -inf."""
    return call.op("Where", [mask, call.constant(0, dtype), call.constant(-inf, dtype)])


def relative_positions(call: NodeCall, rows: Size, columns: Size, offset: Tensor) -> Tensor:
    """key - query - offset, [..., rows, columns]: positive for keys after the query's position."""
    down = reshaped(call, iota(call, rows, "int64"), (rows, 1))
    return call.op("Sub", [call.op("Sub", [iota(call, columns, "int64"), down]), offset])


def attention_bias(
    call: NodeCall, rows: Size, columns: Size, past: Size, dtype: str
) -> Tensor | None:
    """The sum of all masks as an additive bias; None without masks."""
    parts: list[Tensor] = []
    if call.has(3):
        mask = call.tensor(3)
        if (shortfall := columns - mask.shape[-1]) > 0:
            fill = 0 if mask.dtype == "bool" else -inf
            mask = call.op(
                "Pad",
                [mask],
                {
                    "low": (0,) * mask.type.rank,
                    "high": (0,) * (mask.type.rank - 1) + (shortfall,),
                    "value": fill,
                },
            )
        parts.append(
            mask_bias(call, mask, dtype) if mask.dtype == "bool" else cast(call, mask, dtype)
        )
    lengths = (
        reshaped(call, cast(call, call.tensor(6), "int64"), (call.type(6).shape[0], 1, 1, 1))
        if call.has(6)
        else None
    )
    left, right = call.attr("left_window_size", -1), call.attr("right_window_size", -1)
    if call.attr("is_causal", 0) or left >= 0 or right >= 0:
        if lengths is not None and not call.has(4):
            offset = call.op(
                "Sub", [lengths, call.op("Sizes", [], {"sizes": (rows,), "dtype": "int64"})]
            )
        else:
            offset = call.op("Sizes", [], {"sizes": (past,), "dtype": "int64"})
        relative = relative_positions(call, rows, columns, offset)
        if call.attr("is_causal", 0):
            parts.append(
                mask_bias(call, call.op("LessEqual", [relative, call.like(0, relative)]), dtype)
            )
        if left >= 0:
            parts.append(
                mask_bias(
                    call, call.op("GreaterEqual", [relative, call.like(-left, relative)]), dtype
                )
            )
        if right >= 0:
            parts.append(
                mask_bias(call, call.op("LessEqual", [relative, call.like(right, relative)]), dtype)
            )
    if lengths is not None:
        parts.append(
            mask_bias(call, call.op("Less", [iota(call, columns, "int64"), lengths]), dtype)
        )
    total = None
    for item in parts:
        total = item if total is None else call.op("Add", [total, item])
    return total


def attention_weights(call: NodeCall, scores: Tensor, bias: Tensor | None) -> Tensor:
    """The softmax of biased scores; rows in which every key is masked are 0."""
    precision = call.attr("softmax_precision")
    wide = cast(call, scores, DTYPES[precision]) if precision else scores
    y = stepwise_softmax(call.builder, "Softmax", wide, scores.type.rank - 1)
    if bias is not None:
        all_masked = call.op(
            "Equal",
            [reduce_axes(call, "ReduceMax", bias, (bias.type.rank - 1,)), call.like(-inf, bias)],
        )
        y = call.op("Where", [all_masked, call.like(0, y), y])
    return cast(call, y, scores.dtype)


def attention(call: NodeCall) -> list[Tensor]:
    """Operands: Q, K, V, mask, past keys and values, key lengths. Outputs: Y, all keys and values,
    and the scores at the stage that `qk_matmul_output_mode` selects.
    """
    q, k, v = (call.tensor(position) for position in range(3))
    flat = q.type.rank == 3
    if flat:
        q, k, v = (
            split_heads(call, x, call.attr(f"{prefix}_num_heads"))
            for x, prefix in ((q, "q"), (k, "kv"), (v, "kv"))
        )
    past = call.type(4).shape[2] if call.has(4) else 0
    keys = call.op("Concat", [call.tensor(4), k], {"axis": 2}) if call.has(4) else k
    values = call.op("Concat", [call.tensor(5), v], {"axis": 2}) if call.has(5) else v
    heads, rows, size = q.shape[1:]
    factor = sqrt(call.attr("scale") or 1 / sqrt(known(size, "the size of a head")))
    bias = attention_bias(call, rows, keys.shape[2], past, q.dtype)
    scaled_keys = repeat_heads(call, keys, heads) * factor
    raw = call.op("MatMul", [q * factor, scaled_keys], {"transpose_b": True})
    cap = call.attr("softcap", 0.0)
    capped = call.op("Tanh", [raw * (1 / cap)]) * cap if cap else raw
    scores = call.op("Add", [capped, bias]) if bias is not None else capped
    weights = attention_weights(call, scores, bias)
    y = call.op("MatMul", [cast(call, weights, values.dtype), repeat_heads(call, values, heads)])
    score_stages = {0: raw, 1: capped, 2: scores, 3: weights}
    return [
        merge_heads(call, y) if flat else y,
        keys,
        values,
        score_stages[call.attr("qk_matmul_output_mode", 0)],
    ]


def linear_attention(call: NodeCall) -> list[Tensor]:
    """Linear attention: a memory [N, heads, keys, values] of outer products with decay and
    delta-rule correction. Operands: Q, K, V, memory, decay, beta.
    """
    own, heads = call.attr("kv_num_heads"), call.attr("q_num_heads")
    rule = call.attr("update_rule", "gated_delta")
    q, k, v = (
        cast(call, split_heads(call, call.tensor(p), count), "float32")
        for p, count in ((0, heads), (1, own), (2, own))
    )
    n, _, _steps, width = k.shape
    scale = call.attr("scale", 0.0) or 1 / sqrt(known(width, "the size of a head"))
    sequences = [q * scale, k, v]
    shape = (n, own, width, v.shape[3])
    state = (
        cast(call, call.tensor(3), "float32")
        if call.has(3)
        else call.op("Broadcast", [call.constant(0.0)], {"shape": shape})
    )
    if "gated" in rule:
        decay = cast(call, call.tensor(4), "float32")
        sequences.append(call.op("Exp", [split_heads(call, decay, own)]))
    if "delta" in rule:
        beta = cast(call, call.tensor(5), "float32")
        sequences.append(split_heads(call, beta, beta.shape[2]))

    def step(
        builder: GraphBuilder, states: list[Tensor], slices: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        (memory,) = states
        query, key, value, *gates = slices

        def shaped(x: Tensor, sizes: Shape) -> Tensor:
            return builder.op("Reshape", [x], {"shape": sizes})

        if "gated" in rule:
            factor = gates.pop(0)
            memory = builder.op("Mul", [memory, shaped(factor, (*factor.shape, 1))])
        row = shaped(key, (n, own, 1, width))
        if "delta" in rule:
            recalled = shaped(builder.op("MatMul", [row, memory]), value.shape)
            value = builder.op("Mul", [gates[0], builder.op("Sub", [value, recalled])])
        outer = builder.op(
            "Mul", [shaped(key, (n, own, width, 1)), shaped(value, (n, own, 1, v.shape[3]))]
        )
        memory = builder.op("Add", [memory, outer])
        grouped_query = shaped(query, (n, own, heads // own, width))
        return [memory], [
            shaped(builder.op("MatMul", [grouped_query, memory]), (n, heads, v.shape[3]))
        ]

    (last,), (outputs,) = call.builder.scan([state], sequences, step, axis=2)
    y = cast(call, merge_heads(call, outputs), call.type(0).dtype)
    return [y, cast(call, last, call.type(3).dtype if call.has(3) else call.type(0).dtype)]


def rotary_embedding(call: NodeCall) -> Tensor:
    """Rotate pairs of elements of each head. The cosines and sines are [N, T, pairs], or tables
    indexed by position. A pair is two adjacent elements, or one element of each half.
    """
    x, flat = call.tensor(0), call.type(0).rank == 3
    if flat:
        x = split_heads(call, x, call.attr("num_heads"))
    n, heads, steps, size = x.shape
    rotated = call.attr("rotary_embedding_dim", 0) or size
    pairs = rotated // 2
    angles = [call.tensor(1), call.tensor(2)]
    if call.has(3):
        angles = [call.op("Gather", [table, call.tensor(3)], {"axis": 0}) for table in angles]
    cos, sin = (
        reshaped(call, part(call, item, 2, 0, pairs), (n, 1, steps, pairs)) for item in angles
    )
    head = part(call, x, 3, 0, rotated)
    interleaved = bool(call.attr("interleaved", 0))
    split = reshaped(
        call, head, (n, heads, steps, pairs, 2) if interleaved else (n, heads, steps, 2, pairs)
    )
    axis = 4 if interleaved else 3
    a, b = (
        reshaped(call, part(call, split, axis, number, 1), (n, heads, steps, pairs))
        for number in (0, 1)
    )
    real = call.op("Sub", [call.op("Mul", [cos, a]), call.op("Mul", [sin, b])])
    imaginary = call.op("Add", [call.op("Mul", [sin, a]), call.op("Mul", [cos, b])])
    shape = (n, heads, steps, pairs, 1) if interleaved else (n, heads, steps, 1, pairs)
    joined = call.op(
        "Concat", [reshaped(call, item, shape) for item in (real, imaginary)], {"axis": axis}
    )
    y = reshaped(call, joined, (n, heads, steps, rotated))
    if rotated < size:
        y = call.op("Concat", [y, part(call, x, 3, rotated, size - rotated)], {"axis": 3})
    return merge_heads(call, y) if flat else y


ATTENTION: dict[str, NodeHandler] = {
    "Attention": attention,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
}
