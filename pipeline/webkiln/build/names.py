"""The names of the files of a bundle."""

import re
from collections.abc import Iterable

from webkiln.recipe import BACKENDS

VARIANTS = ("relaxed", "simd")
COMMON = ("index.js", "index.d.ts", "webdnn.d.ts", "worker.js", "runtime.js", "webdnn.js", "package.json", "manifest.json")
REPORT = ("report.html", "verification.json")
LAST = ("index.js", "manifest.json")
"""What a bundle is loaded by: written when all the rest is there."""
BLOB = re.compile(r"[a-z]+-[0-9a-f]+\.bin")


def bundle_files(backends: Iterable[str]) -> tuple[str, ...]:
    """Every file of a bundle with these backends but those with weights, which are named by their bytes."""
    chosen = tuple(backends)
    variants = VARIANTS if "wasm" in chosen else ()
    return (*COMMON, *(f"{backend}.js" for backend in chosen), *(f"{variant}.wasm" for variant in variants))


def may_be_published(name: str) -> bool:
    """Whether a build may have written a file of this name."""
    return name in bundle_files(BACKENDS) or name in REPORT or BLOB.fullmatch(name) is not None


def is_plain(name: object) -> bool:
    """Whether a name is that of a file in the folder itself: no path, nothing above it, nothing that the system reads otherwise."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0:")
