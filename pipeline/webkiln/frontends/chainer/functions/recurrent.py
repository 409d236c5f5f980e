"""Stacked recurrent layers over sequences. Sequences are padded to one array; padded steps do not
change states.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.indexing import get_item
from webkiln.frontends.chainer.functions.padding import pad
from webkiln.frontends.chainer.functions.shape import concat, reshape, stack
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, nodes


@dataclass(frozen=True)
class Kind:
    """A recurrent layer by ONNX's name. `order` permutes Chainer's gates to ONNX's order."""

    op: str
    order: tuple[int, ...]
    states: int = 1
    activation: str | None = None


LSTM, GRU = Kind("LSTM", (0, 3, 1, 2), 2), Kind("GRU", (1, 0, 2))
TANH, RELU = Kind("RNN", (0,), 1, "Tanh"), Kind("RNN", (0,), 1, "Relu")
Weights = Sequence[Sequence[Any]]


def padded(xs: Sequence[ChainVariable]) -> tuple[ChainVariable, list[Any] | None]:
    """Stack sequences [T, I] to [T, N, I], and their lengths if they differ."""
    lengths = [x.shape[0] for x in xs]
    if all(length == lengths[0] for length in lengths):
        return stack(xs, 1), None
    longest = max(lengths)
    return stack([pad(x, [(0, longest - x.shape[0]), (0, 0)], "constant") for x in xs], 1), lengths


def layers(
    kind: Kind,
    x: ChainVariable,
    lengths: list[Any] | None,
    states: Sequence[Any],
    ws: Weights,
    bs: Weights,
    both: bool,
) -> tuple[list[ChainVariable], ChainVariable]:
    """The last states [layers * directions, N, H], and the outputs of the last layer [T, N,
    directions * H].
    """
    directions = 2 if both else 1
    lasts: list[list[ChainVariable]] = [[] for _ in range(kind.states)]
    steps, batch = x.shape[0], x.shape[1]
    counts = None if lengths is None else np.asarray(lengths, np.int32)
    for layer in range(len(ws) // directions):
        indices = range(layer * directions, (layer + 1) * directions)
        kernels = [
            stack([_gates(kind, ws[index], half) for index in indices], 0) for half in (0, 1)
        ]
        biases = stack(
            [
                concat([_gates(kind, bs[index], 0), _gates(kind, bs[index], 1)], 0)
                for index in indices
            ],
            0,
        )
        hidden = as_variable(ws[indices[0]][0]).shape[0]
        first = [
            None
            if item is None
            else get_item(as_variable(item), slice(indices[0], indices[-1] + 1))
            for item in states
        ]
        attrs: dict[str, Any] = {
            "hidden_size": hidden,
            "direction": "bidirectional" if both else "forward",
        }
        if kind.op == "GRU":
            attrs["linear_before_reset"] = 1
        if kind.activation is not None:
            attrs["activations"] = (kind.activation,) * directions
        y, *last = nodes(
            kind.op, 1 + kind.states, x, kernels[0], kernels[1], biases, counts, *first, **attrs
        )
        x = reshape(node("Transpose", y, perm=(0, 2, 1, 3)), (steps, batch, directions * hidden))
        for index, item in enumerate(last):
            lasts[index].append(item)
    return [concat(item, 0) for item in lasts], x


def _gates(kind: Kind, weights: Sequence[Any], half: int) -> ChainVariable:
    """The weights of the input or of the state, for all gates."""
    count = len(kind.order)
    return concat([as_variable(weights[half * count + gate]) for gate in kind.order], 0)


def sequences(
    kind: Kind, xs: Sequence[Any], states: Sequence[Any], ws: Weights, bs: Weights, both: bool
) -> tuple[list[ChainVariable], list[ChainVariable]]:  # fmt: skip
    """For each sequence, the last states and the outputs."""
    variables = [as_variable(x) for x in xs]
    sizes = [x.shape[0] for x in variables]
    if any(map(is_open, sizes)) and any(
        size is not sizes[0] and not (is_open(size) and is_open(sizes[0]) and size == sizes[0])
        for size in sizes
    ):
        raise SourceError(
            "one call cannot have sequences of different open lengths; call the link for each"
            " sequence, or set the lengths in input_shapes"
        )
    x, lengths = padded(variables)
    lasts, y = layers(kind, x, lengths, states, ws, bs, both)
    return lasts, [get_item(y, (slice(None, size), number)) for number, size in enumerate(sizes)]


def steps(kind: Kind, both: bool) -> Callable[..., Any]:
    """The function. `xs` are the inputs by step; shorter sequences are absent from later steps."""

    def function(n_layers: int, dropout_ratio: float, hx: Any, *args: Any, **kwargs: Any) -> Any:
        states, (ws, bs, xs) = ([hx, args[0]], args[1:4]) if kind.states == 2 else ([hx], args[:3])
        values = [as_variable(x) for x in xs]
        counts = [len(x) for x in values]
        batch = counts[0]
        stacked = stack(
            [
                pad(x, [(0, batch - len(x)), (0, 0)], "constant") if len(x) < batch else x
                for x in values
            ],
            0,
        )
        lengths = [sum(count > row for count in counts) for row in range(batch)]
        lasts, y = layers(
            kind, stacked, lengths if min(counts) < batch else None, states, ws, bs, both
        )
        return (
            *lasts,
            tuple(get_item(y, (step, slice(None, count))) for step, count in enumerate(counts)),
        )

    return function


def n_step_rnn(both: bool) -> Callable[..., Any]:
    def function(*args: Any, activation: str = "tanh", **kwargs: Any) -> Any:
        *rest, last = args
        chosen = last if isinstance(last, str) else activation
        operands = rest if isinstance(last, str) else args
        return steps({"tanh": TANH, "relu": RELU}[chosen], both)(*operands, **kwargs)

    return function


RECURRENT: Mapping[str, Callable[..., Any]] = {
    "n_step_lstm": steps(LSTM, False),
    "n_step_bilstm": steps(LSTM, True),
    "n_step_gru": steps(GRU, False),
    "n_step_bigru": steps(GRU, True),
    "n_step_rnn": n_step_rnn(False),
    "n_step_birnn": n_step_rnn(True),
}
