"""Python files of the user, run as modules of their own."""

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
"""The files that were run as plugins."""


def import_files(paths: Iterable[Path]) -> None:
    for path in paths:
        import_file(path)


def import_file(path: Path) -> ModuleType:
    """Run a file as a module of its own, once; SourceError names a file that is missing or fails.
    Modules are called after what is in the file: no folder of this machine gets into what they
    write; those of equal files in several folders are numbered.

    One link is followed, that of a stage's inputs to the user's file: a link of the user's is where
    its module looks for others beside it.
    """
    if not path.is_file():
        raise SourceError(f"plugin {path}: there is no such file")
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
        raise SourceError(f"plugin {path.name}: not a Python file; its name ends in .py")
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
    """Files that were run before are not known inside, and those that are run inside are forgotten
    at the end.
    """
    before = _take_modules()
    try:
        yield
    finally:
        _take_modules()
        sys.modules.update(before)


@contextmanager
def importable(modules: Path | None) -> Iterator[None]:
    """Modules below a folder can be imported inside, and are forgotten at the end."""
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


def failed_plugin(error: Exception, where: str) -> Exception:
    """The error that code of the user's raised, by its file and line; the error itself where that
    is not in a plugin, or says enough.
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
        f"{where}: its handler failed in {file}, line {lines[-1].lineno}: {type(error).__name__}:"
        f" {error}"
    )
