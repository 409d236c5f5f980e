"""Runs a stage file: in a worker, or by hand with `python stages/x.py spec.json`."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from webkiln import canonical
from webkiln.errors import InternalError, OutputError, UserError


def _ignore(text: str) -> None:
    del text


report_progress: Callable[[str], None] = _ignore
"""Reports the progress of a long step. A worker replaces it."""


def load(path: Path) -> ModuleType:
    """Import a stage file under a name of its own."""
    spec = importlib.util.spec_from_file_location(f"webkiln_stage_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise InternalError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module: Any, spec: dict[str, Any]) -> None:
    """Call a stage's `run` with a spec {inputs, outputs, params}. A full disk becomes an
    OutputError.
    """
    inputs = {role: Path(path) for role, path in spec["inputs"].items()}
    outputs = {role: Path(path) for role, path in spec["outputs"].items()}
    try:
        module.run(inputs, outputs, spec["params"])
    except PermissionError as error:
        raise OutputError(f"{error.filename}: {error.strerror}") from error
    except OSError as error:
        import errno

        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS):
            where = error.filename or "the cache"
            raise OutputError(
                f"{where}: cannot be written: {error.strerror}; free space, or set WEBKILN_CACHE"
                " to another folder"
            ) from error
        raise


def main() -> None:
    """The body of a stage file's `if __name__ == "__main__"`."""
    if len(sys.argv) != 2:
        sys.exit(
            f"usage: python {sys.argv[0]} spec.json   (a file with inputs, outputs and params)"
        )
    try:
        run(sys.modules["__main__"], canonical.read(Path(sys.argv[1])))
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
