"""What a model format is to the build: one record, which `frontends/<format>/format.py` holds, and
a
row of `frontends/core/formats.py`.

Its programs are the modules `stage_fetch`, `stage_load`, `stage_convert` and `stage_reference`
beside the record, which the stages of these names call:

* `fetch(inputs, params, target)` writes the model that a script or function of the user's makes;
  without one, `frontends/scripts` runs scripts;
* `load(inputs, params) -> (spec, blobs)`: spec.json, and the weights by digest;
* `converted(spec, inputs, params)`: a context, in which what the user registers and defines is
  known, of a `Converted`;
* `compute(inputs, params, samples) -> (reference, layers)`: the arrays of reference.npz and
  layers.npz, at the sizes `samples`.
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


class Glimpse:
    """What is seen of a file or folder without reading it through: the first bytes, the names in an
    archive, a table of JSON.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_folder = path.is_dir()
        self.start = b"" if self.is_folder else _start(path)

    @cached_property
    def members(self) -> frozenset[str]:
        """The names of a zip archive's files, without their folders."""
        found: set[str] = set()
        if self.start.startswith(ZIP):
            with suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(self.path) as archive:
                found = {member.rpartition("/")[2] for member in archive.namelist()}
        return frozenset(found)

    @cached_property
    def table(self) -> Mapping[str, Any]:
        """The table that a JSON file is; of a folder that of its model.json. Empty where there is
        none.
        """
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
        """`graph-model` or `layers-model`, where it is one of TensorFlow.js; else nothing."""
        if not {"modelTopology", "weightsManifest"} & self.table.keys():
            return ""
        topology = self.table.get("modelTopology")
        is_graph = self.table.get("format") == "graph-model" or (
            isinstance(topology, dict) and "node" in topology
        )
        return "graph-model" if is_graph else "layers-model"

    def holds(self, *patterns: str) -> bool:
        """Whether a folder has a file of one of these names."""
        return self.is_folder and any(any(self.path.glob(pattern)) for pattern in patterns)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(START_BYTES)


Beside = Callable[[Path], list[tuple[str, Path]]]
"""The files that belong to a model file, by their names in it; finding them reads no weights."""


def same(path: Path) -> Path:
    return path


def nothing_beside(path: Path) -> list[tuple[str, Path]]:
    del path
    return []


@dataclass(frozen=True)
class ModelFormat:
    """A format that webkiln reads.

    `title` is what messages call a model of it; `fits` recognises one by its bytes; `suffixes` are
    for what cannot be looked at yet (URLs, what a script will write), the first one for what
    scripts write. `takes` says for each program what of the recipe it depends on, by the names of
    `build/format_parameters.py`. `converted` are files that `convert` writes besides the usual
    ones.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    fits: Callable[[Glimpse], bool]
    takes: Mapping[str, tuple[str, ...]]
    main: Callable[[Path], Path] = same
    """The model file of what a user names, which may be a folder."""
    beside: Beside = nothing_beside
    converted: tuple[str, ...] = ()
    names_sizes: bool = field(default=False)
    """Whether a file itself may leave sizes open, so that what they have to be is known once it is
    converted.
    """

    def takes_anywhere(self, what: str) -> bool:
        return any(what in names for names in self.takes.values())
