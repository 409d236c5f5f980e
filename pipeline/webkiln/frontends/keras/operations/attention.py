"""keras.ops.dot_product_attention."""

from math import sqrt

from webkiln.errors import ShapeError
from webkiln.ir.dim import Size, known
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import Argument, operands, tensor
from webkiln.ops.pieces import cast, iota, reshaped, widened

HIDDEN = -0.7 * 3.38953e38
"""The score of masked keys."""


def dot_product_attention(
    b: GraphBuilder,
    query: Argument,
    key: Argument,
    value: Argument,
    bias: Argument = None,
    mask: Argument = None,
    scale: Argument = None,
    *,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Tensor:
    """Query [B, T, N, H], key and value [B, S, K, H]. Each of the K heads serves N / K query heads.

    Flash attention does not change the result, and the soft cap is ignored, as in Keras on
    TensorFlow.
    """
    q, k, v = operands(b, query, key, value)
    if any(x.type.rank != 4 for x in (q, k, v)):
        raise ShapeError(
            f"{b.layer}: query, key and value are"
            f" {', '.join(str(list(x.shape)) for x in (q, k, v))}; expected four axes of each"
        )
    given, heads, own = q.dtype, q.shape[2], k.shape[2]
    if heads > own:
        k, v = (_repeated(b, x, heads) for x in (k, v))
    wide = "float64" if given == "float64" else "float32"
    scores = cast(b, b.op("Einsum", [q, k], {"equation": "btnh,bsnh->bnts"}), wide)
    factor = (
        b.constant(
            1 / sqrt(known(q.shape[3], "the size of a head")) if scale is None else scale, wide
        )
        if not isinstance(scale, Tensor)
        else cast(b, scale, wide)
    )
    scores = b.op("Mul", [scores, factor])
    if bias is not None:
        scores = b.op("Add", [scores, cast(b, cast(b, tensor(b, bias), given), wide)])
    shown = None if mask is None else cast(b, tensor(b, mask), "bool")
    if is_causal:
        rows, columns = scores.shape[2:]
        past = b.op(
            "LessEqual", [iota(b, columns, "int32"), reshaped(b, iota(b, rows, "int32"), (rows, 1))]
        )
        shown = past if shown is None else b.op("And", [shown, past])
    if shown is not None:
        scores = b.op("Where", [shown, scores, b.constant(HIDDEN, wide)])
    weights = cast(b, b.op("Softmax", [scores], {"axis": 3}), given)
    return b.op("Einsum", [weights, v], {"equation": "bnts,bsnh->btnh"})


def _repeated(b: GraphBuilder, x: Tensor, heads: Size) -> Tensor:
    """Repeat each head to get this number of heads."""
    n, steps, own, size = x.shape
    wide = widened(b, reshaped(b, x, (n, steps, own, 1, size)), (n, steps, own, heads // own, size))
    return reshaped(b, wide, (n, steps, heads, size))
