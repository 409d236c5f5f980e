"""Attention layers: masked scores of queries against keys, used as weights of values."""

from collections.abc import Sequence
from math import sqrt
from string import ascii_lowercase
from typing import Any

from webkiln.frontends.keras.layer import Converter, Layer, LayerHandler
from webkiln.frontends.keras.layers.linear import adapted
from webkiln.ir.dim import Size, known
from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.activations import softmax
from webkiln.ops.functional.operands import floating, operands
from webkiln.ops.pieces import cast

ARGUMENTS = (
    "query",
    "value",
    "key",
    "query_mask",
    "value_mask",
    "key_mask",
    "attention_mask",
    "return_attention_scores",
    "training",
    "use_causal_mask",
)
HIDDEN_SCORE = -0.7 * 3.38953e38
"""The score of masked keys in `keras.ops.dot_product_attention`."""


def attention(converter: Converter, layer: Layer) -> None:
    """Attention and AdditiveAttention (Luong et al. 2015, Bahdanau et al. 2015). Inputs are [query,
    value] or [query, value, key], each [N, T, size].
    """
    b = converter.builder
    arguments = {
        **dict(zip(("inputs", "mask"), layer.arguments.args, strict=False)),
        **layer.arguments.kwargs,
    }
    query, value, *keys = map(converter.get_variable, arguments["inputs"])
    masks = [*(arguments.get("mask") or []), None, None]
    query_mask, value_mask = (
        None if mask is None else _truth(b, converter.get_variable(mask)) for mask in masks[:2]
    )
    scores = _scores(converter, layer, query, keys[0] if keys else value)
    shown = value_mask
    if arguments.get("use_causal_mask"):
        shown = _both(
            b, None if shown is None else _widened(b, shown, -2), _causal(b, *scores.shape[-2:])
        )
    elif shown is not None and shown.type.rank == 2:
        shown = _widened(b, shown, -2)
    if shown is not None:
        far = 65504.0 if scores.dtype == "float16" else 1e9
        scores = b.op("Where", [shown, scores, b.binary("Sub", scores, far)])
    weights = softmax(b, scores)
    y = b.op("MatMul", [weights, value if is_float(value.dtype) else cast(b, value, weights.dtype)])
    if query_mask is not None:
        y = b.op("Where", [_widened(b, query_mask, -1), y, b.constant(0.0, y.dtype)])
    _set_outputs(converter, layer, [y, weights])


def _scores(converter: Converter, layer: Layer, query: Tensor, key: Tensor) -> Tensor:
    b, config = converter.builder, layer.config
    scale = (
        converter.convert_to_constant_variable(layer.weight("scale"))
        if config.get("use_scale")
        else None
    )
    additive = layer.class_name == "AdditiveAttention"
    if not additive and config.get("score_mode", "dot") == "dot":
        y = b.op("MatMul", [query, key], {"transpose_b": True})
        return y if scale is None else b.op("Mul", operands(b, y, scale))
    query, key = operands(b, query, key)
    y = floating(b, b.op("Add", [_widened(b, query, -2), _widened(b, key, -3)]))
    axes = {"axes": (y.type.rank - 1,), "keepdims": False}
    if additive:
        y = b.op("Tanh", [y])
        return b.op("ReduceSum", [y if scale is None else b.op("Mul", operands(b, scale, y))], axes)
    y = b.op("Tanh", [y if scale is None else b.op("Mul", operands(b, scale, y))])
    weight = converter.convert_to_constant_variable(layer.weight("concat_score_weight"))
    return b.op("Mul", operands(b, weight, b.op("ReduceSum", [y], axes)))


def heads(*, grouped: bool) -> LayerHandler:
    """MultiHeadAttention (Vaswani et al. 2017) and GroupedQueryAttention (Ainslie et al. 2023),
    whose queries share keys and values.

    query is [N, *others, *T, size], value and key [N, *others, *S, size]; attention is over the
    axes T and S.
    """

    def handler(converter: Converter, layer: Layer) -> None:
        b, config = converter.builder, layer.config
        arguments: dict[str, Any] = {
            **dict(zip(ARGUMENTS, layer.arguments.args, strict=False)),
            **layer.arguments.kwargs,
        }
        tensors = {
            name: converter.get_variable(arguments[name])
            for name in ARGUMENTS[:7]
            if arguments.get(name) is not None
        }
        query, value = tensors["query"], tensors["value"]
        q, k, v = (
            _projected(converter, layer, part, x)
            for part, x in (("query", query), ("key", tensors.get("key", value)), ("value", value))
        )
        gate = (
            b.op("Sigmoid", [_projected(converter, layer, "gate", query)])
            if config.get("use_gate")
            else None
        )
        if grouped:
            k, v = (
                _repeated(b, x, config["num_query_heads"] // config["num_key_value_heads"])
                for x in (k, v)
            )
        axes = _attention_axes(config.get("attention_axes"), q.type.rank)
        mask = _merged_mask(
            converter,
            tensors,
            causal=bool(arguments.get("use_causal_mask")),
            window=config.get("sliding_window"),
        )
        plain = not (
            config.get("dropout") or arguments.get("return_attention_scores") or q.type.rank != 4
        )
        y, weights = _attend(b, q, k, v, mask, axes, plain=plain)
        y = y if gate is None else b.op("Mul", [y, gate])
        _set_outputs(
            converter,
            layer,
            [_projected(converter, layer, "attention_output", y, bound=2), weights],
        )

    return handler


def _attend(
    b: GraphBuilder,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    axes: Sequence[int],
    *,
    plain: bool,
) -> tuple[Tensor, Tensor]:
    """The result and the weights. If all keys of a query are masked, its weights are equal with
    `plain`, otherwise 0.
    """
    rank = q.type.rank
    target = ascii_lowercase[:rank]
    source = "".join(
        ascii_lowercase[rank + axis] if axis in axes else letter
        for axis, letter in enumerate(target)
    )
    batch = [target[axis] for axis in range(rank - 1) if axis not in axes]
    product = "".join([*batch, *(target[axis] for axis in axes), *(source[axis] for axis in axes)])
    factor, dtype = 1 / sqrt(known(q.shape[-1], "the size of a head")), q.dtype
    if plain:
        scores = b.op("Einsum", [q, k], {"equation": f"{target},{source}->{product}"})
        scores = b.binary(
            "Mul", cast(b, scores, "float32") if dtype == "float16" else scores, factor
        )
    else:
        scores = b.op(
            "Einsum", [b.binary("Mul", q, factor), k], {"equation": f"{target},{source}->{product}"}
        )
    kept = None
    if mask is not None:
        for _ in range(len(product) - mask.type.rank):
            mask = _widened(b, mask, -2 * len(axes) - 1)
        kept = (
            _truth(b, mask)
            if plain
            else mask
            if mask.dtype == "bool"
            else b.binary("Greater", mask, 0.5)
        )
        hidden = HIDDEN_SCORE if plain else -3e4 if dtype == "float16" else -1e9
        scores = b.op("Where", [kept, scores, b.constant(hidden, scores.dtype)])
    weights = softmax(
        b, scores, -1 if len(axes) == 1 else [*range(len(product) - len(axes), len(product))]
    )
    if kept is not None and not plain:
        weights = b.op("Where", [kept, weights, b.constant(0.0, weights.dtype)])
    weights = cast(b, weights, dtype)
    return b.op("Einsum", [weights, v], {"equation": f"{product},{source}->{target}"}), weights


def _attention_axes(axes: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """The attention axes of tensors of this rank, which includes heads."""
    if axes is None:
        return tuple(range(1, rank - 2))
    return tuple(
        axis if axis >= 0 else rank - 1 + axis
        for axis in ([axes] if isinstance(axes, int) else axes)
    )


def _merged_mask(
    converter: Converter, tensors: dict[str, Tensor], *, causal: bool, window: int | None
) -> Tensor | None:
    """The conjunction of all masks, [N or 1, T, S], or the shape to which the attention mask
    broadcasts.
    """
    b, mask = converter.builder, None
    for name, axis in (("query_mask", -1), ("value_mask", -2), ("key_mask", -2)):
        if name in tensors:
            mask = _both(b, mask, _widened(b, _truth(b, tensors[name]), axis))
    rows, columns = tensors["query"].shape[1], tensors["value"].shape[1]
    if causal:
        mask = _both(b, mask, _causal(b, rows, columns))
    if window is not None:
        near = b.binary("Less", b.op("Abs", [_ahead(b, rows, columns)]), window)
        mask = _both(b, mask, near)
    explicit = tensors.get("attention_mask")
    return (
        explicit
        if mask is None
        else mask
        if explicit is None
        else _both(b, _truth(b, explicit), mask)
    )


def _projected(converter: Converter, layer: Layer, name: str, x: Tensor, bound: int = 1) -> Tensor:
    """Apply the dense layer with this name. The first axes of its kernel [*bound axes of x, *axes
    of the result] are the last `bound` axes of x.
    """
    part = next(part for part in layer.spec.parts.values() if part.name == name)
    dense = Layer(f"{layer.path}/{name}", part, 0)
    kernel = dense.weight("kernel")
    if kernel.shape[:bound] != x.shape[-bound:]:
        raise dense.error(
            f"the kernel is {list(kernel.shape)}, x is {list(x.shape)}; x needs"
            f" {list(kernel.shape[:bound])} on its last axes"
        )
    inputs = ascii_lowercase[: x.type.rank]
    outputs = ascii_lowercase[x.type.rank :][: len(kernel.shape) - bound]
    equation = f"{inputs},{inputs[-bound:]}{outputs}->{inputs[:-bound]}{outputs}"
    b = converter.builder
    y = b.op("Einsum", [x, adapted(converter, dense, "kernel")], {"equation": equation})
    return (
        b.op("Add", [y, converter.convert_to_constant_variable(dense.weight("bias"))])
        if layer.config.get("use_bias", True)
        else y
    )


def _repeated(b: GraphBuilder, x: Tensor, times: int) -> Tensor:
    """[N, S, heads, size], with each head repeated `times` times."""
    n, steps, own, size = x.shape
    wide = b.op("Broadcast", [_widened(b, x, 3)], {"shape": (n, steps, own, times, size)})
    return b.op("Reshape", [wide], {"shape": (n, steps, own * times, size)})


def _ahead(b: GraphBuilder, rows: Size, columns: Size) -> Tensor:
    """The position of each key relative to each query, [1, rows, columns]."""
    down, along = (b.op("Iota", [], {"size": size, "dtype": "int32"}) for size in (rows, columns))
    return b.op(
        "Sub",
        [
            b.op("Reshape", [along], {"shape": (1, 1, columns)}),
            b.op("Reshape", [down], {"shape": (1, rows, 1)}),
        ],
    )


def _causal(b: GraphBuilder, rows: Size, columns: Size) -> Tensor:
    return b.binary("LessEqual", _ahead(b, rows, columns), 0)


def _both(b: GraphBuilder, mask: Tensor | None, other: Tensor) -> Tensor:
    return other if mask is None else b.op("And", [mask, other])


def _truth(b: GraphBuilder, mask: Tensor) -> Tensor:
    return cast(b, mask, "bool")


def _widened(b: GraphBuilder, x: Tensor, axis: int) -> Tensor:
    """Insert an axis of size 1 at `axis` of the result."""
    position = axis if axis >= 0 else x.type.rank + 1 + axis
    return b.op("Reshape", [x], {"shape": (*x.shape[:position], 1, *x.shape[position:])})


def _set_outputs(converter: Converter, layer: Layer, tensors: Sequence[Tensor]) -> None:
    for ref, tensor in zip(converter.get_output_tensor(layer), tensors, strict=False):
        converter.set_variable(ref, tensor)
