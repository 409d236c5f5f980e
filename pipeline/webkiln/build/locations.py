"""The folders of the cache, and of the state of builds outside of checkouts."""

import os
from pathlib import Path

from webkiln import canonical


def cache_folder() -> Path:
    """`$WEBKILN_CACHE`, or the platform's folder for user caches."""
    override = os.environ.get("WEBKILN_CACHE")
    if override:
        return Path(override).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("webkiln")


def state_folder(path: Path) -> Path:
    """The state folder of builds for a file or folder outside of checkouts. It is below the cache,
    or below the platform's folder for user state if the cache is read-only.
    """
    parent = cache_folder()
    if is_read_only(parent):
        from platformdirs import user_state_path

        parent = user_state_path("webkiln")
    return parent / "state" / canonical.digest(str(path.absolute()).encode())


def is_read_only(folder: Path) -> bool:
    """Whether a cache exists and cannot be written."""
    return folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK)
