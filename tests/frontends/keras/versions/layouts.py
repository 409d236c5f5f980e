"""Rewrites the models of `written/` as other versions of Keras wrote them, by the documented
formats.
"""

import copy
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from tests.frontends.keras.versions import keras_1, models_3

WRITTEN = Path(__file__).with_name("written")
Config = dict[str, Any]
Lists = dict[str, list[tuple[str, np.ndarray]]]
CONTAINERS = ("Functional", "Model", "Sequential")


@dataclass(frozen=True)
class Model:
    """A model as Keras 2 states it: its name, its config, the weights of each layer in Keras's
    order with their names; inputs and outputs.
    """

    name: str
    config: Config
    lists: Lists
    given: list[np.ndarray]
    wanted: list[np.ndarray]


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
        given, wanted = ([arrays[key] for key in sorted(arrays) if key[0] == kind] for kind in "xy")
    return Model(name, config, lists, given, wanted)


def read_3(name: str) -> Model:
    """A model of Keras 3, of which only inputs and outputs are known here: those that Keras 3.0
    computed.
    """
    with np.load(WRITTEN / f"{name}.3.0.npz") as arrays:
        given, wanted = ([arrays[key] for key in sorted(arrays) if key[0] == kind] for kind in "xy")
    return Model(name, {}, {}, given, wanted)


def layers_of(config: Config) -> list[Config]:
    return config["config"]["layers"]


def every_layer(config: Config) -> Iterator[Config]:
    for layer in layers_of(config):
        yield layer
        if layer["class_name"] in CONTAINERS:
            yield from every_layer(layer)


def write_lists(group: h5py.Group, lists: Lists, *, pieces: int = 1) -> None:
    """`pieces`: among how many attributes lists of names are divided, as those are that are too
    long for one.
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
    """What `save_weights` writes."""
    with h5py.File(path, "w") as file:
        if version >= "2":
            file.attrs["keras_version"], file.attrs["backend"] = version.encode(), backend.encode()
        write_lists(file, lists)


def tf_keras_2_4(model: Model) -> Model:
    """Without what later versions of tf.keras added."""
    config = copy.deepcopy(model.config)
    for layer in every_layer(config):
        layer["config"].pop("optional", None)
    return replace(model, config=config)


def keras_2_2(model: Model) -> Model:
    """Standalone Keras 2.2.3 and later: models are of class Model, chains without a layer for their
    input; cells have no name in those of weights.
    """
    model = tf_keras_2_4(model)
    config = model.config
    for part in [config, *every_layer(config)]:
        if part["class_name"] == "Functional":
            part["class_name"] = "Model"
        if part["class_name"] == "Sequential":
            start, *rest = part["config"]["layers"]
            if start["class_name"] == "InputLayer":
                rest[0]["config"] = {
                    **rest[0]["config"],
                    "batch_input_shape": start["config"]["batch_input_shape"],
                }
                part["config"]["layers"] = rest
    for layer in every_layer(config):
        inner = layer["config"]
        for key in ("ragged", "dtype", "time_major", "groups", "implementation", "keepdims"):
            inner.pop(key, None)
        if isinstance(inner.get("axis"), list):
            inner["axis"] = inner["axis"][0]
    lists = {
        layer: [
            (
                name.replace("/lstm_cell", "")
                .replace("/gru_cell", "")
                .replace("/simple_rnn_cell", ""),
                array,
            )
            for name, array in arrays
        ]
        for layer, arrays in model.lists.items()
        if layer != "top_level_model_weights"
    }
    return replace(model, config=config, lists=lists)


def keras_2_0(model: Model) -> Model:
    """Up to 2.2.2 the config of a Sequential is the list of its layers, and before 2.1.? GRU had no
    `reset_after`.
    """
    model = keras_2_2(model)
    for layer in [*every_layer(model.config)]:
        layer["config"].pop("reset_after", None) if isinstance(layer["config"], dict) else None
    return replace(model, config=bare(model.config))


def bare(config: Config) -> Config:
    """With every Sequential as the list of its layers."""
    config = copy.deepcopy(config)
    for part in [*every_layer(config), config]:
        if part["class_name"] == "Sequential" and isinstance(part["config"], dict):
            part["config"] = part["config"]["layers"]
    return config


def keras_1_2(model: Model, *, first: bool = False, theano: bool = False) -> Model:
    """Keras 1.2; `first`: with channels first, Theano's order; `theano`: with its kernels."""
    model = keras_2_2(model)
    lists: Lists = {}
    for layer in layers_of(model.config):
        arrays = model.lists.get(layer["config"]["name"], [])
        lists[layer["config"]["name"]] = _weights_1(
            layer, [array for _, array in arrays], first=first, theano=theano
        )
    config = _config_1(model.config, first=first)
    given = [
        np.moveaxis(x, -1, 2 if _over_time(model.config) else 1) if first else x
        for x in model.given
    ]
    return replace(model, config=bare(config), lists=lists, given=given)


def _over_time(config: Config) -> bool:
    return any(layer["class_name"] == "ConvLSTM2D" for layer in layers_of(config))


def _weights_1(
    layer: Config, arrays: list[np.ndarray], *, first: bool, theano: bool
) -> list[tuple[str, np.ndarray]]:
    name = layer["config"]["name"]
    if layer["class_name"] not in CONTAINERS:
        made = (
            keras_1.weights(
                layer["class_name"], layer["config"], arrays, first=first, theano=theano
            )
            if arrays
            else []
        )
        return _numbered([(f"{name}_{end}", array) for end, array in made])
    moving, fixed, rest = [], [], list(arrays)
    leaves = [
        leaf for leaf in every_layer(layer) if leaf["class_name"] not in (*CONTAINERS, "InputLayer")
    ]
    sizes = [_sizes(leaf) for leaf in leaves]
    for leaf, (count, _) in zip(leaves, sizes, strict=True):
        moving += [(f"{leaf['config']['name']}_W", rest.pop(0)) for _ in range(count)]
    for leaf, (_, count) in zip(leaves, sizes, strict=True):
        fixed += [(f"{leaf['config']['name']}_m", rest.pop(0)) for _ in range(count)]
    return _numbered([*moving, *fixed])


def _sizes(leaf: Config) -> tuple[int, int]:
    moving, fixed = {"Dense": (2, 0), "BatchNormalization": (2, 2)}.get(leaf["class_name"], (0, 0))
    return (moving, fixed) if leaf["config"].get("trainable", True) else (0, moving + fixed)


def _numbered(arrays: list[tuple[str, np.ndarray]]) -> list[tuple[str, np.ndarray]]:
    """Names that are not equal, as those of one file cannot be."""
    found: Lists = {}
    for name, array in arrays:
        found.setdefault(name, []).append((name, array))
    return [
        (
            (
                f"{name}_{[id(a) for _, a in found[name]].index(id(array))}"
                if len(found[name]) > 1
                else name
            ),
            array,
        )
        for name, array in arrays
    ]


def _config_1(config: Config, *, first: bool) -> Config:
    layers = []
    for layer in config["config"]["layers"]:
        if layer["class_name"] in CONTAINERS:
            made = _config_1(layer, first=first)
        else:
            made = keras_1.entry(layer["class_name"], layer["config"], first=first)
            made["config"] = (
                _moved(made["config"], time=_over_time(config)) if first else made["config"]
            )
        if "inbound_nodes" in layer:
            nodes = [[item[:3] for item in node] for node in layer["inbound_nodes"]]
            made = {**made, "name": layer["name"], "inbound_nodes": nodes}
        layers.append(made)
    return {"class_name": config["class_name"], "config": {**config["config"], "layers": layers}}


def _moved(config: Config, *, time: bool) -> Config:
    shape = config.get("batch_input_shape")
    if shape is not None:
        at = 2 if time else 1
        config = {**config, "batch_input_shape": [*shape[:at], shape[-1], *shape[at:-1]]}
    return {**config, "axis": 1} if config.get("axis") in (3, 4) else config


def write_tfjs(
    folder: Path,
    model: Model,
    *,
    shard: int = 1 << 22,
    quantized: str = "",
    bare_config: bool = False,
) -> Path:
    """What tensorflowjs_converter writes; `shard`: the largest size of a file, `quantized`: to
    which dtype.
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


@dataclass(frozen=True)
class File:
    """A file in the layout of a version of Keras: the model, how that version states it, and how it
    writes it to a folder; the path of the model, and of what belongs to it.
    """

    layout: str
    model: str
    stated: Callable[[Model], Model]
    write: Callable[[Path, Model], tuple[Path, Path | None]]

    @property
    def name(self) -> str:
        return f"{self.layout}: {self.model}"


def _h5(version: str, **options: Any) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    def write(folder: Path, model: Model) -> tuple[Path, Path | None]:
        write_h5(folder / "model.h5", model.config, model.lists, version, **options)
        return folder / "model.h5", None

    return write


def _json(version: str) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    def write(folder: Path, model: Model) -> tuple[Path, Path | None]:
        (folder / "model.json").write_text(
            json.dumps({**model.config, "keras_version": version, "backend": "tensorflow"})
        )
        write_weights(folder / "weights.h5", model.lists, version)
        return folder / "model.json", folder / "weights.h5"

    return write


def _yaml(version: str) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    def write(folder: Path, model: Model) -> tuple[Path, Path | None]:
        import yaml

        text = yaml.dump({**model.config, "keras_version": version}, default_flow_style=None)
        (folder / "model.yaml").write_text(
            text.replace("batch_input_shape: [", "batch_input_shape: !!python/tuple [")
        )
        write_weights(folder / "weights.h5", model.lists, version)
        return folder / "model.yaml", folder / "weights.h5"

    return write


def _archive(version: str) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    """A `.keras` that this version of Keras wrote."""
    return lambda folder, model: (WRITTEN / f"{model.name}.{version}.keras", None)


def _pair(folder: Path, model: Model) -> tuple[Path, Path | None]:
    """The config and the weights of a `.keras`, which are what `to_json` and `save_weights` give."""
    with zipfile.ZipFile(WRITTEN / f"{model.name}.3.0.5.keras") as archive:
        for member, name in (
            ("config.json", "model.json"),
            ("model.weights.h5", "model.weights.h5"),
        ):
            (folder / name).write_bytes(archive.read(member))
    return folder / "model.json", folder / "model.weights.h5"


def _now(ending: str) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    """What the Keras that is installed writes."""

    def write(folder: Path, model: Model) -> tuple[Path, Path | None]:
        made = models_3.made(model.name)
        if ending != "pair":
            made.save(folder / f"model.{ending}")
            return folder / f"model.{ending}", None
        (folder / "model.json").write_text(made.to_json())
        made.save_weights(folder / "model.weights.h5")
        return folder / "model.json", folder / "model.weights.h5"

    return write


def _tfjs(**options: Any) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    return lambda folder, model: (write_tfjs(folder, model, **options), None)


ARCHIVED = sorted(path.name.partition(".")[0] for path in WRITTEN.glob("*.2.12.0.keras"))
KERAS_3 = sorted(path.name.partition(".")[0] for path in WRITTEN.glob("*.3.0.5.keras"))
RECENT = frozenset({"attention", "gru_after", "local_2", "lstm_sigmoid", "stacked"})
"""Models that Keras 1 and 2.0 cannot state."""
ALL = sorted(path.stem for path in WRITTEN.glob("*.h5"))
OLD = [name for name in ALL if name not in RECENT]
IMAGES = ["conv_2d", "atrous", "conv_3d", "transposed", "separable", "images_over_time", "local_2d"]
CONVOLVED = ["conv_2d", "atrous", "conv_3d", "transposed", "images_over_time"]


def same(model: Model) -> Model:
    return model


FILES: Mapping[str, File] = {
    file.name: file
    for file in (
        *(File("3.0", name, same, _archive("3.0.5")) for name in KERAS_3),
        *(File("3.0, weights beside JSON", name, same, _pair) for name in KERAS_3),
        *(File("3.15", name, same, _now("keras")) for name in KERAS_3),
        *(File("3.15, h5", name, same, _now("h5")) for name in KERAS_3),
        *(File("3.15, weights beside JSON", name, same, _now("pair")) for name in KERAS_3),
        *(File("2.12, archive", name, same, _archive("2.12.0")) for name in ARCHIVED),
        *(File("2.15, archive", name, same, _archive("2.21.0")) for name in ARCHIVED),
        *(File("2.15", name, same, _h5("2.15.0")) for name in ALL),
        *(File("2.4", name, tf_keras_2_4, _h5("2.4.0")) for name in ALL),
        *(File("2.2.4", name, keras_2_2, _h5("2.2.4")) for name in OLD if name != "local_2"),
        *(
            File("2.2.4, split attributes", name, keras_2_2, _h5("2.2.4", pieces=3))
            for name in ("dense", "merged")
        ),
        *(File("2.0", name, keras_2_0, _h5("2.0.9")) for name in OLD),
        *(File("1.2", name, keras_1_2, _h5("1.2.2", backend="")) for name in OLD),
        *(
            File(
                "1.2, channels first, Theano",
                name,
                lambda m: keras_1_2(m, first=True, theano=True),
                _h5("1.2.2", backend=""),
            )
            for name in CONVOLVED
        ),
        *(
            File(
                "1.2, channels first, TensorFlow",
                name,
                lambda m: keras_1_2(m, first=True),
                _h5("1.2.2", backend="tensorflow"),
            )
            for name in IMAGES
        ),
        *(
            File(
                "1.2, Theano",
                name,
                lambda m: keras_1_2(m, theano=True),
                _h5("1.2.2", backend="theano"),
            )
            for name in ("conv_1d", "conv_2d", "over_time")
        ),
        *(
            File("1.2, weights beside JSON", name, keras_1_2, _json("1.2.2"))
            for name in ("dense", "lstm", "nested", "both_ways")
        ),
        *(
            File("1.2, weights beside YAML", name, keras_1_2, _yaml("1.2.2"))
            for name in ("conv_2d", "merged")
        ),
        *(
            File("2.2.4, weights beside JSON", name, keras_2_2, _json("2.2.4"))
            for name in ("gru", "over_time", "frozen")
        ),
        *(
            File("2.15, weights beside YAML", name, same, _yaml("2.15.0"))
            for name in ("words", "shared")
        ),
        *(File("TensorFlow.js", name, tf_keras_2_4, _tfjs()) for name in ALL if name != "local_2"),
        *(
            File("TensorFlow.js, shards", name, tf_keras_2_4, _tfjs(shard=100))
            for name in ("dense", "nested")
        ),
        File("TensorFlow.js, float16", "conv_2d", tf_keras_2_4, _tfjs(quantized="float16")),
        File("TensorFlow.js, uint16", "conv_2d", tf_keras_2_4, _tfjs(quantized="uint16")),
        File("TensorFlow.js, uint8", "conv_2d", tf_keras_2_4, _tfjs(quantized="uint8")),
        File("TensorFlow.js, config alone", "lstm", tf_keras_2_4, _tfjs(bare_config=True)),
    )
}
