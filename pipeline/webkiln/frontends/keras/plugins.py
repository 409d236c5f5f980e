"""Plugins: Python files that define Keras classes, converter handlers, or both."""

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
    """Isolate registrations: those of plugins in the block are removed at its end, and previous
    ones are hidden, so that a stage depends on its inputs only. Modules below the folder `modules`
    can be imported in the block.
    """
    # Imported by name, so that keys of stages that convert nothing do not include the operators.
    # Without this import, a plugin's own import would define them here.
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
    """The layers that a plugin's handlers convert. If there are none, the conversion does not need
    the plugin.
    """
    handled = []
    for layer in model.layers:
        if registered_handler(layer) is not None:
            handled.append(scope + layer.name)
        elif layer.model is not None:
            handled += handled_by_plugins(layer.model, f"{scope}{layer.name}/")
    return handled
