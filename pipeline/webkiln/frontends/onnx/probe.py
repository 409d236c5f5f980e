"""Reads an ONNX file, which is first checked in a process of its own. Run: python -m
webkiln.frontends.onnx.probe FILE FOLDER
"""

import sys
from pathlib import Path

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.probe import check_in_subprocess, run_check
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import is_header_only
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.onnx.check import parse_model
from webkiln.frontends.onnx.load import check_whole, read_checked


def read_model(
    path: Path, folder: Path | None = None, cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file, or of what is cut out of it; external data lies in
    `folder`, by default the file's own.
    """
    if is_header_only():
        check_whole(lambda: parse_model(path), path.name, folder or path.parent)
    else:
        check_file(path, folder or path.parent)
    return read_checked(path, folder, cut)


def check_file(path: Path, folder: Path) -> None:
    """Raise SourceError for a file that does not keep to the standard, or that cannot be checked
    within its share of time and memory.
    """
    if not path.is_file():
        return
    arguments, reader = [str(folder.absolute())], "the onnx package's checker"
    check_in_subprocess(
        "webkiln.frontends.onnx.probe",
        path,
        arguments,
        done="checked",
        reader=reader,
        advice="export it again",
    )


def main() -> int:
    path, folder = map(Path, sys.argv[1:])
    return run_check(path, lambda: check_whole(lambda: parse_model(path), path.name, folder))


if __name__ == "__main__":
    sys.exit(main())
