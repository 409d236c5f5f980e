"""The files of a bundle that pages load."""

from collections.abc import Mapping
from typing import Any


def loaded_files(manifest: Mapping[str, Any]) -> list[str]:
    """The files that the manifest lists, without the module that only a profile loads."""
    profile_module = manifest.get("profile", {}).get("module")
    return [name for name in manifest["files"] if name != profile_module]
