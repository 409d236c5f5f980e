"""Read a PyTorch file in a subprocess. Usage: python -m webkiln.frontends.torch.probe FILE"""

import sys
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.core.probe import check_in_subprocess, run_check
from webkiln.frontends.inspect.header_only import is_header_only
from webkiln.frontends.torch.archive import check_archive


def check_file(path: Path) -> None:
    """Raise SourceError if torch cannot read the file within the limits of time and memory."""
    check_archive(path)
    if is_header_only():
        return
    check_in_subprocess(
        "webkiln.frontends.torch.probe", path, done="read", reader="torch", advice="save it again"
    )


def main() -> int:
    path = Path(sys.argv[1])
    return run_check(path, lambda: _read(path))


def _read(path: Path) -> None:
    import torch

    from webkiln.frontends.torch.framework import quiet
    from webkiln.frontends.torch.source import (
        SAVE,
        first_line,
        is_script,
        read_exported,
        read_script,
    )

    with quiet():
        if not is_script(path):
            read_exported(path)
            return
        try:
            read_script(path)
        except Exception as error:
            raise SourceError(
                f"{path.name}: torch {torch.__version__} cannot read it ({first_line(error)});"
                f" {SAVE}"
            ) from None


if __name__ == "__main__":
    sys.exit(main())
