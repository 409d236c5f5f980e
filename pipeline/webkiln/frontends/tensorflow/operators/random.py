"""Random operators. Their numbers are inputs of the bundle (`frontends/nodes/noise.py`); seeds have
no effect.
"""

from functools import partial

from webkiln.frontends.nodes import noise
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.frontends.tensorflow.draws import DRAWS, PARAMETERS, Draw
from webkiln.ops.builder import Tensor
from webkiln.ops.pieces import cast


def _drawn(draw: Draw, call: NodeCall) -> Tensor:
    dtype = str(call.attr("dtype") or call.attr("Tout") or "float32")
    if draw.bounds is None:
        first, second = PARAMETERS[draw.distribution]
    else:
        first, second = (float(call.numbers(position).item()) for position in draw.bounds)
    return noise.drawn(call, draw.distribution, first, second, call.sizes(0), dtype)


def multinomial(call: NodeCall) -> Tensor:
    """Classes [rows, samples] by their logarithmic weights [rows, classes]."""
    weights = call.op("Softmax", [call.tensor(0)], {"axis": 1})
    (count,) = call.sizes(1)
    drawn = noise.categories(call, weights, count, replacement=True)
    return cast(call.builder, drawn, str(call.attr("output_dtype", "int64")))


def shuffle(call: NodeCall) -> Tensor:
    """The rows in the order of random numbers."""
    x = call.tensor(0)
    draws = noise.uniform(call, x.shape[:1])
    _, order = call.builder.ops("Sort", [draws], {"axis": 0, "descending": False})
    return call.op("Gather", [x, order], {"axis": 0})


def no_state(call: NodeCall) -> list[Tensor]:
    """The key, counter and algorithm of a generator, which nothing reads."""
    shapes = {"key": ("uint64", (1,)), "counter": ("uint64", (2,)), "alg": ("int32", ())}
    outputs = {
        "StatelessRandomGetKeyCounter": ("key", "counter"),
        "StatelessRandomGetKeyCounterAlg": ("key", "counter", "alg"),
        "StatelessRandomGetAlg": ("alg",),
    }[call.spec.op]
    zeros = [(call.constant(0, shapes[name][0]), shapes[name][1]) for name in outputs]
    return [call.op("Broadcast", [zero], {"shape": shape}) for zero, shape in zeros]


RANDOM: dict[str, NodeHandler] = {
    **{op: partial(_drawn, draw) for op, draw in DRAWS.items()},
    "Multinomial": multinomial,
    "RandomShuffle": shuffle,
    "StatelessRandomGetKeyCounter": no_state,
    "StatelessRandomGetKeyCounterAlg": no_state,
    "StatelessRandomGetAlg": no_state,
}
