"""Activations."""

from webkiln.frontends.torch.aten import AtenCall, AtenHandler
from webkiln.frontends.torch.operators.elementwise import bounded
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations


def hardtanh(c: AtenCall) -> Tensor:
    return bounded(c, c.tensor(), c.number("min_val"), c.number("max_val"))


def hard_sigmoid(c: AtenCall) -> Tensor:
    return c.op("HardSigmoid", c.tensor())


def hard_swish(c: AtenCall) -> Tensor:
    return activations.hard_swish(c.b, c.tensor())


def elu(c: AtenCall) -> Tensor:
    """scale * x if x > 0, or scale * alpha (exp(input_scale x) - 1) otherwise."""
    x = c.tensor()
    alpha, scale, inner = (
        float(c.get(name, default))
        for name, default in (("alpha", 1), ("scale", 1), ("input_scale", 1))
    )
    below = c.op("Expm1", x * inner) * (alpha * scale)
    return c.op("Where", c.b.binary("Greater", x, 0.0), x * scale, below)


def celu(c: AtenCall) -> Tensor:
    return activations.celu(c.b, c.tensor(), float(c.get("alpha", 1.0)))


def leaky_relu(c: AtenCall) -> Tensor:
    return c.op("LeakyRelu", c.tensor(), alpha=float(c.get("negative_slope", 0.01)))


def rrelu(c: AtenCall) -> Tensor:
    if c.get("training", False):
        raise c.unsupported("draws slopes", "Call model.eval() before it is exported")
    return c.op(
        "LeakyRelu", c.tensor(), alpha=(float(c.number("lower")) + float(c.number("upper"))) / 2
    )


def gelu(c: AtenCall) -> Tensor:
    return c.op("Gelu", c.tensor(), approximate=c.get("approximate", "none") == "tanh")


def softplus(c: AtenCall) -> Tensor:
    """log(1 + exp(beta x)) / beta, or x if beta x exceeds the threshold."""
    x, beta, threshold = c.tensor(), float(c.get("beta", 1)), float(c.get("threshold", 20))
    steep = x * beta
    return c.op(
        "Where", c.b.binary("Greater", steep, threshold), x, c.op("Softplus", steep) * (1 / beta)
    )


def log_sigmoid(c: AtenCall) -> Tensor:
    return activations.log_sigmoid(c.b, c.tensor())


def threshold(c: AtenCall) -> Tensor:
    return activations.threshold(c.b, c.tensor(), c.number("threshold"), c.number("value"))


def hard_shrink(c: AtenCall) -> Tensor:
    x, bound = c.tensor(), float(c.get("lambd", 0.5))
    inside = c.op("LessEqual", c.op("Abs", x), c.like(bound, x))
    return c.op("Where", inside, c.like(0, x), x)


def soft_shrink(c: AtenCall) -> Tensor:
    return activations.soft_shrink(c.b, c.tensor(), float(c.get("lambd", 0.5)))


def prelu(c: AtenCall) -> Tensor:
    """PReLU: the slopes belong to the second axis."""
    x, slope = c.tensor(), c.tensor("weight")
    if slope.type.rank <= 1 and slope.type.size != 1:
        slope = c.op("Reshape", slope, shape=(slope.type.size, *[1] * (x.type.rank - 2)))
    elif slope.type.rank == 1:
        slope = c.op("Reshape", slope, shape=())
    return activations.prelu(c.b, x, slope)


def glu(c: AtenCall) -> Tensor:
    return activations.glu(c.b, c.tensor(), c.get("dim", -1))


ACTIVATIONS: dict[str, AtenHandler] = {
    "relu6": lambda c: bounded(c, c.tensor(), 0, 6),
    "hardtanh": hardtanh,
    "hardsigmoid": hard_sigmoid,
    "hardswish": hard_swish,
    "elu": elu,
    "celu": celu,
    "selu": lambda c: c.op("Selu", c.tensor()),
    "leaky_relu": leaky_relu,
    "rrelu": rrelu,
    "rrelu_with_noise": rrelu,
    "rrelu_with_noise_functional": lambda c: [rrelu(c), c.op("Identity", c.tensor("noise"))],
    "gelu": gelu,
    "softplus": softplus,
    "log_sigmoid": log_sigmoid,
    "log_sigmoid_forward": lambda c: [log_sigmoid(c), c.op("Identity", c.tensor())],
    "mish": lambda c: activations.mish(c.b, c.tensor()),
    "threshold": threshold,
    "hardshrink": hard_shrink,
    "softshrink": soft_shrink,
    "prelu": prelu,
    "_prelu_kernel": prelu,
    "glu": glu,
}
