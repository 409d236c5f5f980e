"""Recurrent links over lists of sequences."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions import recurrent
from webkiln.frontends.chainer.functions.recurrent import GRU as GRU_KIND
from webkiln.frontends.chainer.functions.recurrent import LSTM as LSTM_KIND
from webkiln.frontends.chainer.functions.recurrent import RELU, TANH, Kind
from webkiln.frontends.chainer.link import ChainList, Link
from webkiln.frontends.chainer.variable import Parameter


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
        *args: Any,
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

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """States (h, or h and c), which may be None, and a list of sequences [T, I]."""
        *states, xs = args
        if len(states) != self.kind.states:
            raise SourceError(
                f"{type(self).__name__} expects {self.kind.states} states and a list of sequences,"
                f" got {len(args)} arguments"
            )
        if not isinstance(xs, list | tuple):
            raise SourceError(
                f"{type(self).__name__} expects a list of sequences,"
                f" got one {type(xs).__name__}; put it into a list"
            )
        lasts, ys = recurrent.sequences(self.kind, xs, states, self.ws, self.bs, self.both)
        return (*lasts, ys)


def n_step(name: str, kind: Kind, *, both: bool) -> type[NStep]:
    return type(name, (NStep,), {"kind": kind, "both": both})


KINDS: Mapping[str, Kind] = {"LSTM": LSTM_KIND, "GRU": GRU_KIND, "RNNTanh": TANH, "RNNReLU": RELU}


SEQUENCES: Mapping[str, Callable[..., Any]] = {
    **{f"NStep{name}": n_step(f"NStep{name}", kind, both=False) for name, kind in KINDS.items()},
    **{f"NStepBi{name}": n_step(f"NStepBi{name}", kind, both=True) for name, kind in KINDS.items()},
}
