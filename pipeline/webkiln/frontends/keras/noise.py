"""Random numbers that layers draw inside `call`: inputs of the bundle, and the same values in
Keras's reference run.
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
    """In the block, keras.random's functions return `draw(name, arguments)`, except during shape
    inference.
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
    """While Keras runs in the block, each layer draws these numbers: `values` by the layer's
    path and the draw's number in a call.

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
