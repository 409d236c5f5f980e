"""Plugins: Python files of the user that define Keras classes, converter handlers, or both."""

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from webkiln.errors import SourceError


def load_plugins(folder: Path, names: Sequence[str]) -> None:
    """Run the plugins `names` of a folder, in order."""
    import_files(folder / name for name in names)


def import_files(paths: Iterable[Path]) -> None:
    """Run each file as a module of its own, once for each content; SourceError names a file that is missing or fails."""
    for path in paths:
        if not path.is_file():
            raise SourceError(f"plugin {path.name}: there is no such file")
        module = f"webkiln_plugin_{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
        if module in sys.modules:
            continue
        spec = importlib.util.spec_from_file_location(module, path)
        assert spec is not None and spec.loader is not None
        sys.modules[module] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[module])
        except Exception as error:
            del sys.modules[module]
            raise SourceError(f"plugin {path.name}: {type(error).__name__}: {error}") from error
