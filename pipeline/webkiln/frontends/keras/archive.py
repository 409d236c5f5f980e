"""Open `.keras` archives and `.h5` files as data. Nothing in them is executed, and sizes are
checked before use.
"""

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from webkiln.errors import SourceError, WebkilnError
from webkiln.frontends.core.arrays import bfloat16_to_float32
from webkiln.frontends.core.stored_weight import StoredWeight
from webkiln.frontends.inspect.header_only import placeholder_array

MAX_BYTES = 16 << 30
MAX_JSON_BYTES = 64 << 20
MAX_MEMBERS = 10_000
RATIO_FREE_BYTES = 1 << 20
MAX_RATIO = 200
WEIGHTS_ALONE = (
    "holds weights but no model; give the architecture and these weights: webkiln build model.json"
    " --weights FILE.h5 (of to_json or to_yaml), or save the model with model.save(),"
    " not save_weights()"
)
ZIP_START = b"PK\x03\x04"
DTYPES = frozenset(
    {
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "bool",
    }
)

BFLOAT16 = np.dtype("V2")
"""h5py's representation of bfloat16, which numpy lacks: two bytes, the upper half of a float32."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """An open model file: its config and its weights. `paths`: groups are by class name, as in
    `.keras` files; otherwise by layer name.
    """

    path: str
    config: dict[str, Any]
    weights: h5py.Group
    paths: bool
    version: str = "3"
    assets: Callable[[str], bytes | None] = lambda _: None
    """The file of a layer's assets at a path in the archive."""
    backend: str = ""
    """The backend of Keras, if the file states it."""
    assigned: Mapping[str, Mapping[str, StoredWeight]] = field(default_factory=dict)
    """Weights that are already assigned to layer paths. The reader assigns the others."""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert any error of a parser of untrusted bytes to a SourceError that names the file."""
    try:
        yield
    except WebkilnError:
        raise
    except Exception as error:  # noqa: BLE001 - parsers of untrusted bytes raise anything
        what = " ".join(str(error).split()) or type(error).__name__
        raise SourceError(
            f"{path.name}: not a readable Keras model ({what}); it may be truncated or damaged;"
            " save it again with model.save()"
        ) from None


def read_config(path: Path) -> tuple[dict[str, Any], str] | None:
    """The config of a `.keras` archive, and the version of Keras that wrote it. None for other
    files.
    """
    with reading(path):
        if not path.is_file() or not zipfile.is_zipfile(path):
            return None
        with zipfile.ZipFile(path) as archive:
            _check_members(path.name, archive)
            return parse_config(path.name, archive.read("config.json")), _version(archive)


def _version(archive: zipfile.ZipFile) -> str:
    if "metadata.json" not in archive.namelist():
        return "3"
    return str(json.loads(archive.read("metadata.json")).get("keras_version", "3"))


@contextmanager
def open_source(path: Path) -> Iterator[ModelFile]:
    """Open a model file. Raises SourceError if it is not a Keras model, is damaged, or exceeds the
    size limit.
    """
    if not path.is_file():
        raise SourceError(f"{path}: there is no such file; give a .keras or .h5 file")
    with reading(path):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                _check_members(path.name, archive)
                config, version = (
                    parse_config(path.name, archive.read("config.json")),
                    _version(archive),
                )
                weights = io.BytesIO(_member(path.name, archive, "model.weights.h5"))

                def asset(place: str) -> bytes | None:
                    name = f"assets/{place}"
                    return _member(path.name, archive, name) if name in archive.namelist() else None

                with h5py.File(weights, "r") as file:
                    yield ModelFile(
                        path.name, config, file, paths=True, version=version, assets=asset
                    )
        elif h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                if "model_config" not in file.attrs:
                    raise SourceError(f"{path.name}: {WEIGHTS_ALONE}")
                config = parse_config(path.name, file.attrs["model_config"])
                version, backend = attribute(file, "keras_version", "3"), attribute(file, "backend")
                yield ModelFile(
                    path.name,
                    config,
                    _group(path.name, file, "model_weights"),
                    paths=False,
                    version=version,
                    backend=backend,
                )
        elif _start(path) == ZIP_START:
            raise SourceError(
                f"{path.name}: the end of the .keras archive is missing: the file is truncated;"
                " copy it or save it again"
            )
        else:
            raise SourceError(
                f"{path.name}: neither a .keras archive nor an HDF5 file; give a file that"
                " model.save() wrote"
            )


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(ZIP_START))


def attribute(file: h5py.Group, name: str, otherwise: str = "") -> str:
    return str(_text(file.attrs.get(name, otherwise)))


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


def names_in(group: h5py.Group, attribute: str) -> list[str]:
    """A list of names in an attribute, or, if it is long, in several attributes with a numeric
    suffix.
    """
    if attribute in group.attrs:
        return [str(_text(name)) for name in group.attrs[attribute]]
    found: list[str] = []
    for number in range(MAX_MEMBERS):
        if f"{attribute}{number}" not in group.attrs:
            break
        found += [str(_text(name)) for name in group.attrs[f"{attribute}{number}"]]
    return found


def _check_members(source: str, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > MAX_MEMBERS or len(set(names)) != len(names):
        raise SourceError(
            f"{source}: {len(members)} members (at most {MAX_MEMBERS}, no name twice): not an"
            " archive that Keras wrote"
        )
    for member in members:
        path = PurePosixPath(member.filename)
        if (
            path.is_absolute()
            or ".." in path.parts
            or "\\" in member.filename
            or ":" in member.filename
        ):
            raise SourceError(
                f"{source}: member {member.filename!r} points out of the archive; refused"
            )
        limit = MAX_JSON_BYTES if member.filename.endswith(".json") else MAX_BYTES
        ratio = member.file_size / max(member.compress_size, 1)
        if member.file_size > limit or (member.file_size > RATIO_FREE_BYTES and ratio > MAX_RATIO):
            raise SourceError(
                f"{source}: member {member.filename} claims {member.file_size} bytes from"
                f" {member.compress_size} (at most {limit}, and {MAX_RATIO} times); refused as a"
                " zip bomb"
            )
    for needed in ("config.json", "model.weights.h5"):
        if needed not in names:
            raise SourceError(
                f"{source}: a zip file without {needed}, not a .keras model; give a file that"
                " model.save() wrote"
            )


def _member(source: str, archive: zipfile.ZipFile, name: str) -> bytes:
    size = archive.getinfo(name).file_size
    with archive.open(name) as file:
        data = file.read(size + 1)
    if len(data) != size:
        raise SourceError(
            f"{source}: member {name} has {len(data)} bytes, but {size} in the directory of the"
            " archive"
        )
    return data


def _name_layers(config: Any) -> None:
    """Convert every Sequential whose config is a list of layers, as in Keras before 2.2.3, to the
    later form.
    """
    pending = [config]
    while pending:
        item = pending.pop()
        if (
            isinstance(item, dict)
            and item.get("class_name") == "Sequential"
            and isinstance(item.get("config"), list)
        ):
            item["config"] = {"name": item.get("name", "sequential"), "layers": item["config"]}
        pending += (
            item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        )


def parse_config(source: str, text: str | bytes) -> dict[str, Any]:
    """The config of a JSON model."""
    if len(text) > MAX_JSON_BYTES:
        raise SourceError(
            f"{source}: a config of {len(text)} bytes (at most {MAX_JSON_BYTES}); refused"
        )
    return checked_config(source, json.loads(text))


def checked_config(source: str, config: Any) -> dict[str, Any]:
    _name_layers(config)
    if (
        not isinstance(config, dict)
        or not isinstance(config.get("config"), dict)
        or "class_name" not in config
    ):
        raise SourceError(
            f"{source}: its config is not that of a Keras model; save it again with model.save()"
        )
    return config


def member(source: str, group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset | None:
    """A child of an HDF5 group, or None. Links to other files or out of the tree are rejected."""
    node: Any = group
    for part in name.split("/"):
        if (
            not isinstance(node, h5py.Group)
            or part in ("", ".", "..")
            or node.get(part, getlink=True) is None
        ):
            return None
        if not isinstance(node.get(part, getlink=True), h5py.HardLink):
            raise SourceError(f"{source}: {node.name}/{part} links elsewhere; refused")
        node = node[part]
    return node


def _group(source: str, parent: h5py.Group, name: str) -> h5py.Group:
    node = member(source, parent, name)
    if not isinstance(node, h5py.Group):
        raise SourceError(f"{source}: has no group {name}; save it again with model.save()")
    return node


def read_array(source: str, where: str, dataset: h5py.Group | h5py.Dataset | None) -> NDArray[Any]:
    """The array of a dataset, contiguous and little-endian. Rejects external and virtual datasets,
    wrong sizes, unsupported dtypes and NaN.
    """
    if not isinstance(dataset, h5py.Dataset):
        raise SourceError(f"{source}: {where} is missing; save the model again with model.save()")
    if dataset.external or dataset.is_virtual:
        raise SourceError(f"{source}: {where} stores its data outside the file; refused")
    dtype = dataset.dtype.newbyteorder("<")
    halves = dtype == BFLOAT16
    if dtype.name not in DTYPES and not halves:
        raise SourceError(
            f"{source}: {where} has dtype {dataset.dtype}; expected one of"
            f" {', '.join(sorted(DTYPES))}"
        )
    size, stored = dataset.size * dataset.dtype.itemsize, dataset.id.get_storage_size()
    packed = dataset.compression is not None
    if size > MAX_BYTES or stored > MAX_BYTES or size > stored * (MAX_RATIO if packed else 1):
        raise SourceError(
            f"{source}: {where} claims shape {list(dataset.shape)}, {size} bytes, but {stored}"
            " bytes are stored; refused"
        )
    if (instead := placeholder_array("<f4" if halves else dtype, dataset.shape)) is not None:
        return instead
    array = np.ascontiguousarray(dataset[()], dtype=dtype).reshape(dataset.shape)
    if halves:
        array = bfloat16_to_float32(array)
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise SourceError(
            f"{source}: {where} holds {int(np.isnan(array).sum())} NaN of {array.size}; train the"
            " model again"
        )
    return array
