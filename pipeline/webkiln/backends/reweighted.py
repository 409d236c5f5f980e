"""Bundles with other weights."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from webkiln import canonical
from webkiln.codegen.bundles import piecewise_digest
from webkiln.ir.types import Array
from webkiln.weights.shards import Piece, write


class Reweighted:
    """A bundle, in the form of a folder, whose weights are replaced in a copy. `layout`: the pieces
    of its shards. `values`: the weights that it has, by name.
    """

    def __init__(
        self, bundle: Path, folder: Path, layout: Sequence[Piece], values: Mapping[str, Array]
    ) -> None:
        self.folder, self._layout, self._values = folder, layout, values
        shutil.copytree(bundle, folder)
        self._index = (folder / "index.js").read_text("utf-8")
        self._shards = canonical.read(folder / "manifest.json")["shards"]

    def replace(self, changed: Callable[[str], Array | None]) -> Path:
        """Write the weights, with those that `changed` returns in place of others. Returns the
        folder.
        """

        def value(name: str) -> Array:
            other = changed(name)
            return self._values[name] if other is None else other

        index = self._index
        for shard, data in zip(self._shards, write(self._layout, value), strict=True):
            path = self.folder / shard["file"]
            path.write_bytes(data)
            index = index.replace(shard["digest"], piecewise_digest(path)["digest"])
        (self.folder / "index.js").write_text(index, "utf-8")
        return self.folder
