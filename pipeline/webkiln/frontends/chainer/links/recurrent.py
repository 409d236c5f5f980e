"""Recurrent links that compute one step: LSTM, GRU and MGU."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.frontends.chainer.functions.activation import gates, lstm, sigmoid, tanh
from webkiln.frontends.chainer.functions.elementwise import linear_interpolate
from webkiln.frontends.chainer.functions.shape import concat
from webkiln.frontends.chainer.link import Chain
from webkiln.frontends.chainer.links.linear import Linear
from webkiln.frontends.chainer.links.states import Stateful
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, sizes


def _pair(in_size: Any, out_size: Any) -> tuple[Any, Any]:
    return (None, in_size) if out_size is None else (in_size, out_size)


def _lstm_links(
    link: Any, in_size: Any, out_size: int, lateral_init: Any = None, upward_init: Any = None
) -> None:
    with link.init_scope():
        link.upward = Linear(in_size, 4 * out_size, initialW=upward_init)
        link.lateral = Linear(out_size, 4 * out_size, nobias=True, initialW=lateral_init)
    link.state_size = out_size


class StatelessLSTM(Chain):
    def __init__(
        self,
        in_size: Any,
        out_size: Any = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        _lstm_links(self, *_pair(in_size, out_size), lateral_init, upward_init)

    def forward(self, c: Any, h: Any, x: Any) -> Any:
        x = as_variable(x)
        total = self.upward(x)
        if h is not None:
            total = node("Add", total, self.lateral(h))
        if c is None:
            c = node("Expand", np.asarray(0, x.dtype), sizes((x.shape[0], self.state_size)))
        return lstm(c, total)


class LSTM(Stateful):
    states = ("c", "h")

    def __init__(
        self,
        in_size: Any,
        out_size: Any = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        _lstm_links(self, *_pair(in_size, out_size), lateral_init, upward_init)

    def set_state(self, c: Any, h: Any) -> None:
        self.c, self.h = as_variable(c), as_variable(h)

    def cell(self, x: Any) -> tuple[Any, Any, Any]:
        """The gates' pre-activations and the previous cell."""
        x = as_variable(x)
        self.begin(x, self.state_size)
        total = self.upward(x)
        if self.h is not None:
            total = node("Add", total, self.lateral(self.h))
        return x, total, self.zeros(x, self.state_size) if self.c is None else self.c

    def forward(self, x: Any) -> Any:
        _, total, before = self.cell(x)
        self.c, self.h = lstm(before, total)
        return self.h


class StatefulZoneoutLSTM(LSTM):
    def __init__(
        self, in_size: int, out_size: int, c_ratio: float = 0.5, h_ratio: float = 0.5, **kwargs: Any
    ) -> None:
        super().__init__(in_size, out_size)


class StatefulPeepholeLSTM(LSTM):
    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        with self.init_scope():
            self.peep_i, self.peep_f, self.peep_o = (
                Linear(out_size, out_size, nobias=True) for _ in range(3)
            )

    def forward(self, x: Any) -> Any:
        _, total, before = self.cell(x)
        a, i, f, o = gates(total)
        i, f = (
            sigmoid(node("Add", i, self.peep_i(before))),
            sigmoid(node("Add", f, self.peep_f(before))),
        )
        self.c = node("Add", node("Mul", tanh(a), i), node("Mul", f, before))
        self.h = node("Mul", sigmoid(node("Add", o, self.peep_o(self.c))), tanh(self.c))
        return self.h


def _gru_links(
    link: Any, in_size: Any, out_size: int, init: Any, inner_init: Any, bias_init: Any
) -> None:
    with link.init_scope():
        for name in ("W_r", "W_z", "W"):
            setattr(link, name, Linear(in_size, out_size, initialW=init, initial_bias=bias_init))
        for name in ("U_r", "U_z", "U"):
            setattr(
                link, name, Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
            )


class StatelessGRU(Chain):
    def __init__(
        self,
        in_size: Any,
        out_size: int,
        init: Any = None,
        inner_init: Any = None,
        bias_init: Any = None,
    ) -> None:
        super().__init__()
        _gru_links(self, in_size, out_size, init, inner_init, bias_init)

    def forward(self, h: Any, x: Any) -> Any:
        h = as_variable(h)
        r = sigmoid(node("Add", self.W_r(x), self.U_r(h)))
        z = sigmoid(node("Add", self.W_z(x), self.U_z(h)))
        return linear_interpolate(z, tanh(node("Add", self.W(x), self.U(node("Mul", r, h)))), h)


class StatefulGRU(Stateful):
    """Before the first call, there is no state and the biases of U are not added. `on` is whether
    there was a call.
    """

    states = ("h", "on")

    def __init__(
        self,
        in_size: Any,
        out_size: int,
        init: Any = None,
        inner_init: Any = None,
        bias_init: Any = 0,
    ) -> None:
        super().__init__()
        _gru_links(self, in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size

    def set_state(self, h: Any) -> None:
        self.h = as_variable(h)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        self.begin(x, self.state_size)
        h, has_state = self.h, self.on
        z, new = self.W_z(x), self.W(x)
        if h is None:
            self.h = node("Mul", sigmoid(z), tanh(new))
        else:
            inner = [self.U_r(h), self.U_z(h)]
            r = sigmoid(node("Add", self.W_r(x), self._when(has_state, inner[0])))
            z = sigmoid(node("Add", z, self._when(has_state, inner[1])))
            new = tanh(node("Add", new, self._when(has_state, self.U(node("Mul", r, h)))))
            self.h = linear_interpolate(z, new, h)
        if has_state is not None:
            self.on = ChainVariable(np.ones(1, x.dtype))
        return self.h

    @staticmethod
    def _when(has_state: Any, value: ChainVariable) -> ChainVariable:
        return (
            value
            if has_state is None or has_state.known is not None
            else node("Mul", value, has_state)
        )


class GRU(StatefulGRU):
    pass


class StatelessMGU(Chain):
    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_f, self.W_h = (
                Linear(n_inputs + n_units, n_units),
                Linear(n_inputs + n_units, n_units),
            )

    def forward(self, h: Any, x: Any) -> Any:
        return _mgu(self, as_variable(h), x)


def _mgu(link: Any, h: ChainVariable, x: Any) -> ChainVariable:
    f = sigmoid(link.W_f(concat([h, x])))
    return linear_interpolate(f, tanh(link.W_h(concat([node("Mul", f, h), x]))), h)


class StatefulMGU(Stateful):
    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.state_size = out_size
        with self.init_scope():
            self.W_f, self.W_h = (
                Linear(in_size + out_size, out_size),
                Linear(in_size + out_size, out_size),
            )

    def set_state(self, h: Any) -> None:
        self.h = as_variable(h)

    def forward(self, x: Any) -> Any:
        x = as_variable(x)
        self.begin(x, self.state_size)
        self.h = _mgu(self, self.zeros(x, self.state_size) if self.h is None else self.h, x)
        return self.h


CELLS: Mapping[str, Callable[..., Any]] = {
    "LSTM": LSTM,
    "StatelessLSTM": StatelessLSTM,
    "StatefulZoneoutLSTM": StatefulZoneoutLSTM,
    "StatefulPeepholeLSTM": StatefulPeepholeLSTM,
    "GRU": GRU,
    "StatefulGRU": StatefulGRU,
    "StatelessGRU": StatelessGRU,
    "StatefulMGU": StatefulMGU,
    "StatelessMGU": StatelessMGU,
}
