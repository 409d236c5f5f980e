"""Models of the folder `written`, and writers of model files in the layouts of old versions."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

WRITTEN = Path(__file__).with_name("written")
Config = dict[str, Any]
Lists = dict[str, list[tuple[str, np.ndarray]]]
CONTAINERS = ("Functional", "Model", "Sequential")


@dataclass(frozen=True)
class Model:
    """A model of Keras 2: its name, its config, the named weights of each layer in order, inputs
    and outputs.
    """

    name: str
    config: Config
    lists: Lists
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


def read(name: str) -> Model:
    with h5py.File(WRITTEN / f"{name}.h5") as file:
        config, group = json.loads(file.attrs["model_config"]), file["model_weights"]
        lists = {
            layer: [
                (weight, group[layer][weight][()]) for weight in group[layer].attrs["weight_names"]
            ]
            for layer in group.attrs["layer_names"]
        }
    with np.load(WRITTEN / f"{name}.npz") as arrays:
        inputs, expected = (
            [arrays[key] for key in sorted(arrays) if key[0] == kind] for kind in "xy"
        )
    return Model(name, config, lists, inputs, expected)


def read_3(name: str) -> Model:
    """The inputs of a model of Keras 3, and the outputs that Keras 3.0 computed."""
    with np.load(WRITTEN / f"{name}.3.0.npz") as arrays:
        inputs, expected = (
            [arrays[key] for key in sorted(arrays) if key[0] == kind] for kind in "xy"
        )
    return Model(name, {}, {}, inputs, expected)


def layers_of(config: Config) -> list[Config]:
    return config["config"]["layers"]


def every_layer(config: Config) -> Iterator[Config]:
    for layer in layers_of(config):
        yield layer
        if layer["class_name"] in CONTAINERS:
            yield from every_layer(layer)


def write_lists(group: h5py.Group, lists: Lists, *, pieces: int = 1) -> None:
    """Write weight lists. `pieces` is the number of attributes among which lists of names are
    divided, as Keras divides long ones.
    """

    def put(target: h5py.Group, name: str, values: list[str]) -> None:
        for number, part in enumerate(np.array_split([value.encode() for value in values], pieces)):
            target.attrs[f"{name}{number}" if pieces > 1 else name] = part.tolist()

    put(group, "layer_names", list(lists))
    for layer, arrays in lists.items():
        part = group.create_group(layer)
        put(part, "weight_names", [name for name, _ in arrays])
        for name, array in arrays:
            part[name] = array


def write_h5(
    path: Path,
    config: Config,
    lists: Lists,
    version: str,
    backend: str = "tensorflow",
    pieces: int = 1,
) -> None:
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"] = version.encode()
        if backend:
            file.attrs["backend"] = backend.encode()
        file.attrs["model_config"] = json.dumps(config).encode()
        file.attrs["training_config"] = b"{}"
        group = file.create_group("model_weights")
        if version >= "2":
            group.attrs["keras_version"], group.attrs["backend"] = (
                version.encode(),
                backend.encode(),
            )
        write_lists(group, lists, pieces=pieces)
        file.create_group("optimizer_weights").attrs["weight_names"] = [b"iterations:0"]


def write_weights(path: Path, lists: Lists, version: str, backend: str = "tensorflow") -> None:
    """Write a file like `save_weights`."""
    with h5py.File(path, "w") as file:
        if version >= "2":
            file.attrs["keras_version"], file.attrs["backend"] = version.encode(), backend.encode()
        write_lists(file, lists)


def write_tfjs(
    folder: Path,
    model: Model,
    *,
    shard: int = 1 << 22,
    quantized: str = "",
    bare_config: bool = False,
) -> Path:
    """Write a folder like tensorflowjs_converter. `shard` is the maximum size of a file;
    `quantized` is a dtype.
    """
    data, weights = b"", []
    for layer in sorted(model.lists):
        for name, array in model.lists[layer]:
            entry: Config = {
                "name": name.removesuffix(":0"),
                "shape": list(array.shape),
                "dtype": array.dtype.name,
            }
            packed = array
            if quantized == "float16":
                packed, entry["quantization"] = (
                    array.astype("float16"),
                    {"dtype": "float16", "original_dtype": "float32"},
                )
            elif quantized:
                least, most = float(array.min()), float(array.max())
                scale = (most - least) / np.iinfo(quantized).max or 1.0
                packed = np.round((array - least) / scale).astype(quantized)
                entry["quantization"] = {
                    "dtype": quantized,
                    "min": least,
                    "scale": scale,
                    "original_dtype": "float32",
                }
            data += packed.tobytes()
            weights.append(entry)
    folder.mkdir(exist_ok=True)
    parts = [data[at : at + shard] for at in range(0, len(data), shard)]
    paths = [f"group1-shard{number + 1}of{len(parts)}.bin" for number, _ in enumerate(parts)]
    for name, part in zip(paths, parts, strict=True):
        (folder / name).write_bytes(part)
    topology = (
        model.config
        if bare_config
        else {"keras_version": "2.4.0", "backend": "tensorflow", "model_config": model.config}
    )
    manifest = [{"paths": paths, "weights": weights}]
    text = {
        "format": "layers-model",
        "generatedBy": "keras v2.4.0",
        "modelTopology": topology,
        "weightsManifest": manifest,
    }
    (folder / "model.json").write_text(json.dumps(text))
    return folder / "model.json"
