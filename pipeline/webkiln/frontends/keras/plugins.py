"""Plugins: Python files of the user that define Keras classes, converter handlers, or both."""

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from webkiln.canonical import file_digest
from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.keras.facts import ModelFacts
from webkiln.frontends.keras.handlers import REGISTERED, registered_handler

PREFIX = "webkiln_plugin_"


@contextmanager
def isolated(modules: Path | None = None) -> Iterator[None]:
    """What plugins register inside is forgotten at the end, and nothing registered or named before is seen: a stage depends on its inputs
    alone. Modules below the folder `modules` can be imported inside."""
    handlers = dict(REGISTERED)
    plugins = {name: module for name, module in sys.modules.items() if name.startswith(PREFIX)}
    keras = sys.modules.get("keras")
    classes = dict(keras.saving.get_custom_objects()) if keras is not None else {}
    if keras is not None:
        keras.utils.clear_session(free_memory=False)
    _replace_all({}, {}, {})
    if modules is not None:
        sys.path.insert(0, str(modules))
        importlib.invalidate_caches()
    try:
        yield
    finally:
        _replace_all(handlers, plugins, classes)
        if modules is not None:
            sys.path.remove(str(modules))
            for name, module in list(sys.modules.items()):
                if str(getattr(module, "__file__", None)).startswith(f"{modules}/"):
                    del sys.modules[name]


def _replace_all(handlers: dict[Any, Any], modules: dict[str, ModuleType], classes: dict[str, Any]) -> None:
    REGISTERED.clear()
    REGISTERED.update(handlers)
    for name in [name for name in sys.modules if name.startswith(PREFIX)]:
        del sys.modules[name]
    sys.modules.update(modules)
    keras = sys.modules.get("keras")
    if keras is not None:
        keras.saving.get_custom_objects().clear()
        keras.saving.get_custom_objects().update(classes)


def handled_by_plugins(model: ModelFacts, scope: str = "") -> list[str]:
    """The layers that a plugin's handler converts: with none, converting needs no plugin."""
    found = []
    for layer in model.layers:
        if registered_handler(layer) is not None:
            found.append(scope + layer.name)
        elif layer.model is not None:
            found += handled_by_plugins(layer.model, f"{scope}{layer.name}/")
    return found


def import_files(paths: Iterable[Path]) -> None:
    for path in paths:
        import_file(path)


def import_file(path: Path) -> ModuleType:
    """Run a file as a module of its own, once for each content; SourceError names a file that is missing or fails."""
    if not path.is_file():
        raise SourceError(f"plugin {path}: there is no such file")
    name = f"{PREFIX}{file_digest(path)[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SourceError(f"plugin {path.name}: not a Python file; its name ends in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except WebkilnError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        raise SourceError(f"plugin {path.name}: {type(error).__name__}: {error}") from error
    return module
