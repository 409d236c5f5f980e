"""Elementwise operators of recordings."""

from typing import Any

from webkiln.frontends.chainer.dtypes import DTYPES
from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import activations
from webkiln.ops.functional.elementwise import rounded_power
from webkiln.ops.functional.inverse_trigonometry import FUNCTIONS
from webkiln.ops.pieces import cast


def direct(op: str, **attrs: Any) -> NodeHandler:
    """An operator that the IR has, possibly under another name."""
    return lambda call: call.op(op, call.tensors(), attrs)


def composed(op: str) -> NodeHandler:
    return lambda call: FUNCTIONS[op](call.builder, call.tensor(0))


def to_dtype(call: NodeCall) -> Tensor:
    return cast(call.builder, call.tensor(0), DTYPES[call.attr("to")])


def modulo(call: NodeCall) -> Tensor:
    return call.op("Rem" if call.flag("fmod") else "Mod", call.tensors())


def power(call: NodeCall) -> Tensor:
    return rounded_power(call.builder, call.tensor(0), call.tensor(1))


def with_alpha(op: str) -> NodeHandler:
    return lambda call: call.op(op, [call.tensor(0)], {"alpha": call.attr("alpha")})


def hard_sigmoid(call: NodeCall) -> Tensor:
    return activations.hard_sigmoid(
        call.builder, call.tensor(0), call.attr("alpha"), call.attr("beta")
    )


def selu(call: NodeCall) -> Tensor:
    return activations.scaled_elu(
        call.builder, call.tensor(0), call.attr("alpha"), call.attr("gamma")
    )


def prelu(call: NodeCall) -> Tensor:
    return activations.prelu(call.builder, call.tensor(0), call.tensor(1))


def softmax(op: str) -> NodeHandler:
    def handler(call: NodeCall) -> Tensor:
        x = call.tensor(0)
        axis = call.axis(call.attr("axis"), x.type.rank)
        return activations.stepwise_softmax(call.builder, op, x, axis)

    return handler


DIRECT = (
    "Abs", "Add", "And", "Atan", "Ceil", "Cos", "Div", "Equal", "Erf", "Exp", "Floor", "Greater",
    "Less", "Log", "Max", "Min", "Mul", "Neg", "Not", "Or", "Relu", "Round", "Sigmoid", "Sign",
    "Sin", "Softplus", "Sqrt", "Sub", "Tanh", "Where",
)  # fmt: skip

ELEMENTWISE: dict[str, NodeHandler] = {
    **{op: direct(op) for op in DIRECT},
    **{op: composed(op) for op in ("Acos", "Asin", "Atanh", "Cosh", "Sinh", "Tan")},
    "Cast": to_dtype,
    "Elu": with_alpha("Elu"),
    "GreaterOrEqual": direct("GreaterEqual"),
    "HardSigmoid": hard_sigmoid,
    "IsInf": direct("IsInf", positive=True, negative=True),
    "LeakyRelu": with_alpha("LeakyRelu"),
    "LessOrEqual": direct("LessEqual"),
    "LogSoftmax": softmax("LogSoftmax"),
    "Mod": modulo,
    "PRelu": prelu,
    "Pow": power,
    "Selu": selu,
    "Softmax": softmax("Softmax"),
}
