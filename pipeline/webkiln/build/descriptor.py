"""Compiles a graph in memory to a bundle, with the interface of WebDNN."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from webkiln import canonical
from webkiln.build import progress
from webkiln.build.action import Folder, Input, Local
from webkiln.build.backends import present
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.build.names import bundle_files
from webkiln.build.share import Share
from webkiln.build.structure import write_blobs, write_structure
from webkiln.frontends.core.arrays import Weight
from webkiln.ir.graph import Graph
from webkiln.recipe.recipe import Bundle, Recipe, UserCode
from webkiln.recipe.sources import PathSource
from webkiln.recipe.values import BACKENDS, ENCODINGS, choose


class MemoryGraph(ModelGraph):
    """The actions of a graph whose structure and weights were written to `folder`."""

    def __init__(self, recipe: Recipe, share: Share, folder: Path) -> None:
        super().__init__(recipe, share)
        self._folder = folder

    def structure(self) -> Input:
        return Local(self._folder / "graph.json")

    def weights(self) -> Mapping[str, Input]:
        blobs = Folder(
            tuple((path.name, path) for path in sorted((self._folder / "weights").iterdir()))
        )
        return {"weights.json": Local(self._folder / "weights.json"), "weights/": blobs}

    def text_encodings(self) -> Mapping[str, Input]:
        return {}

    def source_labels(self) -> Mapping[str, Input]:
        return {}


class Descriptor:
    """A graph and the backend to compile it for."""

    def __init__(
        self,
        backend: str,
        graph: Graph,
        encoding: str,
        labels: Sequence[str],
        operators: Sequence[str | Path],
    ) -> None:
        (self._backend,) = choose("backend", [backend], BACKENDS)
        (self._encoding,) = choose("encoding", [encoding], ENCODINGS)
        self._graph = graph
        self._labels = tuple(labels)
        self._operators = tuple(Path(path).absolute() for path in operators)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the bundle into `folder`. The other backends of a bundle that already exists there
        are rebuilt from this graph. Files that no build wrote raise OutputError; `force` overwrites
        them.
        """
        folder = Path(folder).absolute()
        backends = choose("backend", [self._backend, *present(folder)], BACKENDS)
        state = state_folder(folder)
        with TemporaryDirectory() as scratch, Engine(state, progress=progress.console()) as engine:
            write_graph(self._graph, Path(scratch))
            recipe = Recipe(
                self._graph.name,
                PathSource(folder),
                backends=backends,
                user_code=UserCode(operators=self._operators),
                bundle=Bundle(labels=self._labels),
            )
            action = MemoryGraph(recipe, engine.share, Path(scratch)).bundle(
                Selection(backends, self._encoding)
            )
            engine.check_folder(folder, bundle_files(self._graph.name, backends), force=force)
            engine.publish(action, "bundle/", folder, force=force)


def generate_descriptor(
    backend: str,
    graph: Graph,
    *,
    encoding: str = "float32",
    labels: Sequence[str] = (),
    operators: Sequence[str | Path] = (),
) -> Descriptor:
    """Prepare a graph for one backend. `save(folder)` compiles it and adds the backend to the
    bundle in `folder`.

    `operators`: Python files that define custom operators of the graph.
    """
    return Descriptor(backend, graph, encoding, labels, operators)


def write_graph(graph: Graph, folder: Path) -> None:
    """Write graph.json, weights.json and weights/, as the stages convert and load do."""
    weights, blobs = {}, {}
    for slot, array in graph.weights.items():
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        blob = Weight(slot, canonical.digest(data.tobytes()), array.dtype.name, array.shape)
        weights[slot], blobs[blob.digest] = blob, array
    stored_bytes = sum(array.nbytes for array in blobs.values())
    write_structure(graph, weights, folder / "graph.json", folder / "weights.json", stored_bytes)
    write_blobs(blobs, folder / "weights")
