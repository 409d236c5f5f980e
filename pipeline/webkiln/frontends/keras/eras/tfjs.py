"""TensorFlow.js layers models: a `model.json` with the config of a Keras model, and files with the bytes of its weights."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.archive import MAX_BYTES, MAX_JSON_BYTES, ModelFile, checked_config, reading
from webkiln.frontends.keras.eras import translate
from webkiln.frontends.keras.eras.assign import Assigned, Misfit, assigned, counts, leaves, misfit
from webkiln.frontends.keras.eras.held import Held
from webkiln.frontends.keras.eras.layouts import Era
from webkiln.frontends.keras.eras.shards import shard_names
from webkiln.ir.types import Array

DTYPES = {"float32": "<f4", "float16": "<f2", "int32": "<i4", "uint8": "u1", "uint16": "<u2", "bool": "u1"}
QUANTIZED = ("uint8", "uint16", "float16")
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
            raise SourceError(f"{path.name}: {path.stat().st_size} bytes of JSON (at most {MAX_JSON_BYTES}); refused")
        data = json.loads(path.read_bytes())
        config, version = _topology(path.name, data)
        model = translate.modern(config)
        held = _assigned(path.name, model, _weights(path.name, data, folder))
    with h5py.File(BytesIO(), "w") as nothing:
        yield ModelFile(path.name, config, nothing, paths=False, version=version, held=held)


def _topology(source: str, data: Any) -> tuple[dict[str, Any], str]:
    """The config of the model, and the version of Keras that it is of."""
    if not isinstance(data, dict) or "weightsManifest" not in data or not isinstance(data.get("modelTopology"), dict):
        if isinstance(data, dict) and {"class_name", "config"} <= data.keys():
            raise SourceError(f"{source}: a Keras model without weights; give them, too: --weights FILE.h5, of model.save_weights()")
        raise SourceError(f"{source}: JSON, but neither a TensorFlow.js model nor the architecture of a Keras model")
    topology = data["modelTopology"]
    if data.get("format") == "graph-model" or "node" in topology:
        raise SourceError(
            f"{source}: a TensorFlow.js graph model, which is not read; give the Keras model or the SavedModel's source that it was made from, "
            "or convert that as a layers model"
        )
    config = topology.get("model_config", topology)
    version = str(topology.get("keras_version", "2"))
    return checked_config(source, config), version if version.partition(".")[0].isdigit() and version[0] in "123" else "2"


def _weights(source: str, data: Mapping[str, Any], folder: Path) -> list[Held]:
    """The weights of the manifest, in its order; the files of each of its groups are one run of bytes."""
    shard_names(source, data)
    found: list[Held] = []
    for group in data["weightsManifest"]:
        parts = [folder / name for name in group["paths"]]
        for name, part in zip(group["paths"], parts, strict=True):
            if not part.is_file():
                raise SourceError(f"{source}: its weights are in {name!r}, which is not beside it; copy all files of the model")
        sizes = [part.stat().st_size for part in parts]
        at = 0
        for weight in group["weights"]:
            held, size = _held(source, weight, parts, sizes, at)
            found.append(held)
            at += size
        if at != sum(sizes):
            raise SourceError(
                f"{source}: {', '.join(group['paths'])} hold {sum(sizes)} bytes, the manifest lists weights of {at}; "
                "a file is damaged or of another model, copy them again"
            )
    names = [held.name for held in found]
    if len(set(names)) != len(names):
        raise SourceError(f"{source}: its manifest lists a weight twice; convert the model again")
    return found


def _held(source: str, weight: Mapping[str, Any], parts: Sequence[Path], sizes: Sequence[int], at: int) -> tuple[Held, int]:
    """A weight that begins at a byte of its group, and how many bytes it has."""
    name, dtype, shape = str(weight["name"]), str(weight["dtype"]), tuple(weight["shape"])
    packing = weight.get("quantization") or {}
    stored = str(packing.get("dtype", dtype))
    if stored not in (QUANTIZED if packing else DTYPES) or dtype not in DTYPES:
        kinds = f"quantized to {', '.join(QUANTIZED)}, or one of {', '.join(DTYPES)}"
        raise SourceError(f"{source}: weight {name} has dtype {dtype if dtype not in DTYPES else stored}; expected {kinds}")
    if not all(type(size) is int and 0 <= size < MAX_BYTES for size in shape) or math.prod(shape) > MAX_BYTES:
        raise SourceError(f"{source}: weight {name} claims shape {list(shape)}; refused")
    length = math.prod(shape) * np.dtype(DTYPES[stored]).itemsize
    if at + length > sum(sizes):
        names = ", ".join(part.name for part in parts)
        raise SourceError(f"{source}: {names} hold {sum(sizes)} bytes, weight {name} ends at byte {at + length}; copy the files again")

    def read() -> Array:
        values = np.frombuffer(_bytes(parts, sizes, at, length), DTYPES[stored]).reshape(shape)
        result = _unpacked(source, name, values, packing, dtype)
        if result.dtype.kind == "f" and np.isnan(result).any():
            raise SourceError(f"{source}: {name} holds {int(np.isnan(result).sum())} NaN of {result.size}; train the model again")
        return result

    return Held(name, shape, read), length


def _bytes(parts: Sequence[Path], sizes: Sequence[int], at: int, length: int) -> bytes:
    """Bytes of files that follow each other."""
    found = []
    for part, size in zip(parts, sizes, strict=True):
        if 0 <= at < size and length:
            with part.open("rb") as file:
                file.seek(at)
                found.append(file.read(min(length, size - at)))
            length -= len(found[-1])
        at = max(at - size, 0)
    return b"".join(found)


def _unpacked(source: str, name: str, values: Array, packing: Mapping[str, Any], dtype: str) -> Array:
    """Numbers as they were before quantization: scale * q + min, in float32 as TensorFlow.js computes it."""
    if values.dtype.kind == "u" and packing:
        scale, least = packing.get("scale"), packing.get("min")
        if not isinstance(scale, int | float) or not isinstance(least, int | float) or not math.isfinite(scale) or not math.isfinite(least):
            raise SourceError(f"{source}: weight {name} is quantized to {values.dtype} without scale and min; convert the model again")
        values = values * np.float64(scale) + np.float64(least)
        values = np.round(values) if dtype == "int32" else values
    return values.astype("bool" if dtype == "bool" else DTYPES[dtype])


def _assigned(source: str, model: Mapping[str, Any], held: Sequence[Held]) -> Assigned:
    """The weights of every layer: those with its name in theirs, `dense_1/kernel`."""
    found: Assigned = {}
    for entry in model["config"]["layers"]:
        for path, leaf in leaves(entry, configs.layer_name(entry)):
            own = _of_layer(held, configs.layer_name(leaf))
            try:
                if any(counts(leaf, ERA)):
                    found |= assigned(leaf, path, own, ERA)
            except Misfit:
                raise misfit(source, path, leaf, own) from None
    return found


def _of_layer(held: Sequence[Held], name: str) -> list[Held]:
    first = [item for item in held if item.name.partition("/")[0] == name]
    return first or [item for item in held if name in item.name.split("/")[:-1]]
