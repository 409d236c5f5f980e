"""RNN, GRU and LSTM. Operands: X, W, R, B, lengths, initial states, peepholes."""

from collections.abc import Sequence

from webkiln.frontends.nodes.call import NodeCall, NodeHandler
from webkiln.ir.dim import Size, known
from webkiln.ops.builder import Tensor
from webkiln.ops.functional import recurrent
from webkiln.ops.functional.recurrent import ACTIVATIONS, GateFunction, Operands, Options

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Whether each direction starts at the end."""
SCALED = frozenset({"leakyrelu", "elu", "affine", "scaledtanh", "hardsigmoid", "thresholdedrelu"})
"""Activations that have an alpha."""
SHIFTED = SCALED - {"leakyrelu", "elu"}
"""Activations that have a beta."""


def activations(call: NodeCall, names: Sequence[str]) -> tuple[GateFunction, ...]:
    """Those that the node names, for all directions, by default `names`; the parameters are lists
    for those that have them.
    """
    alphas, betas = (
        list(call.attr(name) or ()) for name in ("activation_alpha", "activation_beta")
    )
    functions = []
    for name in call.attr("activations") or names:
        key = name.lower()
        if key not in ACTIVATIONS:
            raise call.unsupported(
                f"has the activation {name}", f"Supported are {', '.join(ACTIVATIONS)}"
            )
        alpha = alphas.pop(0) if key in SCALED and alphas else None
        beta = betas.pop(0) if key in SHIFTED and betas else None
        functions.append(ACTIVATIONS[key](alpha, beta))
    return tuple(functions)


def options(call: NodeCall, gates: int, names: Sequence[str], hidden: Size) -> Options:
    """`names` are the default activations of one direction."""
    reverse = DIRECTIONS[call.attr("direction", "forward")]
    return Options(
        gates,
        hidden,
        reverse,
        activations(call, tuple(names) * len(reverse)),
        batch_first=call.flag("layout"),
        clip=call.attr("clip"),
        input_forget=call.flag("input_forget"),
        linear_before_reset=call.flag("linear_before_reset"),
    )


def hidden_size(call: NodeCall) -> int:
    return int(call.attr("hidden_size") or known(call.type(2).shape[-1], "the hidden size"))


def operands(call: NodeCall, states: int) -> Operands:
    return Operands(
        call.tensor(0),
        call.tensor(1),
        call.tensor(2),
        call.optional(3),
        call.optional(4),
        [call.optional(5 + state) for state in range(states)],
        call.optional(7),
    )


def rnn(call: NodeCall) -> list[Tensor]:
    return recurrent.rnn(
        call.builder, operands(call, 1), options(call, 1, ("Tanh",), hidden_size(call))
    )


def gru(call: NodeCall) -> list[Tensor]:
    return recurrent.gru(
        call.builder, operands(call, 1), options(call, 3, ("Sigmoid", "Tanh"), hidden_size(call))
    )


def lstm(call: NodeCall) -> list[Tensor]:
    names = ("Sigmoid", "Tanh", "Tanh")
    return recurrent.lstm(
        call.builder, operands(call, 2), options(call, 4, names, hidden_size(call))
    )


RECURRENT: dict[str, NodeHandler] = {"RNN": rnn, "GRU": gru, "LSTM": lstm}
