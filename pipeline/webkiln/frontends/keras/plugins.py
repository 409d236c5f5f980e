"""Plugins: Python files of the user that define Keras classes, converter handlers, or both."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from webkiln.frontends.keras.registered_handlers import REGISTERED, registered_handler
from webkiln.frontends.keras.spec import ModelSpec
from webkiln.ops.operator import DEFINED
from webkiln.plugins import PREFIX, importable


@contextmanager
def isolated(modules: Path | None = None) -> Iterator[None]:
    """What plugins register inside is forgotten at the end, and nothing registered or named before
    is
    seen: a stage depends on its inputs alone. Modules below the folder `modules` can be imported
    inside.
    """
    # By name, so that the keys of stages that convert nothing do not hold the operators; without it
    # a plugin's own import would define them here.
    importlib.import_module("webkiln.ops.table")
    handlers, operators = dict(REGISTERED), dict(DEFINED)
    plugins = {name: module for name, module in sys.modules.items() if name.startswith(PREFIX)}
    keras = sys.modules.get("keras")
    classes = dict(keras.saving.get_custom_objects()) if keras is not None else {}
    if keras is not None:
        keras.utils.clear_session(free_memory=False)
    _replace_all({}, {}, {})
    try:
        with importable(modules):
            yield
    finally:
        _replace_all(handlers, plugins, classes)
        DEFINED.clear()
        DEFINED.update(operators)


def _replace_all(
    handlers: dict[Any, Any], modules: dict[str, ModuleType], classes: dict[str, Any]
) -> None:
    REGISTERED.clear()
    REGISTERED.update(handlers)
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]
    sys.modules.update(modules)
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.saving.get_custom_objects().clear()
        keras.saving.get_custom_objects().update(classes)


def handled_by_plugins(model: ModelSpec, scope: str = "") -> list[str]:
    """The layers that a plugin's handler converts: with none, converting needs no plugin."""
    found = []
    for layer in model.layers:
        if registered_handler(layer) is not None:
            found.append(scope + layer.name)
        elif layer.model is not None:
            found += handled_by_plugins(layer.model, f"{scope}{layer.name}/")
    return found
