"""A pytest plugin that records every outermost call of a layer or of keras.ops with dense numbers
while the tests of Keras run.

    python -m pytest -p tests.conformance.keras.record --record FILE keras/src/ops/nn_test.py

Calls that raise an error are not recorded. Calls that differ in the values of tensors only are
recorded once.
"""

import functools
import importlib
import inspect
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src import backend, tree
from keras.src.ops.operation import Operation

MODULES = ("core", "einops", "image", "linalg", "math", "nn", "numpy")
"""Modules of keras.ops whose functions are recorded."""
HELPERS = frozenset(
    {
        "convert_to_numpy",
        "convert_to_tensor",
        "device",
        "dtype",
        "is_tensor",
        "shape",
        "unstack_shape",
    }
)
"""Functions that compute nothing."""


@dataclass(frozen=True)
class Call:
    """`kind` is "layer", "function" or "operation" (a class of keras.ops). `made` recreates the
    layer or operation: its serialised form, or class and arguments; for a function it is the
    module. In `args` and `kwargs` tensors are numpy arrays. `test` is the first test with this
    call.
    """

    kind: str
    name: str
    made: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    test: str


@dataclass
class Recorder:
    calls: dict[bytes, Call] = field(default_factory=dict)
    left: dict[str, dict[str, int]] = field(default_factory=dict)
    """Why calls are not models of dense numbers: name -> reason -> count."""
    test: str = ""
    depth: int = 0

    @contextmanager
    def inside(self) -> Iterator[bool]:
        """Whether a call that begins here is an outermost one. Inner calls are not recorded."""
        outermost, self.depth = (
            self.depth == 0 and bool(self.test) and tf.executing_eagerly(),
            self.depth + 1,
        )
        try:
            yield outermost
        finally:
            self.depth -= 1

    def note(
        self,
        kind: str,
        name: str,
        made: Callable[[], Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        try:
            given = plain((list(args), kwargs))
            call = Call(kind, name, plain(made()), tuple(given[0]), given[1], self.test)
            signature = pickle.dumps((kind, name, call.made, tree.map_structure(outline, given)))
        except Left as error:
            self.leave(name, str(error))
        except Exception as error:  # noqa: BLE001  # a test may hand anything to a layer
            self.leave(name, f"an argument or setting that cannot be kept ({type(error).__name__})")
        else:
            if any(isinstance(leaf, np.ndarray) for leaf in tree.flatten(given)):
                self.calls.setdefault(signature, call)
            else:
                self.leave(name, "no tensor among its arguments")

    def leave(self, name: str, reason: str) -> None:
        reasons = self.left.setdefault(name, {})
        reasons[reason] = reasons.get(reason, 0) + 1


class Left(Exception):
    """Why a call is not a model of dense numbers."""


def plain(value: Any) -> Any:
    """Tensors as numpy arrays, inside plain lists, tuples and dicts; other values are unchanged."""
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        return [*map(plain, value)]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, keras.KerasTensor):
        raise Left("symbolic")
    if isinstance(value, tf.SparseTensor | tf.RaggedTensor | tf.IndexedSlices):
        raise Left("sparse or ragged")
    if isinstance(value, keras.Variable):
        value = value.value
    if isinstance(value, np.ndarray | np.generic) or backend.is_tensor(value):
        array = np.asarray(backend.convert_to_numpy(value) if backend.is_tensor(value) else value)
        if array.dtype.name == "bfloat16" or array.dtype.kind in "fiub":
            return array
        raise Left("strings" if array.dtype.kind in "SUO" else f"dtype {array.dtype}")
    if callable(value) and not isinstance(value, type):
        raise Left("takes a function")
    return value


def outline(value: Any) -> Any:
    return (
        ("array", value.shape, value.dtype.name) if isinstance(value, np.ndarray) else repr(value)
    )


RECORDER = Recorder()


def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with RECORDER.inside() as outermost:
            result = function(*args, **kwargs)
        if outermost:
            RECORDER.note("function", name, lambda: function.__module__, args, kwargs)
        return result

    return wrapper


def watch_functions() -> None:
    for part in MODULES:
        module = importlib.import_module(f"keras.src.ops.{part}")
        public = [keras.ops, getattr(keras.ops, part, keras.ops)]
        for name, function in list(vars(module).items()):
            if (
                name in HELPERS
                or not inspect.isfunction(function)
                or not any(getattr(place, name, None) is function for place in public)
            ):
                continue
            wrapper = watched(name, function)
            for place in (module, importlib.import_module("keras.src.ops"), *public):
                if getattr(place, name, None) is function:
                    setattr(place, name, wrapper)


def watch_classes() -> None:
    layer_call, operation_call = keras.layers.Layer.__call__, Operation.__call__

    def call_layer(self: Any, *args: Any, **kwargs: Any) -> Any:
        with RECORDER.inside() as outermost:
            result = layer_call(self, *args, **kwargs)
        if outermost:
            RECORDER.note("layer", type(self).__name__, lambda: made_layer(self), args, kwargs)
        return result

    def call_operation(self: Any, *args: Any, **kwargs: Any) -> Any:
        with RECORDER.inside() as outermost:
            result = operation_call(self, *args, **kwargs)
        if outermost:
            kind = type(self)
            RECORDER.note(
                "operation",
                kind.__name__,
                lambda: (
                    kind.__module__,
                    kind.__name__,
                    keras.saving.serialize_keras_object(self.get_config()),
                ),
                args,
                kwargs,
            )
        return result

    keras.layers.Layer.__call__ = call_layer
    Operation.__call__ = call_operation


def made_layer(layer: Any) -> Any:
    if isinstance(layer, keras.Model):
        raise Left("a model, not a layer")
    if not type(layer).__module__.startswith("keras.") or type(layer).__module__.endswith("_test"):
        raise Left("a class of the test")
    return keras.saving.serialize_keras_object(layer)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", type=Path, required=True, help="the file that calls are written to"
    )


def pytest_configure(config: pytest.Config) -> None:
    stand_in()
    watch_functions()
    watch_classes()


def stand_in() -> None:
    """Modules that the tests of Keras import but its wheel does not contain: the conftest of its
    repository, and a reader of data sets.
    """
    conftest = ModuleType("conftest")
    vars(conftest)["skip_if_backend"] = lambda name, reason: pytest.mark.skipif(
        name == "tensorflow", reason=reason
    )
    sys.modules["conftest"] = conftest
    sys.modules["grain"] = MagicMock()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    RECORDER.test = item.nodeid
    try:
        return (yield)
    finally:
        RECORDER.test = ""


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = session.config.getoption("--record")
    path.write_bytes(pickle.dumps((list(RECORDER.calls.values()), RECORDER.left)))
