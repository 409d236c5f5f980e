"""Recurrent links over trees.

https://arxiv.org/abs/1503.00075
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.activation import sigmoid, tanh, tree_lstm
from webkiln.frontends.chainer.functions.shape import concat, split_axis
from webkiln.frontends.chainer.link import Chain
from webkiln.frontends.chainer.links.linear import Linear
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, sizes


class ChildSumTreeLSTM(Chain):
    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, 4 * out_size)
            self.W_h_aio, self.W_h_f = (
                Linear(out_size, 3 * out_size, nobias=True),
                Linear(out_size, out_size, nobias=True),
            )
        self.in_size, self.state_size = in_size, out_size

    def forward(self, *cshsx: Any) -> Any:
        cells, hidden, x = _tree(cshsx, self.state_size, self.in_size)
        both, forget = split_axis(self.W_x(x), [3 * self.state_size], 1)
        if not hidden:
            a, i, o = split_axis(both, 3, 1)
            c = node("Mul", sigmoid(i), tanh(a))
            return c, node("Mul", sigmoid(o), tanh(c))
        total = hidden[0]
        for h in hidden[1:]:
            total = node("Add", total, h)
        forgets = [node("Add", self.W_h_f(h), forget) for h in hidden]
        return tree_lstm(*cells, concat([node("Add", self.W_h_aio(total), both), *forgets], 1))


def _tree(
    operands: Sequence[Any], size: int, in_size: int
) -> tuple[list[ChainVariable], list[ChainVariable], ChainVariable]:
    """The cells and outputs of the children, zeros if absent, and the input."""
    present = next((as_variable(item) for item in operands if item is not None), None)
    if present is None:
        raise SourceError("a tree LSTM needs an input or a child")

    def filled(item: Any, width: int) -> ChainVariable:
        return (
            node("Expand", np.asarray(0, present.dtype), sizes((present.shape[0], width)))
            if item is None
            else as_variable(item)
        )

    count = len(operands) // 2
    return (
        [filled(c, size) for c in operands[:count]],
        [filled(h, size) for h in operands[count:-1]],
        filled(operands[-1], in_size),
    )


class NaryTreeLSTM(Chain):
    def __init__(self, in_size: int, out_size: int, n_ary: int = 2) -> None:
        super().__init__()
        with self.init_scope():
            self.W_x = Linear(in_size, (3 + n_ary) * out_size)
            for number in range(1, n_ary + 1):
                setattr(self, f"W_h{number}", Linear(out_size, (3 + n_ary) * out_size, nobias=True))
        self.in_size, self.state_size, self.n_ary = in_size, out_size, n_ary

    def forward(self, *cshsx: Any) -> Any:
        hs = cshsx[self.n_ary : -1]
        cells, _, x = _tree(cshsx, self.state_size, self.in_size)
        total = self.W_x(x)
        for number, h in enumerate(hs, 1):
            if h is not None:
                total = node("Add", total, getattr(self, f"W_h{number}")(h))
        return tree_lstm(*cells, total)


TREES: Mapping[str, Callable[..., Any]] = {
    "ChildSumTreeLSTM": ChildSumTreeLSTM,
    "NaryTreeLSTM": NaryTreeLSTM,
}
