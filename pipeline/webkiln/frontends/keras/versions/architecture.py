"""An architecture of `to_json` or `to_yaml`, with weights of `save_weights`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from webkiln.errors import MissingPackageError, SourceError, install_hint
from webkiln.frontends.keras.archive import (
    MAX_JSON_BYTES,
    ModelFile,
    attribute,
    checked_config,
    member,
    parse_config,
    reading,
)
from webkiln.frontends.keras.versions.weight_lists import has_lists

MAX_VALUES = 2_000_000
FIRST = "1.2"
"""The version of weights if neither they nor the architecture state it, as in Keras 2."""
SAVED_BY = "save it with model.save_weights()"


@contextmanager
def open_pair(path: Path, weights: Path) -> Iterator[ModelFile]:
    """Open the weights of an architecture. Raises SourceError if either is invalid."""
    for file in (path, weights):
        if not file.is_file():
            raise SourceError(
                f"{file}: there is no such file; give an architecture, and its weights with"
                " --weights"
            )
    if h5py.is_hdf5(path):
        raise SourceError(
            f"{path.name}: an HDF5 file, not an architecture; give the file that to_json or to_yaml"
            " wrote"
        )
    with reading(path):
        architecture = read_architecture(path)
    if not h5py.is_hdf5(weights):
        raise SourceError(
            f"{weights.name}: is not an HDF5 file; {SAVED_BY}, to a name that ends in .h5"
        )
    with reading(weights), h5py.File(weights, "r") as file:
        within = member(weights.name, file, "model_weights")
        group = within if isinstance(within, h5py.Group) else file
        paths = not has_lists(group)
        if paths and not any(
            isinstance(member(weights.name, group, name), h5py.Group)
            for name in ("layers", "_layer_checkpoint_dependencies")
        ):
            raise SourceError(
                f"{weights.name}: an HDF5 file without weights as Keras saves them; {SAVED_BY}"
            )
        said = (
            attribute(group, "keras_version")
            or attribute(file, "keras_version")
            or str(architecture.get("keras_version", ""))
        )
        version = said or ("3" if "module" in architecture else FIRST)
        backend = attribute(group, "backend") or attribute(file, "backend")
        yield ModelFile(
            weights.name, architecture, group, paths=paths, version=version, backend=backend
        )


def read_architecture(path: Path) -> dict[str, Any]:
    """The config of a model, from JSON or YAML."""
    if path.stat().st_size > MAX_JSON_BYTES:
        raise SourceError(
            f"{path.name}: an architecture of {path.stat().st_size} bytes (at most"
            f" {MAX_JSON_BYTES}); refused"
        )
    text = path.read_bytes()
    return (
        parse_config(path.name, text)
        if text.lstrip()[:1] == b"{"
        else checked_config(path.name, _from_yaml(path.name, text))
    )


def _from_yaml(name: str, text: bytes) -> Any:
    """Plain values from YAML. Tuples become lists; Python's other tags are rejected."""
    try:
        import yaml
    except ImportError:
        raise MissingPackageError(
            f"{name}: an architecture in YAML; {install_hint('yaml')}", "yaml"
        ) from None

    class Plain(yaml.SafeLoader):  # type: ignore[misc]
        """PyYAML's safe loader, with tuples."""

    Plain.add_constructor(
        "tag:yaml.org,2002:python/tuple",
        lambda loader, node: loader.construct_sequence(node, deep=True),
    )
    Plain.add_constructor(
        "tag:yaml.org,2002:python/unicode", lambda loader, node: loader.construct_scalar(node)
    )
    try:
        value = yaml.load(text, Plain)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise SourceError(
            f"{name}: not an architecture in YAML ({what}); write it with model.to_yaml() or"
            " model.to_json()"
        ) from None
    _check_size(name, value)
    return value


def _check_size(name: str, value: Any) -> None:
    """Reject values that aliases make exponentially large."""
    pending, count = [value], 0
    while pending:
        item, count = pending.pop(), count + 1
        if count > MAX_VALUES:
            raise SourceError(f"{name}: more than {MAX_VALUES} values by aliases in it; refused")
        pending += (
            item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        )
