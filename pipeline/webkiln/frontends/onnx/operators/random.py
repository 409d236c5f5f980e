"""Random operators. Their numbers are inputs of the bundle (`frontends/nodes/noise.py`); seeds have
no effect.
"""

from collections.abc import Callable, Sequence

from webkiln.frontends.nodes import noise
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.onnx.operators.elementwise import cast, dropout, dtype_of
from webkiln.ir.dim import Size
from webkiln.ops.builder import Tensor

Draw = Callable[[NodeCall, Sequence[Size], str], Tensor]


def _normal(call: NodeCall, shape: Sequence[Size], dtype: str) -> Tensor:
    scale, mean = float(call.attr("scale", 1)), float(call.attr("mean", 0))
    return noise.normal(call, shape, dtype) * scale + mean


def _uniform(call: NodeCall, shape: Sequence[Size], dtype: str) -> Tensor:
    low, high = float(call.attr("low", 0)), float(call.attr("high", 1))
    return noise.uniform(call, shape, dtype) * (high - low) + low


def _of_shape(draw: Draw) -> NodeHandler:
    return lambda call: draw(call, call.attr("shape"), dtype_of(call, "dtype", "float32"))


def _like(draw: Draw) -> NodeHandler:
    return lambda call: draw(call, call.type(0).shape, dtype_of(call, "dtype", call.type(0).dtype))


def multinomial(call: NodeCall) -> Tensor:
    """Classes [rows, samples] by their logarithmic weights [rows, classes]."""
    weights = call.op("Softmax", [call.tensor(0)], {"axis": 1})
    drawn = noise.categories(call, weights, call.attr("sample_size", 1), replacement=True)
    return cast(call, drawn, dtype_of(call, "dtype", "int32"))


def bernoulli(call: NodeCall) -> Tensor:
    x = call.tensor(0)
    return cast(call, noise.bernoulli(call, x, x.shape), dtype_of(call, "dtype", x.dtype))


def training_dropout(call: NodeCall) -> Sequence[Tensor]:
    """In training mode, drop elements with the probability `ratio`, and divide the others by 1 -
    ratio.
    """
    if not call.has(2) or not bool(call.numbers(2)):
        return dropout(call)
    x = call.tensor(0)
    ratio = cast(call, call.tensor(1), x.dtype) if call.has(1) else call.like(0.5, x)
    kept = call.op("Sub", [call.like(1, x), ratio])
    mask = noise.bernoulli(call, kept, x.shape)
    return [call.op("Where", [mask, x / kept, call.like(0, x)]), mask]


RANDOM: dict[str, NodeHandler] = {
    "RandomNormal": _of_shape(_normal),
    "RandomUniform": _of_shape(_uniform),
    "RandomNormalLike": _like(_normal),
    "RandomUniformLike": _like(_uniform),
    "Multinomial": multinomial,
    "Bernoulli": bernoulli,
    "Dropout": training_dropout,
}
