"""The file that belongs to a definition or to a weight file: the other of the two."""

from pathlib import Path

from webkiln.frontends.caffe.signatures import is_text

TEXT, BINARY = ".prototxt", ".caffemodel"


def companion_of(path: Path) -> list[tuple[str, Path]]:
    """The one with the same stem, or the only one in the folder, under a name that does not depend
    on it.
    """
    suffix = BINARY if _is_definition(path) else TEXT
    same = path.with_suffix(suffix)
    found = (
        [same]
        if same.is_file() and same != path
        else [item for item in sorted(path.parent.glob(f"*{suffix}")) if item != path]
    )
    fitting = [item for item in found if _is_definition(item) == (suffix == TEXT)]
    return [(f"companion{suffix}", fitting[0])] if len(fitting) == 1 else []


def _is_definition(path: Path) -> bool:
    with path.open("rb") as file:
        return is_text(file.read(4096))
