"""Matrix products and operators composed of them."""

from math import inf, sqrt

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.ir.dim import Size, known
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.einsum import einsum as broadcast_einsum
from webkiln.ops.functional.linear import matrix_product
from webkiln.ops.pieces import iota, reshaped, total, transposed, widened


def matmul(c: AtenCall, a: Tensor, b: Tensor) -> Tensor:
    if c.has("out_dtype"):
        raise c.unsupported(
            "has a result of another dtype than its factors", "Cast its factors instead"
        )
    return matrix_product(c.b, a, b)


def integer_product(c: AtenCall) -> Tensor:
    """The int32 product of int8 matrices."""
    a, b = c.tensor(), c.tensor("mat2")
    return c.op("MatMulInteger", a, b, c.like(0, a), c.like(0, b))


def plus(c: AtenCall, x: Tensor, y: Tensor) -> Tensor:
    """beta x + alpha y."""
    alpha, beta = c.get("alpha", 1), c.get("beta", 1)
    y = y if alpha == 1 else c.op("Mul", y, c.scalar(alpha, y.dtype))
    if beta == 0:
        return widened(c.b, y, y.shape)
    x = x if beta == 1 else c.op("Mul", x, c.scalar(beta, x.dtype))
    return c.op("Add", x, y)


def addmm(c: AtenCall) -> Tensor:
    return plus(c, c.tensor(), matmul(c, c.tensor("mat1"), c.tensor("mat2")))


def addmv(c: AtenCall) -> Tensor:
    return plus(c, c.tensor(), matmul(c, c.tensor("mat"), c.tensor("vec")))


def baddbmm(c: AtenCall) -> Tensor:
    return plus(c, c.tensor(), matmul(c, c.tensor("batch1"), c.tensor("batch2")))


def addbmm(c: AtenCall) -> Tensor:
    return plus(c, c.tensor(), total(c.b, matmul(c, c.tensor("batch1"), c.tensor("batch2")), 0))


def linear(c: AtenCall) -> Tensor:
    return affine(c, c.tensor("input"), c.tensor("weight"), c.optional("bias"))


def affine(c: AtenCall, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x times the transposed weight, [out, in] or [in]."""
    matrix = transposed(c.b, weight, (1, 0)) if weight.type.rank == 2 else weight
    y = matmul(c, x, matrix)
    return y if bias is None else c.op("Add", y, bias)


def bilinear(c: AtenCall) -> Tensor:
    a, b, weight = c.tensor("input1"), c.tensor("input2"), c.tensor("weight")
    rows = a.type.size // a.shape[-1]
    left = c.op("MatMul", reshaped(c.b, a, (rows, a.shape[-1])), _flat(c, weight))
    both = c.op(
        "Mul",
        reshaped(c.b, left, (rows, weight.shape[0], weight.shape[2])),
        reshaped(c.b, b, (rows, 1, b.shape[-1])),
    )
    y = reshaped(c.b, total(c.b, both, 2), (*a.shape[:-1], weight.shape[0]))
    return c.op("Add", y, c.tensor("bias")) if c.has("bias") else y


def _flat(c: AtenCall, weight: Tensor) -> Tensor:
    """[out, a, b] as [a, out * b]."""
    out, a, b = weight.shape
    return reshaped(c.b, transposed(c.b, weight, (1, 0, 2)), (a, out * b))


def outer(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "vec2" if c.has("vec2") else "other")
    return c.op("Mul", reshaped(c.b, a, (*a.shape, 1)), b)


def einsum(c: AtenCall) -> Tensor:
    return broadcast_einsum(c.b, c["tensors"], c["equation"])


def tensordot(c: AtenCall) -> Tensor:
    a, b = c.tensor(), c.tensor("other")
    left, right = (
        [c.axis(axis, x.type.rank) for axis in c.integers(name)]
        for name, x in (("dims_self", a), ("dims_other", b))
    )
    outer = [
        [d for d in range(x.type.rank) if d not in axes] for x, axes in ((a, left), (b, right))
    ]
    inner: Size = 1
    for axis in left:
        inner *= a.shape[axis]
    rows = reshaped(c.b, transposed(c.b, a, [*outer[0], *left]), (a.type.size // inner, inner))
    columns = reshaped(c.b, transposed(c.b, b, [*right, *outer[1]]), (inner, b.type.size // inner))
    return reshaped(
        c.b,
        c.op("MatMul", rows, columns),
        (*(a.shape[d] for d in outer[0]), *(b.shape[d] for d in outer[1])),
    )


def attention(c: AtenCall) -> Tensor:
    """softmax(q k^T scale + mask) v. Rows whose keys are all masked are 0."""
    q, k, v = (c.tensor(name) for name in ("query", "key", "value"))
    if c.get("dropout_p", 0.0):
        raise c.unsupported(
            "applies dropout",
            "Call model.eval() before it is exported, or pass dropout_p=0",
        )
    if c.get("enable_gqa", False) and k.shape[-3] != q.shape[-3]:
        k, v = (_shared(c, x, q.shape[-3]) for x in (k, v))
    scale = c["scale"]
    scale = 1 / sqrt(known(q.shape[-1], "the size of a head")) if scale is None else float(scale)
    rank = k.type.rank
    scores = c.op("MatMul", q * scale, transposed(c.b, k, (*range(rank - 2), rank - 1, rank - 2)))
    mask: Tensor | None = c.optional("attn_mask")
    if c.get("is_causal", False):
        rows, columns = scores.shape[-2:]
        mask = c.op(
            "LessEqual",
            iota(c.b, columns, "int32"),
            reshaped(c.b, iota(c.b, rows, "int32"), (rows, 1)),
        )
    if mask is None:
        return c.op("MatMul", c.op("Softmax", scores, axis=scores.type.rank - 1), v)
    biased = (
        c.op("Where", mask, scores, c.like(-inf, scores))
        if mask.dtype == "bool"
        else c.op("Add", scores, mask)
    )
    weights = c.op("Softmax", biased, axis=biased.type.rank - 1)
    if mask.dtype == "bool":
        attended = c.op(
            "ReduceMax", c.cast(mask, "int32"), axes=(mask.type.rank - 1,), keepdims=True
        )
        weights = c.op("Where", c.cast(attended, "bool"), weights, c.like(0, weights))
    return c.op("MatMul", weights, v)


def _shared(c: AtenCall, x: Tensor, heads: Size) -> Tensor:
    """Repeat each head to get `heads` of them."""
    *lead, own, steps, size = x.shape
    wide = widened(
        c.b, reshaped(c.b, x, (*lead, own, 1, steps, size)), (*lead, own, heads // own, steps, size)
    )
    return reshaped(c.b, wide, (*lead, heads, steps, size))


def fused_attention(c: AtenCall) -> list[Tensor]:
    return [attention(c)]


def powered(c: AtenCall, x: Tensor, p: float) -> Tensor:
    return (
        x
        if p == 1
        else c.op("Mul", x, x)
        if p == 2
        else c.op("Sqrt", x)
        if p == 0.5
        else c.op("Pow", x, c.like(p, x))
    )


def distance(c: AtenCall, difference: Tensor, p: float) -> Tensor:
    """The p-norm along the last axis."""
    size, axes = c.op("Abs", difference), (difference.type.rank - 1,)
    if p == inf:
        return c.op("ReduceMax", size, axes=axes)
    if p == 0:
        return c.op("ReduceSum", c.cast(c.b.binary("NotEqual", size, 0.0), size.dtype), axes=axes)
    return powered(c, c.op("ReduceSum", powered(c, size, p), axes=axes), 1 / p)


def cdist(c: AtenCall) -> Tensor:
    a, b = c.tensor("x1"), c.tensor("x2")
    rows = reshaped(c.b, a, (*a.shape[:-1], 1, a.shape[-1]))
    columns = reshaped(c.b, b, (*b.shape[:-2], 1, *b.shape[-2:]))
    return distance(c, c.op("Sub", rows, columns), float(c.get("p", 2)))


def pdist(c: AtenCall) -> Tensor:
    """The distances of all pairs of rows, each pair once."""
    x = c.tensor()
    count = known(x.shape[0], "the number of rows")
    first = [a for a in range(count) for _ in range(a + 1, count)]
    second = [b for a in range(count) for b in range(a + 1, count)]
    rows = [
        c.op("Gather", x, c.b.constant(indices, "int64"), axis=0) for indices in (first, second)
    ]
    return distance(c, c.op("Sub", *rows), float(c.get("p", 2)))


def cosine_similarity(c: AtenCall) -> Tensor:
    a, b = c.promoted("x1", "x2")
    rank, eps = max(a.type.rank, b.type.rank), float(c.get("eps", 1e-8))
    axes = (c.axis(c.get("dim", 1), rank),)
    a, b = (
        c.op(
            "Div",
            x,
            c.op(
                "Max",
                c.op("Sqrt", c.op("ReduceSum", x * x, axes=axes, keepdims=True)),
                c.like(eps, x),
            ),
        )
        for x in (a, b)
    )
    return c.op("ReduceSum", c.op("Mul", a, b), axes=axes)


def pairwise_distance(c: AtenCall) -> Tensor:
    a, b = c.promoted("x1", "x2")
    y = distance(c, c.op("Sub", a, b) + float(c.get("eps", 1e-6)), float(c.get("p", 2)))
    return reshaped(c.b, y, (*y.shape, 1)) if c.get("keepdim", False) else y


def cross(c: AtenCall) -> Tensor:
    a, b = c.promoted("self", "other")
    axis = c.axis(c.get("dim", -1), a.type.rank)

    def rotated(x: Tensor, by: int) -> Tensor:
        return c.op(
            "Gather", x, c.b.constant([by % 3, (by + 1) % 3, (by + 2) % 3], "int64"), axis=axis
        )

    return c.op("Mul", rotated(a, 1), rotated(b, 2)) - c.op("Mul", rotated(a, 2), rotated(b, 1))


LINEAR: dict[str, AtenHandler] = {
    "_int_mm": integer_product,
    "mm": lambda c: matmul(c, c.tensor(), c.tensor("mat2")),
    "bmm": lambda c: matmul(c, c.tensor(), c.tensor("mat2")),
    "matmul": lambda c: matmul(c, c.tensor(), c.tensor("other")),
    "mv": lambda c: matmul(c, c.tensor(), c.tensor("vec")),
    "dot": lambda c: matmul(c, c.tensor(), c.tensor("tensor")),
    "addmm": addmm,
    "addmv": addmv,
    "baddbmm": baddbmm,
    "addbmm": addbmm,
    "linear": linear,
    "outer": outer,
    "bilinear": bilinear,
    "einsum": einsum,
    "tensordot": tensordot,
    "scaled_dot_product_attention": attention,
    "_scaled_dot_product_flash_attention_for_cpu": fused_attention,
    "_cdist_forward": cdist,
    "cdist": cdist,
    "_pdist_forward": pdist,
    "pdist": pdist,
    "cosine_similarity": cosine_similarity,
    "pairwise_distance": pairwise_distance,
    "linalg_cross": cross,
    "cross": cross,
}
