"""Keras files of a few kilobytes that need minutes of time or gigabytes of memory."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

LEVELS = 30


def layer(
    kind: str, name: str, config: dict[str, Any], *calls: list[Any], module: str = "keras.layers"
) -> dict[str, Any]:
    nodes = [{"args": [tensor], "kwargs": {}} for tensor in calls]
    return {
        "module": module,
        "class_name": kind,
        "name": name,
        "config": {"name": name, **config},
        "inbound_nodes": nodes,
    }


def tensor(name: str, call: int = 0) -> dict[str, Any]:
    return {
        "class_name": "__keras_tensor__",
        "config": {"shape": [None, 4], "dtype": "float32", "keras_history": [name, call, 0]},
    }


def functional(name: str, layers: list[dict[str, Any]], last: str, call: int) -> dict[str, Any]:
    source = layer("InputLayer", f"{name}_in", {"batch_shape": [None, 4], "dtype": "float32"})
    return {
        "name": name,
        "trainable": True,
        "layers": [source, *layers],
        "input_layers": [[f"{name}_in", 0, 0]],
        "output_layers": [[last, call, 0]],
    }


def dense(units: int, *calls: Any) -> dict[str, Any]:
    return layer(
        "Dense", "dense", {"units": units, "activation": "linear", "use_bias": True}, *calls
    )


def archive(config: dict[str, Any], fill: Callable[[h5py.File], None]) -> bytes:
    weights, archive_file = io.BytesIO(), io.BytesIO()
    with h5py.File(weights, "w") as file:
        fill(file)
    model_config = {"module": "keras", "class_name": "Functional", "config": config}
    with zipfile.ZipFile(archive_file, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("metadata.json", json.dumps({"keras_version": "3.15.1"}))
        file.writestr("config.json", json.dumps(model_config))
        file.writestr("model.weights.h5", weights.getvalue())
    return archive_file.getvalue()


def models_of_models() -> bytes:
    """Each calls the nested model twice: 2^30 layers."""
    config = functional("m0", [dense(4, tensor("m0_in"))], "dense", 0)
    for level in range(1, LEVELS):
        inner = layer(
            "Functional",
            f"m{level - 1}",
            config,
            tensor(f"m{level}_in"),
            tensor(f"m{level - 1}"),
            module="keras",
        )
        config = functional(f"m{level}", [inner], f"m{level - 1}", 1)

    def fill(file: h5py.File) -> None:
        group = file.create_group("layers/" + "functional/layers/" * (LEVELS - 1) + "dense/vars")
        group["0"], group["1"] = np.eye(4, dtype=np.float32), np.zeros(4, np.float32)

    return archive(config, fill)


def unstored() -> bytes:
    """A kernel of 4 GB with no stored data."""

    def fill(file: h5py.File) -> None:
        group = file.create_group("layers/dense/vars")
        group.create_dataset("0", (4, 1 << 28), "<f4", chunks=(4, 1 << 16))
        group.create_dataset("1", (1 << 28,), "<f4", chunks=(1 << 16,))

    return archive(functional("m", [dense(1 << 28, tensor("m_in"))], "dense", 0), fill)


def compressed() -> bytes:
    """A kernel of 512 MB in half a megabyte."""

    def fill(file: h5py.File) -> None:
        group = file.create_group("layers/dense/vars")
        group.create_dataset(
            "0",
            (4, 1 << 25),
            "<f4",
            chunks=(4, 1 << 20),
            compression="gzip",
            compression_opts=9,
            data=np.zeros((4, 1 << 25), "<f4"),
        )
        group.create_dataset(
            "1",
            (1 << 25,),
            "<f4",
            chunks=(1 << 20,),
            compression="gzip",
            compression_opts=9,
            data=np.zeros(1 << 25, "<f4"),
        )

    return archive(functional("m", [dense(1 << 25, tensor("m_in"))], "dense", 0), fill)


def repeated() -> bytes:
    repeat_layer = layer("RepeatVector", "repeat", {"n": 1 << 40}, tensor("m_in"))
    return archive(functional("m", [repeat_layer], "repeat", 0), lambda file: None)


def upsampled() -> bytes:
    config = {"size": 1 << 30, "data_format": "channels_last"}
    return archive(
        functional("m", [layer("UpSampling1D", "up", config, tensor("m_in"))], "up", 0),
        lambda file: None,
    )


HOSTILE: tuple[Callable[[], bytes], ...] = (
    models_of_models,
    unstored,
    compressed,
    repeated,
    upsampled,
)


def write(make: Callable[[], bytes], folder: Path) -> str:
    data = make()
    (folder / "net.keras").write_bytes(data)
    return f"{len(data)} bytes"
