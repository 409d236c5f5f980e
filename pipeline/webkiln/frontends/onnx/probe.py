"""Reads an ONNX file, which is first checked in a process of its own. Run: python -m webkiln.frontends.onnx.probe FILE FOLDER"""

import sys
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.arrays import Blobs
from webkiln.frontends.cut import WHOLE, Cut
from webkiln.frontends.glance import is_glancing
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.onnx.check import parse_model
from webkiln.frontends.onnx.load import check_whole, read_checked
from webkiln.frontends.probe import limit_resources, run_probe

REFUSED = 3


def read_model(path: Path, folder: Path | None = None, cut: Cut = WHOLE) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file, or of what is cut out of it; external data lies in `folder`, by default the file's own."""
    if is_glancing():
        check_whole(lambda: parse_model(path), path.name, folder or path.parent)
    else:
        check_file(path, folder or path.parent)
    return read_checked(path, folder, cut)


def check_file(path: Path, folder: Path) -> None:
    """Raise SourceError for a file that does not keep to the standard, or that cannot be checked within its share of time and memory."""
    if not path.is_file():
        return
    status, printed = run_probe("webkiln.frontends.onnx.probe", path, [str(folder.absolute())])
    if status == REFUSED:
        raise SourceError(printed)
    if status is None:
        raise SourceError(f"{path.name}: cannot be checked in reasonable time; it is damaged; export it again")
    if status != 0:
        raise SourceError(f"{path.name}: crashes the onnx package's checker or exhausts its memory; it is damaged; export it again")


def main() -> int:
    path, folder = map(Path, sys.argv[1:])
    limit_resources(path)
    try:
        check_whole(lambda: parse_model(path), path.name, folder)
    except SourceError as error:
        sys.stdout.buffer.write(str(error).encode(errors="replace"))
        return REFUSED
    except (MemoryError, RecursionError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
