"""The outputs that each action must write. They distinguish complete results from others before
they are used. Roles are files, or folders whose names follow a rule.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from webkiln import canonical
from webkiln.build.action import Action, Blob, Folder
from webkiln.build.names import BY_BYTES, bundle_files, is_plain, may_be_published
from webkiln.recipe.form import Form
from webkiln.recipe.values import WASM_VARIANTS

NAMES: Mapping[str, re.Pattern[str]] = {
    "weights/": re.compile(r"[0-9a-f]{64}"),
    "code/": re.compile(r"([\w-]+/)?[\w.-]+\.(c|js)"),
    "objects/": re.compile(r"([\w-]+/)?[\w.-]+\.o"),
    "shards/": re.compile(r"weights-[0-9a-f]+\.bin"),
}
"""The names in output folders, for each stage that writes such a folder."""
HASHED = ("worker", "runtime", "profile")
LARGEST_MANIFEST = 64 << 20

Reader = Callable[[Blob], bytes | None]


@dataclass(frozen=True, slots=True)
class Expected:
    """The outputs of one action.

    `files` are required. `folders` decides which names a folder role may contain. `stems` are the
    required names that contain a digest, without it. `manifest` is the output that lists the other
    files of its folder with their digests.
    """

    files: frozenset[str]
    folders: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)
    stems: frozenset[str] = frozenset()
    manifest: str = ""

    def fault(self, outputs: Mapping[str, Blob]) -> str:
        """What is wrong with the names of these outputs; empty if nothing is."""
        if missing := sorted(self.files - outputs.keys()):
            return f"lacks the output {missing[0]}"
        stems = {path.rpartition("-")[0] for path in outputs}
        if missing := sorted(self.stems - stems):
            return f"lacks the output {missing[0]}-*"
        for path in outputs.keys() - self.files:
            role = next((role for role in self.folders if path.startswith(role)), None)
            if role is None or not self.folders[role](path.removeprefix(role)):
                return "has an output that its step never writes"
        return ""

    def fault_of_manifest(self, outputs: Mapping[str, Blob], read: Reader) -> str | None:
        """What is wrong with a folder according to its manifest; None if the manifest is not
        available.
        """
        if not self.manifest:
            return ""
        blob = outputs[self.manifest]
        data = read(blob) if blob.bytes <= LARGEST_MANIFEST else b""
        if data is None:
            return None
        folder = self.manifest.rpartition("/")[0] + "/"
        others = {
            path.removeprefix(folder): blob.sha256
            for path, blob in outputs.items()
            if path != self.manifest
        }
        return "" if _listed(data) == others else f"is not what its {self.manifest} lists"


def single(path: str) -> Expected:
    """A result that is one file."""
    return Expected(frozenset({path}))


def expected(action: Action) -> Expected:
    """The outputs of an action. Raises KeyError for a folder role without a rule, which would
    accept any name.
    """
    files = {role for role in action.outputs if not role.endswith("/")}
    folders: dict[str, Callable[[str], bool]] = {}
    stems: set[str] = set()
    manifest = ""
    for role in set(action.outputs) - files:
        if role == "bundle/":
            names, stems = _bundle(action.params, role)
            files |= names
            manifest = f"{role}manifest.json"
            folders[role] = _published(str(action.params["name"]))
        elif isinstance(folder := action.inputs.get(role), Folder):
            files |= {role + name for name, _ in folder.files}
        else:
            folders[role] = _matching(NAMES[role])
    return Expected(frozenset(files), folders, frozenset(stems), manifest)


def _bundle(params: Mapping[str, Any], role: str) -> tuple[set[str], set[str]]:
    form, backends = Form(**params["form"]), params["backends"]
    names = {role + name for name in bundle_files(params["name"], backends, form)}
    if form.kind == "single" or not form.hashed:
        return names, set()
    return names, {
        role + stem for stem in (*HASHED, *backends, *(WASM_VARIANTS if "wasm" in backends else ()))
    }


def _published(model: str) -> Callable[[str], bool]:
    return lambda name: (
        is_plain(name) and (BY_BYTES.fullmatch(name) is not None or may_be_published(name, model))
    )


def _matching(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda name: pattern.fullmatch(name) is not None


def _listed(data: bytes) -> Mapping[str, str] | None:
    """The files that a manifest lists with their digests; None if it is not a manifest."""
    try:
        files = canonical.loads(data.decode())["files"]
        return {name: entry["sha256"] for name, entry in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
