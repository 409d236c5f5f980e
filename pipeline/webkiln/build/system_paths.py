"""The folders of the operating system and of Python. Files in them are not inputs of actions."""

import os
import site
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SYSTEM = (
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr/bin",
    "/usr/sbin",
    "/usr/local/bin",
    "/usr/local/sbin",
    "/usr/lib",
    "/usr/lib64",
    "/usr/share",
    "/usr/local/share",
    "/var/cache",
    "/var/lib",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/run",
)
"""Folders of the system. The Python installation and its packages are treated like them."""


def python_folders() -> tuple[str, ...]:
    """The folders of Python and its packages, also by their real paths: libraries may be opened by
    these if an environment is reached through a link.
    """
    users = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    folders = {sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages(), *users}
    return (*folders, *{os.path.realpath(folder) for folder in folders} - folders)


def system_folders(roots: Sequence[Path]) -> tuple[str, ...]:
    """The folders in SYSTEM that contain none of the roots."""
    return tuple(
        folder
        for folder in SYSTEM
        if not any(is_below(absolute(root), (folder,)) for root in roots)
    )


def absolute(path: Any) -> str:
    return os.path.abspath(os.fsdecode(path))


def is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
