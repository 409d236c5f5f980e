"""The constructor arguments of layers and operations in memory, as JSON."""

import inspect
import json
from typing import Any

import keras
import numpy as np
from keras.src import backend

from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.literals import literal
from webkiln.frontends.keras.texts import LOOKUPS, text_options


def policy_config(layer: Any, *, own: bool) -> dict[str, Any]:
    """The dtype that a layer casts its inputs to, if it is not float32, whether its `get_config`
    has it or not.
    """
    policy = layer.dtype_policy.name
    return ({} if policy == "float32" else {"dtype": policy}) | (
        {} if own or layer.autocast else {"autocast": False}
    )


def has_foreign_activation(layer: Any) -> bool:
    """Whether a Keras layer has a user-defined function as its activation, which makes it a
    user-defined layer.
    """
    activation = getattr(layer, "activation", None)
    return inspect.isfunction(activation) and activation.__module__.split(".")[0] != "keras"


def config_of(operation: Any) -> dict[str, Any]:
    """A config as JSON. A user-defined class without get_config has none."""
    try:
        config = keras.saving.serialize_keras_object(operation)["config"]
    except (NotImplementedError, TypeError, ValueError, AttributeError):
        return {}
    result = {}
    for key, value in configs.clean(config).items():
        try:
            result[key] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            continue
    return result


def operation_settings(operation: Any) -> tuple[dict[str, Any], list[str]]:
    """The constructor arguments of an operation, and the names of those that are tensors, which
    are omitted.
    """
    names = [
        name
        for name in inspect.signature(type(operation).__init__).parameters
        if name not in {"self", "name"} and hasattr(operation, name)
    ]
    values = {name: getattr(operation, name) for name in names}
    tensors = [
        name
        for name, value in values.items()
        if any(isinstance(item, keras.KerasTensor) for item in keras.tree.flatten(value))
    ]
    config = config_of(operation)
    missing = {
        name: keras.tree.map_structure(_setting, value)
        for name, value in values.items()
        if name not in config and name not in tensors
    }
    return config | missing, tensors


def _setting(value: Any) -> Any:
    """One constructor argument of an operation."""
    if hasattr(value, "as_list"):
        return value.as_list()
    array = isinstance(value, np.ndarray | np.generic) or backend.is_tensor(value)
    return keras.ops.convert_to_numpy(value).tolist() if array else literal(value)


def tables_of(layer: Any) -> dict[str, Any]:
    """The learned state of a lookup layer, which is not in its config."""
    kind = type(layer).__name__
    if type(layer).__module__.split(".")[0] != "keras" or kind not in {"IntegerLookup", *LOOKUPS}:
        return {}
    options, table = (
        text_options(layer.get_config()) if kind in LOOKUPS else {},
        getattr(layer, "_lookup_layer", layer),
    )
    if table.lookup_table.size() == 0:
        return options
    weights = (
        {"idf_weights": table.idf_weights_const.numpy().tolist()}
        if table.output_mode == "tf_idf"
        else {}
    )
    tokens = table.get_vocabulary(include_special_tokens=False)
    return {
        **options,
        "vocabulary": list(map(str, tokens)) if kind in LOOKUPS else list(map(int, tokens)),
        **weights,
    }
