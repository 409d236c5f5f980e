"""What stands in for `chainer.config` and what sets it for a while."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class Configuration:
    """`train` is False: models are recorded for inference, unless their own code says otherwise."""

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
    """The one device that there is."""

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
    """What has its arrays on that device."""

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
    """What a script sets is forgotten at the end."""
    before = dict(vars(CONFIG))
    vars(CONFIG).update(vars(Configuration()))
    try:
        yield
    finally:
        vars(CONFIG).clear()
        vars(CONFIG).update(before)


@contextmanager
def nothing(*given: Any, **options: Any) -> Iterator[None]:
    """no_backprop_mode and its like."""
    yield
