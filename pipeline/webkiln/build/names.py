"""The names of the files of a bundle."""

import re
from collections.abc import Iterable

from webkiln.codegen.bundles import sync_backend
from webkiln.codegen.device_programs import EMULATED
from webkiln.recipe.form import Form
from webkiln.recipe.values import BACKENDS, WASM_VARIANTS

ENTRIES = ("index.js", "index.d.ts", "package.json", "manifest.json")
WEBDNN = ("webdnn.js", "webdnn.d.ts")
SYNC = ("sync.js", "sync.d.ts")
"""The synchronous API, in bundles with wasm or js."""
SHARED = ("worker.js", "runtime.js", "profile.js")
OPTIONAL = (f"webgpu{EMULATED}",)
"""Modules that the bundles of some models have."""
README = "README.md"
REPORT = ("report.html", "verification.json")
FOLDER = Form()
LAST = ("index.js", "manifest.json")
"""The entry points of a bundle, written after everything else."""
BY_BYTES = re.compile(
    rf"(weights-[0-9a-f]+\.bin|vocabulary-[0-9a-f]{{8}}\.bin"
    rf"|({'|'.join(WASM_VARIANTS)})-[0-9a-f]{{8}}\.wasm"
    rf"|(worker|runtime|profile|{'|'.join((*BACKENDS, *OPTIONAL))})-[0-9a-f]{{8}}\.js)"
)
"""Names that contain a digest of the content."""


def bundle_files(name: str, backends: Iterable[str], form: Form = FOLDER) -> tuple[str, ...]:
    """The files of every bundle of the model `name` with these backends, without those whose names
    contain a digest.
    """
    chosen = tuple(backends)
    if form.kind == "single":
        return (*ENTRIES, single_file(name))
    readme = (README,) if form.kind == "npm" else ()
    sync = SYNC if sync_backend(chosen) else ()
    if form.hashed:
        return (*ENTRIES, *WEBDNN, *sync, *readme)
    variants = WASM_VARIANTS if "wasm" in chosen else ()
    return (
        *ENTRIES,
        *WEBDNN,
        *sync,
        *SHARED,
        *readme,
        *(f"{backend}.js" for backend in chosen),
        *(f"{variant}.wasm" for variant in variants),
    )


def single_file(name: str) -> str:
    """The file of a model in the form `single`."""
    return f"{name}.js" if name != "index" else "model.js"


def may_be_published(file: str, name: str = "") -> bool:
    """Whether a build of the model `name` may have written a file."""
    forms = (FOLDER, Form("npm"), Form("single"))
    return (
        file in REPORT
        or BY_BYTES.fullmatch(file) is not None
        or file in (f"{module}.js" for module in OPTIONAL)
        or any(file in bundle_files(name, BACKENDS, form) for form in forms)
    )


def is_plain(name: object) -> bool:
    """Whether a name is that of a file in the folder itself: no path, no parent, nothing that the
    system interprets differently.
    """
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0:")
