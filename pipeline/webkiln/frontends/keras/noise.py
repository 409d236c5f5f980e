"""The random numbers that layers draw inside `call`: an input of the bundle, and the same input of Keras's own run."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from webkiln.ir.types import Array

DISTRIBUTIONS = {
    "normal": ("mean", "stddev"),
    "truncated_normal": ("mean", "stddev"),
    "uniform": ("minval", "maxval"),
    "randint": ("minval", "maxval"),
}
"""Functions of keras.random with the names of their parameters: `normal` cut at two deviations, `uniform` and `randint` without maxval."""

CUT = 2.0

Draw = Callable[[str, dict[str, Any]], Any]


def sample(distribution: str, parameters: Mapping[str, float], shape: tuple[int, ...], dtype: str, seed: int) -> Array:
    """Numbers of a distribution, the same on every machine."""
    generator = np.random.default_rng(seed)
    first, second = (parameters[name] for name in DISTRIBUTIONS[distribution])
    if distribution == "uniform":
        return generator.uniform(first, second, shape).astype(dtype)
    if distribution == "randint":
        return generator.integers(int(first), int(second), shape).astype(dtype)
    values = generator.standard_normal(shape)
    while distribution == "truncated_normal" and (far := np.abs(values) > CUT).any():
        values = np.where(far, generator.standard_normal(shape), values)
    return np.asarray(first + second * values).astype(dtype)


@contextmanager
def replaced(draw: Draw) -> Iterator[None]:
    """Within, keras.random's functions give what `draw` gives for a function's name and its arguments, except while Keras infers shapes."""
    import keras
    from keras.src import backend

    def replacement(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        def random(*args: Any, **kwargs: Any) -> Any:
            if backend.in_symbolic_scope():
                return function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return draw(name, bound.arguments)

        return random

    with ExitStack() as stack:
        names = [name for name, value in vars(keras.random).items() if inspect.isfunction(value)]
        for place in (keras.random, backend.random):
            for name in names:
                stack.enter_context(patch.object(place, name, replacement(name, getattr(place, name))))
        yield


@contextmanager
def fed(paths: Mapping[int, str], values: Mapping[tuple[str, int], Array]) -> Iterator[None]:
    """While Keras runs inside, each layer draws the given numbers: `values` by the layer's path and the number of the draw in one call.

    `paths` has the path of each layer by its id.
    """
    import keras

    call = keras.layers.Layer.__call__
    running: list[tuple[str, list[str]]] = []

    def follow(layer: Any, *args: Any, **kwargs: Any) -> Any:
        running.append((paths.get(id(layer), ""), []))
        try:
            return call(layer, *args, **kwargs)
        finally:
            running.pop()

    def draw(name: str, arguments: dict[str, Any]) -> Any:
        path, drawn = running[-1]
        drawn.append(name)
        dtype = keras.backend.standardize_dtype(arguments["dtype"])
        unused = np.zeros(arguments["shape"])
        return keras.ops.convert_to_tensor(values.get((path, len(drawn) - 1), unused), dtype)

    with patch.object(keras.layers.Layer, "__call__", follow), replaced(draw):
        yield
