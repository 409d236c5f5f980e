"""What layers and operations in memory were made with, as JSON says it."""

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
    """What a layer casts its inputs to, where that is not to float32, whether its `get_config` says
    it or not.
    """
    policy = layer.dtype_policy.name
    return ({} if policy == "float32" else {"dtype": policy}) | (
        {} if own or layer.autocast else {"autocast": False}
    )


def has_foreign_activation(layer: Any) -> bool:
    """Whether a layer of Keras's calls a function of the user's as its activation, which makes it a
    layer of the user's.
    """
    activation = getattr(layer, "activation", None)
    return inspect.isfunction(activation) and activation.__module__.split(".")[0] != "keras"


def config_of(operation: Any) -> dict[str, Any]:
    """What JSON can say of a config; a class of the user without get_config has none."""
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


def setting(value: Any) -> Any:
    """One value among what an operation was made with."""
    if hasattr(value, "as_list"):
        return value.as_list()
    array = isinstance(value, np.ndarray | np.generic) or backend.is_tensor(value)
    return keras.ops.convert_to_numpy(value).tolist() if array else literal(value)


def tables_of(layer: Any) -> dict[str, Any]:
    """What a lookup has learnt, which its config does not say."""
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
