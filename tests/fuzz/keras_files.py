"""Mutated `.keras` and `.h5` files: nothing ends in a traceback, or needs much time or memory."""

import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.reader import parse_model

VALUES = (
    None,
    True,
    0,
    -1,
    3,
    1 << 40,
    0.5,
    "",
    "relu",
    "valid",
    [],
    [1, 2],
    {},
    {"class_name": "Dense", "config": {}},
)


def models() -> list[Any]:
    from keras import Input, Model, Sequential, layers

    x = Input((8, 8, 2), name="image")
    y = layers.Concatenate()(
        [
            layers.Conv2D(3, 3, padding="same", activation="relu")(x),
            layers.DepthwiseConv2D(3, padding="same")(x),
        ]
    )
    y = layers.Dense(4, activation="softmax")(
        layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(layers.BatchNormalization()(y)))
    )
    words = Input((5,), dtype="int32")
    z = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(
        layers.Embedding(11, 4, mask_zero=True)(words)
    )
    inner = Sequential(
        [Input((6,)), layers.Dense(5), layers.LayerNormalization(), layers.LeakyReLU(0.1)]
    )
    heads = layers.MultiHeadAttention(2, 3)(z, z)
    return [
        Model(x, y),
        Model(words, [layers.GRU(2)(z), heads]),
        Sequential([Input((4, 6)), layers.TimeDistributed(inner), layers.Flatten()]),
    ]


@cache
def originals() -> tuple[tuple[str, bytes], ...]:
    saved_models = []
    with tempfile.TemporaryDirectory() as folder:
        for number, model in enumerate(models()):
            for suffix in ("keras", "h5"):
                path = Path(folder) / f"{number}.{suffix}"
                model.save(path)
                saved_models.append((suffix, path.read_bytes()))
    return tuple(saved_models)


def entries(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a config, with each of its keys."""
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value))
        if isinstance(value, list)
        else []
    )
    return [entry for key, inner in items for entry in ((value, key), *entries(inner))]


def mutate_config(rng: random.Random, text: str) -> tuple[str, str]:
    config = json.loads(text)
    all_entries = entries(config)
    container, key = rng.choice(all_entries)
    match rng.choice(["change", "change", "remove", "move", "rename"]):
        case "change":
            container[key] = rng.choice(VALUES)
        case "remove":
            del container[key]
        case "move":
            other, other_key = rng.choice(all_entries)
            container[key] = json.loads(json.dumps(other[other_key]))
        case "rename":
            if isinstance(container, dict):
                container[f"{key}x"] = container.pop(key)
    return json.dumps(config), f"config at {key!r}"


def mutate(rng: random.Random, suffix: str, data: bytes) -> tuple[bytes, str]:
    if rng.random() < 0.3:
        return mutate_bytes(rng, data), "bytes"
    if suffix == "h5":
        import h5py

        memory = io.BytesIO(data)
        with h5py.File(memory, "r+") as file:
            text, mutation = mutate_config(rng, file.attrs["model_config"])
            file.attrs["model_config"] = text
        return memory.getvalue(), mutation
    result, mutation = io.BytesIO(), ""
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(result, "w") as output:
        damaged = rng.choice([None, None, *archive.namelist()])
        for name in archive.namelist():
            content = archive.read(name)
            if name == "config.json" and damaged is None:
                text, mutation = mutate_config(rng, content.decode())
                content = text.encode()
            elif name == damaged:
                content, mutation = mutate_bytes(rng, content), f"bytes of {name}"
            output.writestr(name, content)
    return result.getvalue(), mutation


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    suffix, data = rng.choice(originals())
    data, mutation = mutate(rng, suffix, data)
    (folder / f"net.{suffix}").write_bytes(data)
    return f"{suffix}, {mutation}"


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Probe the file, then build up to the printed program of js, without Keras."""
    (path,) = folder.glob("net.*")
    phase("checking")
    spec, blobs = parse_model(path)
    phase("converting")
    graph = KerasConverter().convert(spec, blobs)
    compile_and_pack(graph, phase)
    phase("done")


FORMAT = files.Format(make, attempt, lambda folder: None)
