"""The interface of a model format: one `ModelFormat` record in `frontends/<format>/format.py`, and
a row in `frontends/core/formats.py`.

The stages are implemented by modules next to the record:

* `stage_fetch.fetch(inputs, params, target)` writes the model that a user's script or function
  builds. If the module is absent, `frontends/scripts` runs the script.
* `stage_load.load(inputs, params) -> (spec, blobs)` returns the content of spec.json, and the
  weights by digest.
* `stage_convert.converted(spec, inputs, params)` is a context manager that yields a `Conversion`.
  Inside it, the user's handlers and operators are registered.
* `stage_reference.compute(inputs, params, samples) -> (reference, layers)` returns the arrays of
  reference.npz and layers.npz, at the sizes `samples`.
"""

import json
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

START_BYTES = 4096
HEADER_BYTES = 100 << 20
ZIP = b"PK\x03\x04"


class FileHeader:
    """What identifies a file or folder without reading all of it: the first bytes, the member names
    of an archive, a JSON object.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_folder = path.is_dir()
        self.start = b"" if self.is_folder else _start(path)

    @cached_property
    def members(self) -> frozenset[str]:
        """The names of a zip archive's members, without their folders."""
        names: set[str] = set()
        if self.start.startswith(ZIP):
            with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(self.path) as archive:
                names = {member.rpartition("/")[2] for member in archive.namelist()}
        return frozenset(names)

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """The JSON object in the file, or in the folder's model.json; empty if there is none."""
        path = self.path / "model.json" if self.is_folder else self.path
        if not self.is_folder and self.start.lstrip()[:1] != b"{":
            return {}
        try:
            data = json.loads(path.read_bytes()) if path.stat().st_size < HEADER_BYTES else None
        except (ValueError, OSError, RecursionError):
            return {}
        return data if isinstance(data, dict) else {}

    @property
    def tensorflow_js(self) -> str:
        """`graph-model` or `layers-model` for a TensorFlow.js model, else ''."""
        if not {"modelTopology", "weightsManifest"} & self.table.keys():
            return ""
        topology = self.table.get("modelTopology")
        is_graph = self.table.get("format") == "graph-model" or (
            isinstance(topology, dict) and "node" in topology
        )
        return "graph-model" if is_graph else "layers-model"

    def contains(self, *patterns: str) -> bool:
        """Whether a folder has a file that matches one of the patterns."""
        return self.is_folder and any(any(self.path.glob(pattern)) for pattern in patterns)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(START_BYTES)


CompanionFiles = Callable[[Path], list[tuple[str, Path]]]
"""Lists the files that belong to a model file, as (name in the model, path), without reading
weights.
"""


def same_path(path: Path) -> Path:
    return path


def no_companions(path: Path) -> list[tuple[str, Path]]:
    del path
    return []


@dataclass(frozen=True)
class ModelFormat:
    """A format that webkiln reads.

    `title` names a model of the format in messages. `fits` recognises one by its content.
    `suffixes` apply to files that do not exist yet (URLs, script output); scripts write to the
    first one. `parameters` lists, for each stage, the parts of the recipe that it depends on, by
    the names of `build/format_parameters.py`. `extra_files` are files that `convert` writes in
    addition to the usual ones.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    fits: Callable[[FileHeader], bool]
    parameters: Mapping[str, tuple[str, ...]]
    main: Callable[[Path], Path] = same_path
    """The model file for the path that the user passes, which may be a folder."""
    companion_files: CompanionFiles = no_companions
    extra_files: tuple[str, ...] = ()
    may_have_open_sizes: bool = field(default=False)
    """Whether a model file can leave sizes open. Their constraints are known only after conversion.
    """

    def accepts(self, parameter: str) -> bool:
        return any(parameter in names for names in self.parameters.values())
