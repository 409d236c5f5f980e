"""The files that the package shares with a checkout: stages, templates, the runtime."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def shared_root() -> Path:
    """The root of an editable checkout, or `webkiln/_share` of an installed wheel."""
    installed = PACKAGE / "_share"
    return installed if installed.is_dir() else PACKAGE.parent.parent
