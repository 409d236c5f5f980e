"""TensorFlow.js layers models: a `model.json` with the config of a Keras model, and files with the
bytes of its weights.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py

from webkiln.errors import SourceError
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.frontends.core.tfjs_weights import manifest_weights
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import MAX_JSON_BYTES, ModelFile, checked_config, reading
from webkiln.frontends.keras.versions import translate
from webkiln.frontends.keras.versions.assign import (
    Assigned,
    Misfit,
    assigned,
    counts,
    leaves,
    misfit,
)
from webkiln.frontends.keras.versions.layouts import Era

ERA = Era((2,))


def is_json(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(64).lstrip()[:1] == b"{"


@contextmanager
def open_tfjs(path: Path, folder: Path) -> Iterator[ModelFile]:
    """Open a `model.json` whose shards are in a folder."""
    with reading(path):
        if path.stat().st_size > MAX_JSON_BYTES:
            raise SourceError(
                f"{path.name}: {path.stat().st_size} bytes of JSON (at most {MAX_JSON_BYTES});"
                " refused"
            )
        data = json.loads(path.read_bytes())
        config, version = _topology(path.name, data)
        model = translate.modern(config)
        stored = _assigned(
            path.name,
            model,
            [StoredWeight(*item) for item in manifest_weights(path.name, data, folder)],
        )
    with h5py.File(BytesIO(), "w") as nothing:
        yield ModelFile(path.name, config, nothing, paths=False, version=version, assigned=stored)


def _topology(source: str, data: Any) -> tuple[dict[str, Any], str]:
    """The config of the model, and its version of Keras."""
    if (
        not isinstance(data, dict)
        or "weightsManifest" not in data
        or not isinstance(data.get("modelTopology"), dict)
    ):
        if isinstance(data, dict) and {"class_name", "config"} <= data.keys():
            raise SourceError(
                f"{source}: a Keras model without weights; pass them with --weights FILE.h5, as"
                " model.save_weights() writes them"
            )
        raise SourceError(
            f"{source}: JSON, but neither a TensorFlow.js model nor the architecture of a Keras"
            " model"
        )
    topology = data["modelTopology"]
    if data.get("format") == "graph-model" or "node" in topology:
        raise SourceError(
            f"{source}: a TensorFlow.js graph model, which is not a Keras model; set in the recipe:"
            ' source_format = "tensorflow"'
        )
    config = topology.get("model_config", topology)
    version = str(topology.get("keras_version", "2"))
    return checked_config(source, config), (
        version if version.partition(".")[0].isdigit() and version[0] in "123" else "2"
    )


def _assigned(source: str, model: Mapping[str, Any], stored: Sequence[StoredWeight]) -> Assigned:
    """The weights of every layer: those with its name as a prefix, `dense_1/kernel`."""
    found: Assigned = {}
    for entry in model["config"]["layers"]:
        for path, leaf in leaves(entry, configs.layer_name(entry)):
            own = _of_layer(stored, configs.layer_name(leaf))
            try:
                if any(counts(leaf, ERA)):
                    found |= assigned(leaf, path, own, ERA)
            except Misfit:
                raise misfit(source, path, leaf, own) from None
    return found


def _of_layer(stored: Sequence[StoredWeight], name: str) -> list[StoredWeight]:
    first = [item for item in stored if item.name.partition("/")[0] == name]
    return first or [item for item in stored if name in item.name.split("/")[:-1]]
