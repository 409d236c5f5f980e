"""Recorded calls as models: each with an input for every tensor it was given, random weights, and what Keras itself gives for them."""

import importlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras.src import backend, tree

from tests.conformance.keras.record import Call


class NoModel(Exception):
    """Why a call is no model that runs at inference."""


@dataclass(frozen=True)
class Rebuilt:
    """A call as a model; `outputs` are what Keras gives for `inputs`, in the order of the model's outputs."""

    call: Call
    model: Any
    inputs: Mapping[str, np.ndarray]
    outputs: list[np.ndarray]


def rebuild(call: Call) -> Rebuilt:
    """NoModel where Keras does not make one."""
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target = made(call)
            expected = eager(target, call)
        except Exception as error:
            raise NoModel(f"Keras does not take it again: {type(error).__name__}: {short(error)}") from error
        found = [value for value in tree.flatten(expected) if backend.is_tensor(value)]
        if not found:
            raise NoModel("gives no tensor")
        if call.kind == "layer":
            randomise(target)
            found = [value for value in tree.flatten(eager(target, call)) if backend.is_tensor(value)]
        outputs = [as_numpy(value) for value in found]
        if any(value.dtype.kind not in "fiub" for value in outputs):
            raise NoModel(f"gives {', '.join(sorted({value.dtype.name for value in outputs}))}")
        model, inputs = symbolic(target, call)
    if len(model.outputs) != len(outputs):
        raise NoModel(f"a model of it has {len(model.outputs)} outputs, the call {len(outputs)}")
    return Rebuilt(call, model, inputs, outputs)


def made(call: Call) -> Any:
    """What is called."""
    if call.kind == "function":
        return getattr(keras.ops, call.name)
    if call.kind == "layer":
        return keras.saving.deserialize_keras_object(call.made, safe_mode=False)
    module, name, config = call.made
    return getattr(importlib.import_module(module), name).from_config(keras.saving.deserialize_keras_object(config))


def eager(target: Any, call: Call) -> Any:
    args, kwargs = mapped((call.args, call.kwargs), keras.ops.convert_to_tensor)
    return target(*args, **kwargs)


def symbolic(target: Any, call: Call) -> tuple[Any, dict[str, np.ndarray]]:
    """The functional model, and its inputs by name. Where Keras takes some arrays only as they are, the first is the input."""
    reason = ""
    for all_of_them in (True, False):
        inputs: dict[str, np.ndarray] = {}
        starts: list[Any] = []

        def start(array: np.ndarray) -> Any:
            if starts and not all_of_them:  # noqa: B023
                return array
            name = f"input_{len(starts)}"  # noqa: B023
            inputs[name] = array  # noqa: B023
            starts.append(keras.Input(batch_shape=array.shape, dtype=array.dtype.name, name=name))  # noqa: B023
            return starts[-1]  # noqa: B023

        try:
            args, kwargs = mapped((call.args, call.kwargs), start)
            results = [value for value in tree.flatten(target(*args, **kwargs)) if isinstance(value, keras.KerasTensor)]
            return keras.Model(starts, results), inputs
        except Exception as error:  # noqa: BLE001  # Keras refuses in any way
            reason = reason or f"{type(error).__name__}: {short(error)}"
    raise NoModel(f"Keras makes no model of it: {reason}")


def randomise(layer: Any) -> None:
    """Floats that matter; variances stay positive."""
    generator = np.random.default_rng(1)
    for variable in layer.weights:
        if keras.backend.is_float_dtype(variable.dtype) and "seed" not in variable.name:
            low = 0.5 if "variance" in variable.name else -0.7
            variable.assign(generator.uniform(low, 0.9 + low * 0.2, size=variable.shape))


def mapped(value: Any, change: Any) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value


def as_numpy(value: Any) -> np.ndarray:
    array = np.asarray(backend.convert_to_numpy(value))
    return array.astype("float32") if array.dtype.name == "bfloat16" else array


def short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
