"""Find the companion of a definition (its weight file) or of a weight file (its definition)."""

from pathlib import Path

from webkiln.frontends.caffe.signatures import is_text

TEXT, BINARY = ".prototxt", ".caffemodel"


def companion_of(path: Path) -> list[tuple[str, Path]]:
    """The companion: the file with the same stem, or the only candidate in the folder. It is stored
    under a name that does not depend on its own.
    """
    suffix = BINARY if _is_definition(path) else TEXT
    same = path.with_suffix(suffix)
    companion = (
        [same]
        if same.is_file() and same != path
        else [item for item in sorted(path.parent.glob(f"*{suffix}")) if item != path]
    )
    fitting = [item for item in companion if _is_definition(item) == (suffix == TEXT)]
    return [(f"companion{suffix}", fitting[0])] if len(fitting) == 1 else []


def _is_definition(path: Path) -> bool:
    with path.open("rb") as file:
        return is_text(file.read(4096))
