"""What Keras would import or execute when it loads a config."""

from collections.abc import Iterator, Mapping
from typing import Any

from webkiln.frontends.keras.layers.retired import RETIRED
from webkiln.frontends.keras.spec import FUNCTION
from webkiln.frontends.keras.supported import LAMBDA, UNKNOWN, lambda_hint
from webkiln.frontends.keras.training import is_for_training

NO_REFERENCE = "Keras 3 does not load it, so there are no reference outputs to verify it against"
GONE = frozenset(RETIRED)
"""Classes of older versions that are read here although Keras no longer has them."""
FUNCTION_PACKAGES = frozenset(
    {"activations", "ops", "initializers", "regularizers", "constraints", "losses", "metrics"}
)
"""Modules of Keras functions that compute. Others download, write files or change settings, and a
layer would call them.
"""


def by_class(keras: Any) -> dict[str, Any]:
    """Registered objects by class name alone, as in files that were saved without registration."""
    return {
        name.rpartition(">")[-1]: made for name, made in keras.saving.get_custom_objects().items()
    }


def refused(config: Any, keras: Any, layer: str = "") -> Iterator[tuple[str, str, str]]:
    """(where, what, hint) for every class and function in a config that Keras would import or
    execute.
    """
    if isinstance(config, list):
        for item in config:
            yield from refused(item, keras, layer)
    if not isinstance(config, Mapping):
        return
    class_name = config.get("class_name")
    inner = config.get("config")
    if isinstance(class_name, str):
        name = inner.get("name") if isinstance(inner, Mapping) else None
        where = f"{name} ({class_name})" if isinstance(name, str) else layer
        if class_name == "Lambda":
            yield where, LAMBDA, lambda_hint(str(name), inner)
            return
        if class_name == "__lambda__" or not _is_known(
            config, keras, is_layer=isinstance(name, str)
        ):
            culprit = str(inner if class_name == "function" else class_name)
            if culprit in GONE or culprit.startswith(FUNCTION):
                yield (
                    where,
                    NO_REFERENCE,
                    (
                        "Build it (webkiln build), or load it in the program that wrote it, and"
                        " save it as .keras"
                    ),
                )
                return
            what = (
                UNKNOWN
                if culprit in where
                else f"{culprit} is not a computation of Keras and never imported"
            )
            yield where, what, f"Pass --plugin FILE.py that registers {culprit!r}"
        layer = where
    for key, value in config.items():
        if not is_for_training(key, value):
            yield from refused(value, keras, layer)


def _is_known(config: Mapping[str, Any], keras: Any, *, is_layer: bool) -> bool:
    if config["class_name"] == "function":
        name = config.get("config")
    else:
        name = (
            config["class_name"] if config.get("module") is None else config.get("registered_name")
        )
    if (
        keras is not None
        and isinstance(name, str)
        and name in {*keras.saving.get_custom_objects(), *by_class(keras)}
    ):
        return True
    module = config.get("module")
    if module is None:
        places = (keras.layers, keras.models, keras.ops) if keras is not None else ()
        own = (
            not places
            or config["class_name"] == "Functional"
            or any(hasattr(place, config["class_name"]) for place in places)
        )
        return own or not is_layer
    root, *inner = str(module).split(".")
    package = next((part for part in inner if part != "src"), "")
    return root == "keras" and (config["class_name"] != "function" or package in FUNCTION_PACKAGES)


def lambdas_in(config: Any) -> list[tuple[str, str, str]]:
    """(where, what, hint) for every Lambda layer in a config."""
    return [item for item in refused(config, None) if item[1] == LAMBDA]
