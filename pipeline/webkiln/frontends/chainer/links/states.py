"""States of links. They become states of the bundle, unless the script resets them in the call."""

from typing import Any, ClassVar

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.link import Chain
from webkiln.frontends.chainer.recorder import ACTIVE, ChainRecorder
from webkiln.frontends.chainer.sizes import is_open
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, sizes


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
                f"{type(self).__name__} keeps its state between runs, which needs a fixed batch"
                " size; set it in input_shapes, or call reset_state() at the start of the call"
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
        return node("Expand", np.asarray(0, x.dtype), sizes((x.shape[0], size)))
