"""Read a Keras file in a subprocess first, since the HDF5 library may crash. Usage: python -m
webkiln.frontends.keras.probe FILE [ARCHITECTURE]
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.probe import limit_resources, run_probe
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import is_header_only
from webkiln.frontends.keras.reader import parse_model
from webkiln.frontends.keras.spec import ModelSpec


def read_model(
    path: Path, cut: Subgraph = ENTIRE_MODEL, *, companion: Path | None = None
) -> tuple[ModelSpec, Blobs]:
    """The spec of a model file and its companion, or of a subgraph, and its weights by digest.
    Raises SourceError if it cannot be read.
    """
    if is_header_only():
        return parse_model(path, cut, companion=companion)
    if companion is not None and companion.is_file() and path.is_file():
        check_readable(companion, [str(path.absolute())])
    elif path.is_file():
        check_readable(path)
    return parse_model(path, cut, companion=companion)


def check_readable(path: Path, arguments: Sequence[str] = ()) -> None:
    """Raise SourceError if a file cannot be parsed within the limits of time and memory. Other
    errors are left to the parser.
    """
    status, _ = run_probe("webkiln.frontends.keras.probe", path, arguments)
    if status is None:
        raise SourceError(
            f"{path.name}: cannot be read in reasonable time; it is damaged; save it again with"
            " model.save()"
        )
    if status != 0:
        raise SourceError(
            f"{path.name}: crashes or exhausts the HDF5 library; it is damaged; save it again with"
            " model.save()"
        )


def main() -> int:
    path = Path(sys.argv[1])
    limit_resources(path)
    try:
        if sys.argv[2:]:
            parse_model(Path(sys.argv[2]), companion=path)
        else:
            parse_model(path)
    except MemoryError:
        return 1
    except Exception as error:  # noqa: BLE001 - the caller's parser reports the same error
        return int(isinstance(error.__context__, MemoryError))
    return 0


if __name__ == "__main__":
    sys.exit(main())
