"""Categories as vectors."""

from webkiln.frontends.keras.layer import Layer
from webkiln.ops.builder import GraphBuilder, Tensor


def encoded(
    b: GraphBuilder, layer: Layer, x: Tensor, mode: str, depth: int, weights: Tensor | None = None
) -> Tensor:
    """Categories below `depth` as integers ("int"), or as one-hot, multi-hot or count vectors."""
    if mode == "int":
        return x
    rank = max(x.type.rank, 1)
    x = x if x.type.rank else b.op("Reshape", [x], {"shape": (1,)})
    if mode == "one_hot" and rank > 1 and x.shape[-1] == 1:
        x = b.op("Reshape", [x], {"shape": x.shape[:-1]})
    shape = (*x.shape, 1)
    hot = b.op(
        "Equal",
        [
            b.op("Reshape", [x], {"shape": shape}),
            b.op("Iota", [], {"size": depth, "dtype": x.dtype}),
        ],
    )
    y = b.op("Cast", [hot], {"dtype": "float32"})
    if mode == "one_hot":
        return y
    axes = {"axes": (1 if rank > 1 else 0,), "keepdims": False}
    if mode == "multi_hot":
        return b.op("ReduceMax", [y], axes)
    if mode != "count":
        raise layer.unsupported(
            f"output_mode {mode!r}",
            "There are int, one_hot, multi_hot, count and, of a lookup, tf_idf",
        )
    if weights is not None:
        y = b.op(
            "Mul",
            [y, b.op("Reshape", [b.op("Cast", [weights], {"dtype": "float32"})], {"shape": shape})],
        )
    return b.op("ReduceSum", [y], axes)
