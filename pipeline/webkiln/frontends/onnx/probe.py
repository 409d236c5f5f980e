"""Read an ONNX file after checking it in a subprocess: `python -m webkiln.frontends.onnx.probe FILE
FOLDER`.
"""

import sys
from pathlib import Path

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.probe import check_in_subprocess, run_check
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import is_header_only
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.onnx.check import parse_model
from webkiln.frontends.onnx.load import read_checked, validate_model


def read_model(
    path: Path, folder: Path | None = None, cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file, or of a subgraph of it. External data is in `folder`, by
    default the file's own.
    """
    if is_header_only():
        validate_model(lambda: parse_model(path), path.name, folder or path.parent)
    else:
        check_file(path, folder or path.parent)
    return read_checked(path, folder, cut)


def check_file(path: Path, folder: Path) -> None:
    """Raise SourceError if a file violates the standard, or exceeds the limits of time and memory
    for the check.
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
    return run_check(path, lambda: validate_model(lambda: parse_model(path), path.name, folder))


if __name__ == "__main__":
    sys.exit(main())
