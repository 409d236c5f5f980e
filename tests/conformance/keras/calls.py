"""Recorded calls as models: an input for every tensor argument, random weights, and the outputs of
Keras.
"""

import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras.src import backend, tree

from tests.conformance.keras.record import Call
from tests.frontends.keras.cases import randomise
from webkiln.frontends.keras.policies import storable

UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-24}
"""The unit roundoff: half of the distance from 1 to the next number."""


class NoModel(Exception):
    """Why a call cannot be a model at inference."""


@dataclass(frozen=True)
class Expected:
    """The outputs of Keras for `inputs`: values in the order of the model, the dtypes that it
    declares, and the largest change of each output if the inputs change by the unit roundoff of the
    computed dtype.
    """

    inputs: Mapping[str, np.ndarray]
    outputs: Sequence[np.ndarray]
    dtypes: Sequence[str]
    noise: Sequence[float]


def rebuild(call: Call) -> tuple[Any, Expected]:
    """The call as a model, and its outputs. Raises NoModel if Keras cannot build it."""
    if call.kwargs.get("training") is True:
        raise NoModel("trains")
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target = made(call)
            expected = eager(target, call)
        except Exception as error:
            raise NoModel(
                f"Keras does not take it again: {type(error).__name__}: {short(error)}"
            ) from error
        found = [value for value in tree.flatten(expected) if backend.is_tensor(value)]
        if not found:
            raise NoModel("gives no tensor")
        if call.kind == "layer":
            randomise(target)
            found = results(target, call)
        outputs = [as_numpy(value) for value in found]
        if any(value.dtype.kind not in "fiub" for value in outputs):
            raise NoModel(f"gives {', '.join(sorted({value.dtype.name for value in outputs}))}")
        model, inputs = symbolic(target, call)
        if len(model.outputs) != len(outputs):
            raise NoModel(
                f"a model of it has {len(model.outputs)} outputs, the call {len(outputs)}"
            )
        outputs = [value.astype(storable(value.dtype.name)) for value in outputs]
        unit = max((UNITS.get(output.dtype, 0.0) for output in model.outputs), default=0.0)
        moved = [
            [as_numpy(value) for value in results(target, call, unit * way)] for way in (-1, 1)
        ]
    noise = [
        max((distance(value, other[index]) for other in moved), default=0.0)
        for index, value in enumerate(outputs)
    ]
    given = {name: value.astype(storable(value.dtype.name)) for name, value in inputs.items()}
    return model, Expected(given, outputs, [output.dtype for output in model.outputs], noise)


def results(target: Any, call: Call, amount: float = 0.0) -> list[Any]:
    """The outputs of a call of a fresh layer if each element of the inputs is increased or
    decreased by this relative amount.
    """
    for layer in target._flatten_layers() if call.kind == "layer" else ():
        if isinstance(layer, keras.layers.RNN) and layer.stateful:
            for state in tree.flatten(layer.states or []):
                state.assign(np.zeros(state.shape))
    generator = np.random.default_rng(2)

    def move(array: np.ndarray) -> np.ndarray:
        if not amount or array.dtype.kind != "f":
            return array
        return (array * (1 + amount * generator.choice([-1, 1], array.shape))).astype(array.dtype)

    args, kwargs = mapped((call.args, call.kwargs), move)
    inputs = Call(call.kind, call.name, call.made, args, kwargs, call.test)
    return [value for value in tree.flatten(eager(target, inputs)) if backend.is_tensor(value)]


def distance(a: np.ndarray, b: np.ndarray) -> float:
    if a.dtype.kind != "f" or a.shape != b.shape:
        return 0.0
    with np.errstate(invalid="ignore"):  # infinities that are equal
        difference = np.abs(a.astype("float64") - b.astype("float64"))
    return float(np.nan_to_num(difference, posinf=0.0).max(initial=0.0))


def made(call: Call) -> Any:
    """The layer, function or operation that is called."""
    if call.kind == "function":
        return getattr(importlib.import_module(call.made), call.name)
    if call.kind == "layer":
        return keras.saving.deserialize_keras_object(call.made, safe_mode=False)
    module, name, config = call.made
    return getattr(importlib.import_module(module), name).from_config(
        keras.saving.deserialize_keras_object(config)
    )


def eager(target: Any, call: Call) -> Any:
    """The result at inference, also of a layer whose `call` trains by default."""
    args, kwargs = mapped((call.args, call.kwargs), keras.ops.convert_to_tensor)
    if call.kind == "layer" and target._call_has_training_arg:
        kwargs = {**kwargs, "training": False}
    return target(*args, **kwargs)


def symbolic(target: Any, call: Call) -> tuple[Any, dict[str, np.ndarray]]:
    """The functional model, and its inputs by name. If Keras accepts some arrays as constants only,
    the first array is the input.
    """
    reasons = []
    for count in (None, 1):
        try:
            return functional(target, call, count)
        except Exception as error:  # noqa: BLE001  # Keras refuses in any way
            reasons.append(f"{type(error).__name__}: {short(error)}")
    raise NoModel(f"Keras makes no model of it: {reasons[0]}")


def functional(target: Any, call: Call, count: int | None) -> tuple[Any, dict[str, np.ndarray]]:
    """The model with the first `count` arrays of a call as inputs."""
    inputs: dict[str, np.ndarray] = {}
    starts: list[Any] = []

    def start(array: np.ndarray) -> Any:
        if len(starts) == count:
            return array
        name = f"input_{len(starts)}"
        inputs[name] = array
        starts.append(keras.Input(batch_shape=array.shape, dtype=array.dtype.name, name=name))
        return starts[-1]

    args, kwargs = mapped((call.args, call.kwargs), start)
    found = [
        value
        for value in tree.flatten(target(*args, **kwargs))
        if isinstance(value, keras.KerasTensor)
    ]
    return keras.Model(starts, found), inputs


def mapped(value: Any, change: Any) -> Any:
    if isinstance(value, np.ndarray):
        return change(value)
    if isinstance(value, list | tuple):
        return type(value)(mapped(item, change) for item in value)
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    return value


def as_numpy(value: Any) -> np.ndarray:
    half = backend.standardize_dtype(value.dtype) == "bfloat16"
    return np.asarray(backend.convert_to_numpy(backend.cast(value, "float32") if half else value))


def short(error: Exception) -> str:
    return " ".join(str(error).split())[:120]
