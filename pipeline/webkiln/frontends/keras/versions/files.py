"""Open model files of all versions of Keras, translated to the current one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import ModelFile, open_source
from webkiln.frontends.keras.versions import translate
from webkiln.frontends.keras.versions.architecture import open_pair
from webkiln.frontends.keras.versions.layouts import Era
from webkiln.frontends.keras.versions.tfjs import is_json, open_tfjs
from webkiln.frontends.keras.versions.weight_lists import assign_lists, has_lists, read_lists


@contextmanager
def open_model(path: Path, companion: Path | None = None) -> Iterator[ModelFile]:
    """Open a model file: alone, as an architecture with its weight file, or with a folder of
    shards.
    """
    if companion is not None and not companion.is_dir():
        opened = open_pair(path, companion)
    elif is_json(path):
        opened = open_tfjs(path, companion or path.parent)
    else:
        opened = open_source(path)
    with opened as file:
        yield modern_file(file, separate=companion is not None)


def modern_file(file: ModelFile, *, separate: bool = False) -> ModelFile:
    """The file with a current config; if its weights are lists, they are assigned to layers."""
    old = configs.is_old(file.version)
    saved, config = file.config, translate.modern(file.config) if old else file.config
    if file.paths or file.assigned or not has_lists(file.weights):
        return replace(file, config=config)
    era = Era(_numbers(file.version), theano=_by_theano(file.backend, saved))
    lists = read_lists(file.path, file.weights)
    return replace(
        file, config=config, assigned=assign_lists(file.path, config, lists, era, separate=separate)
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) or (3,)


def _by_theano(backend: str, config: Mapping[str, Any]) -> bool:
    """Whether the weights were trained with Theano's convolutions. Keras 1 does not state it, but
    Theano's axis order implies it.
    """
    if backend:
        return backend == "theano"
    return any(entry["config"].get("dim_ordering") == "th" for entry in translate.entries(config))
