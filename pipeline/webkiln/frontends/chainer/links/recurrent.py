"""Recurrent links. States of stateful links become states of the bundle, unless the script resets
them in the call.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions import recurrent
from webkiln.frontends.chainer.functions.activation import gates, lstm, sigmoid, tanh, tree_lstm
from webkiln.frontends.chainer.functions.elementwise import linear_interpolate
from webkiln.frontends.chainer.functions.recurrent import GRU as GRU_KIND
from webkiln.frontends.chainer.functions.recurrent import LSTM as LSTM_KIND
from webkiln.frontends.chainer.functions.recurrent import RELU, TANH, Kind
from webkiln.frontends.chainer.functions.shape import concat, split_axis
from webkiln.frontends.chainer.link import Chain, ChainList, Link
from webkiln.frontends.chainer.links.shapes import Linear
from webkiln.frontends.chainer.recorder import ACTIVE, ChainRecorder
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, Parameter, as_variable, node, sizes


class Stateful(Chain):
    """`states` are the attributes that persist between calls; None before the first."""

    states: ClassVar[tuple[str, ...]] = ("h",)
    h: Any
    c: Any
    on: Any

    def __init__(self) -> None:
        super().__init__()
        self._begun: dict[str, Any] = {}
        self._is_kept = True
        for name in self.states:
            setattr(self, name, None)

    def reset_state(self) -> None:
        for name in self.states:
            setattr(self, name, None)
        self._is_kept = ACTIVE.recorder is None

    def begin(self, x: ChainVariable, size: int) -> None:
        """Declare states, if a run starts with those of the previous one."""
        if (
            not self._is_kept
            or ACTIVE.recorder is None
            or any(getattr(self, name) is not None for name in self.states)
        ):
            return
        if is_open(x.shape[0]):
            raise SourceError(
                f"{type(self).__name__} keeps its state from run to run, so that its batch has to"
                " have a number; give it in input_shapes, or call reset_state() at the beginning"
                " of the call"
            )
        for name in self.states:
            shape = (int(x.shape[0]), size) if name in ("h", "c") else (1,)
            self._begun[name] = np.zeros(shape, x.dtype)
            setattr(
                self,
                name,
                node("STATE", self._begun[name], domain="chainer", state=f"{self._path()}/{name}"),
            )

    def _path(self) -> str:
        return ACTIVE.current().links.get(id(self), "") or "state"

    def keep(self, recorder: ChainRecorder, path: str, domain: str) -> None:
        """Declare the next values of states, and forget the current ones."""
        for name, zeros in self._begun.items():
            value = getattr(self, name)
            last = as_variable(zeros if value is None else value)
            recorder.record(
                "SET_STATE", [last.tensor(recorder)], {"state": f"{path}/{name}"}, 0, domain
            )
        self._begun = {}
        self._is_kept = True
        for name in self.states:
            setattr(self, name, None)

    def zeros(self, x: ChainVariable, size: int) -> ChainVariable:
        return node("Expand", np.asarray(0, x.dtype), _shape(x.shape[0], size))


def _shape(*values: Any) -> ChainVariable:
    return sizes(values)


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
        *given: Any,
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
            c = node("Expand", np.asarray(0, x.dtype), _shape(x.shape[0], self.state_size))
        return lstm(c, total)


class LSTM(Stateful):
    states = ("c", "h")

    def __init__(
        self,
        in_size: Any,
        out_size: Any = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        *given: Any,
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
        h, on = self.h, self.on
        z, new = self.W_z(x), self.W(x)
        if h is None:
            self.h = node("Mul", sigmoid(z), tanh(new))
        else:
            inner = [self.U_r(h), self.U_z(h)]
            r = sigmoid(node("Add", self.W_r(x), self._when(on, inner[0])))
            z = sigmoid(node("Add", z, self._when(on, inner[1])))
            new = tanh(node("Add", new, self._when(on, self.U(node("Mul", r, h)))))
            self.h = linear_interpolate(z, new, h)
        if on is not None:
            self.on = ChainVariable(np.ones(1, x.dtype))
        return self.h

    @staticmethod
    def _when(on: Any, value: ChainVariable) -> ChainVariable:
        return value if on is None or on.known is not None else node("Mul", value, on)


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


class NStep(ChainList):
    """Layers and directions as links `0`, `1`, ... with parameters `w0`, `b0`, ..."""

    kind: ClassVar[Kind] = LSTM_KIND
    both: ClassVar[bool] = False

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *given: Any,
        initialW: Any = None,
        initial_bias: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.n_layers, self.out_size, self.dropout = n_layers, out_size, dropout
        self.direction = 2 if self.both else 1
        count = len(self.kind.order)
        for layer in range(n_layers):
            width = in_size if layer == 0 else out_size * self.direction
            for _ in range(self.direction):
                link = Link()
                with link.init_scope():
                    for number in range(2 * count):
                        setattr(
                            link,
                            f"w{number}",
                            Parameter(initialW, (out_size, width if number < count else out_size)),
                        )
                        setattr(
                            link,
                            f"b{number}",
                            Parameter(0 if initial_bias is None else initial_bias, out_size),
                        )
                self.add_link(link)

    @property
    def ws(self) -> list[list[Any]]:
        return self._rows("w")

    @property
    def bs(self) -> list[list[Any]]:
        return self._rows("b")

    def _rows(self, letter: str) -> list[list[Any]]:
        return [
            [getattr(link, f"{letter}{number}") for number in range(2 * len(self.kind.order))]
            for link in self
        ]

    def forward(self, *given: Any, **kwargs: Any) -> Any:
        """States (h, or h and c), which may be None, and a list of sequences [T, I]."""
        *states, xs = given
        if len(states) != self.kind.states:
            raise SourceError(
                f"{type(self).__name__} takes {self.kind.states} states and a list of sequences,"
                f" got {len(given)} arguments"
            )
        if not isinstance(xs, list | tuple):
            raise SourceError(
                f"{type(self).__name__} takes a list of sequences, got one {type(xs).__name__}; put"
                " it into a list"
            )
        lasts, ys = recurrent.sequences(self.kind, xs, states, self.ws, self.bs, self.both)
        return (*lasts, ys)


def n_step(name: str, kind: Kind, *, both: bool) -> type[NStep]:
    return type(name, (NStep,), {"kind": kind, "both": both})


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
    given: Sequence[Any], size: int, in_size: int
) -> tuple[list[ChainVariable], list[ChainVariable], ChainVariable]:
    """The cells and outputs of the children, zeros if absent, and the input."""
    present = next((as_variable(item) for item in given if item is not None), None)
    if present is None:
        raise SourceError("a tree LSTM without any input")

    def filled(item: Any, width: int) -> ChainVariable:
        return (
            node("Expand", np.asarray(0, present.dtype), _shape(present.shape[0], width))
            if item is None
            else as_variable(item)
        )

    count = len(given) // 2
    return (
        [filled(c, size) for c in given[:count]],
        [filled(h, size) for h in given[count:-1]],
        filled(given[-1], in_size),
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


KINDS: Mapping[str, Kind] = {"LSTM": LSTM_KIND, "GRU": GRU_KIND, "RNNTanh": TANH, "RNNReLU": RELU}
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
    "ChildSumTreeLSTM": ChildSumTreeLSTM,
    "NaryTreeLSTM": NaryTreeLSTM,
    **{f"NStep{name}": n_step(f"NStep{name}", kind, both=False) for name, kind in KINDS.items()},
    **{f"NStepBi{name}": n_step(f"NStepBi{name}", kind, both=True) for name, kind in KINDS.items()},
}
