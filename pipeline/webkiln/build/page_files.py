"""What pages load of a bundle."""

from collections.abc import Mapping
from typing import Any


def loaded_files(manifest: Mapping[str, Any]) -> list[str]:
    """The files that the manifest lists, but the module that a profile alone loads."""
    aside = manifest.get("profile", {}).get("module")
    return [name for name in manifest["files"] if name != aside]
