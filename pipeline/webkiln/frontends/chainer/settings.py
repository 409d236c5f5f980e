"""A replacement for `chainer.config` and its context managers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class Configuration:
    """The configuration. `train` is False, since models are recorded for inference, unless user
    code changes it.
    """

    def __init__(self) -> None:
        self.train = False
        self.enable_backprop = self.debug = self.keep_graph_on_report = self.type_check = False
        self.dtype = np.float32
        self.use_cudnn = self.use_ideep = "never"
        self.autotune = self.cudnn_deterministic = self.compute_mode = self.in_recomputing = (
            self.lazy_grad_sum
        ) = False

    def show(self) -> None:
        pass


CONFIG = Configuration()


class Cpu:
    """The only device."""

    name = "@numpy"
    xp = np

    def use(self) -> None:
        pass

    def send(self, arrays: Any) -> Any:
        return arrays

    def __str__(self) -> str:
        return self.name


CPU = Cpu()


class OnCpu:
    """An object whose arrays are on this device."""

    @property
    def xp(self) -> Any:
        return np

    @property
    def device(self) -> Any:
        return CPU


@contextmanager
def using_config(name: str, value: Any, config: Any = None) -> Iterator[None]:
    chosen = config or CONFIG
    before = getattr(chosen, name, None)
    setattr(chosen, name, value)
    try:
        yield
    finally:
        setattr(chosen, name, before)


@contextmanager
def usual_config() -> Iterator[None]:
    """Restore the settings at the end of the block."""
    before = dict(vars(CONFIG))
    vars(CONFIG).update(vars(Configuration()))
    try:
        yield
    finally:
        vars(CONFIG).clear()
        vars(CONFIG).update(before)


@contextmanager
def nothing(*args: Any, **options: Any) -> Iterator[None]:
    """no_backprop_mode and similar context managers."""
    yield
