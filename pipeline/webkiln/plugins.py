"""User-supplied Python files, imported as modules."""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from webkiln.canonical import file_digest
from webkiln.errors import SourceError, WebkilnError, missing_package

PREFIX = "webkiln_plugin_"
PLUGIN_FILES: set[str] = set()
"""The paths of all imported plugins."""


def import_files(paths: Iterable[Path]) -> None:
    for path in paths:
        import_file(path)


def import_file(path: Path) -> ModuleType:
    """Import a file as a module, once. Raises SourceError if the file is missing or its code fails.

    The name of the module is derived from the digest of the file, so that no local path appears in
    outputs. Identical files in different folders get numbered names.

    One symbolic link is resolved: the one from the inputs of a stage to the plugin. If the plugin
    is itself a link, its module finds its neighbours in the folder of that link.
    """
    if not path.is_file():
        raise SourceError(f"plugin {path}: the file does not exist")
    path = path.parent.absolute() / (path.readlink() if path.is_symlink() else path.name)
    stem = name = f"{PREFIX}{file_digest(path)[:16]}"
    number = 1
    while name in sys.modules:
        if sys.modules[name].__file__ == str(path):
            return sys.modules[name]
        number += 1
        name = f"{stem}_{number}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SourceError(f"plugin {path.name}: not a Python file; the name must end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    PLUGIN_FILES.add(str(path))
    try:
        spec.loader.exec_module(module)
    except WebkilnError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        missing = (
            missing_package(error, f"plugin {path.name}")
            if isinstance(error, ImportError)
            else None
        )
        raise missing or SourceError(
            f"plugin {path.name}: {type(error).__name__}: {error}"
        ) from error
    return module


@contextmanager
def isolated_plugins() -> Iterator[None]:
    """Hide previously imported plugins in the block, and forget those that it imports."""
    before = _take_modules()
    try:
        yield
    finally:
        _take_modules()
        sys.modules.update(before)


@contextmanager
def importable(modules: Path | None) -> Iterator[None]:
    """Put a folder on the import path in the block, and forget the modules imported from it."""
    if modules is None:
        yield
        return
    sys.path.insert(0, str(modules))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(modules))
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(f"{modules}/"):
                del sys.modules[name]


def _take_modules() -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith(PREFIX)}


def plugin_error(error: Exception, where: str) -> Exception:
    """Convert an exception in the code of a plugin to a SourceError with its file and line.

    Errors of webkiln, and errors outside of plugins, are returned unchanged.
    """
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename in PLUGIN_FILES
    ]
    if isinstance(error, WebkilnError) or not lines:
        return error
    file = Path(lines[-1].filename).name
    return SourceError(
        f"{where}: the handler failed in {file}, line {lines[-1].lineno}: {type(error).__name__}:"
        f" {error}"
    )
