"""Looks at a file of PyTorch in a process of its own. Run: python -m webkiln.frontends.torch.probe FILE"""

import sys
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.glance import is_glancing
from webkiln.frontends.probe import limit_resources, run_probe
from webkiln.frontends.torch.archive import check_archive

REFUSED = 3


def check_file(path: Path) -> None:
    """Raise SourceError for a file that torch cannot read within its share of time and memory."""
    check_archive(path)
    if is_glancing():
        return
    status, printed = run_probe("webkiln.frontends.torch.probe", path)
    if status == REFUSED:
        raise SourceError(printed)
    if status is None:
        raise SourceError(f"{path.name}: cannot be read in reasonable time; it is damaged; save it again")
    if status != 0:
        raise SourceError(f"{path.name}: crashes torch or exhausts its memory; it is damaged; save it again")


def main() -> int:
    path = Path(sys.argv[1])
    limit_resources(path)
    try:
        _read(path)
    except SourceError as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return REFUSED
    except (MemoryError, RecursionError):
        return 1
    return 0


def _read(path: Path) -> None:
    import torch

    from webkiln.frontends.torch.framework import quiet
    from webkiln.frontends.torch.source import SAVE, first_line, is_script, read_exported

    with quiet():
        if not is_script(path):
            read_exported(path)
            return
        try:
            torch.jit.load(str(path), map_location="cpu")
        except Exception as error:
            raise SourceError(f"{path.name}: torch {torch.__version__} cannot read it ({first_line(error)}); {SAVE}") from None


if __name__ == "__main__":
    sys.exit(main())
