"""The random numbers that layers draw inside `call`: an input of the bundle, and the same input of
Keras's own run.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from webkiln.ir.types import Array

Draw = Callable[[str, dict[str, Any]], Any]


@contextmanager
def replaced(draw: Draw) -> Iterator[None]:
    """Within, keras.random's functions give what `draw` gives for a function's name and its
    arguments, except while Keras infers shapes.
    """
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
                stack.enter_context(
                    patch.object(place, name, replacement(name, getattr(place, name)))
                )
        yield


@contextmanager
def fed(paths: Mapping[int, str], values: Mapping[tuple[str, int], Array]) -> Iterator[None]:
    """While Keras runs inside, each layer draws the given numbers: `values` by the layer's path and
    the number of the draw in one call.

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
