"""A replacement for `chainer.initializers`. Random values must be loaded from a snapshot."""

from typing import Any

import numpy as np

from webkiln.ir.types import Array


class Initial:
    """Initial values. Those of a `random` initializer are undefined."""

    def __init__(self, value: Any = None, dtype: Any = None) -> None:
        self.value, self.dtype = value, dtype
        self.initial_array: Array | None = None

    @property
    def is_random(self) -> bool:
        return self.value is None

    def array(self, shape: tuple[int, ...]) -> Array:
        dtype = np.float32 if self.dtype is None else self.dtype
        if callable(self.value):
            array = np.zeros(shape, dtype)
            result = self.value(array)
            return np.array(array if result is None else result, dtype)
        if self.value is not None:
            return np.array(np.broadcast_to(np.asarray(self.value, dtype), shape))
        self.initial_array = np.zeros(shape, dtype)
        return np.zeros(shape, dtype)

    def is_untouched(self, array: Array) -> bool:
        return self.initial_array is not None and np.array_equal(self.initial_array, array)

    def __call__(self, array: Array) -> None:
        array[...] = self.array(array.shape)


def initial_of(value: Any) -> Initial:
    """The initializer for an argument: None (random, Chainer's default), a number, an array or a
    function.
    """
    if isinstance(value, Initial):
        return Initial(value.value, value.dtype)
    if isinstance(value, np.ndarray):
        return Initial(value, value.dtype)
    return Initial(value)


class RandomInitial(Initial):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(None, options.get("dtype"))


class ConstantInitial(Initial):
    def __init__(self, fill_value: Any, dtype: Any = None) -> None:
        super().__init__(fill_value, dtype)


class IdentityInitial(Initial):
    def __init__(self, scale: float = 1.0, dtype: Any = None) -> None:
        super().__init__(lambda array: np.eye(*array.shape) * scale, dtype)


def zero(dtype: Any = None) -> Initial:
    return Initial(0.0, dtype)


def one(dtype: Any = None) -> Initial:
    return Initial(1.0, dtype)


def nan(dtype: Any = None) -> Initial:
    return Initial(float("nan"), dtype)


def generate_array(
    initializer: Any, shape: tuple[int, ...], xp: Any, dtype: Any = None, device: Any = None
) -> Array:
    return initial_of(initializer).array(shape)


RANDOM = (
    "Normal",
    "LeCunNormal",
    "GlorotNormal",
    "HeNormal",
    "Orthogonal",
    "Uniform",
    "LeCunUniform",
    "GlorotUniform",
    "HeUniform",
    "UpsamplingDeconvFilter",
    "DownsamplingConvFilter",
)
NAMES: dict[str, Any] = {
    **dict.fromkeys(RANDOM, RandomInitial),
    "Constant": ConstantInitial,
    "Identity": IdentityInitial,
    "Zero": zero,
    "One": one,
    "NaN": nan,
    "Initializer": Initial,
    "generate_array": generate_array,
}
