"""Model files in the layouts of all versions of Keras."""

import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.frontends.keras.versions import models_3
from tests.frontends.keras.versions.eras import keras_1_2, keras_2_0, keras_2_2, tf_keras_2_4
from tests.frontends.keras.versions.model_files import (
    WRITTEN,
    Model,
    write_h5,
    write_tfjs,
    write_weights,
)


@dataclass(frozen=True)
class File:
    """A file in the layout of a version of Keras: the model, its conversion to that version, and
    the writer, which returns the paths of the model and of its companion.
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
    """A `.keras` file written by this version of Keras."""
    return lambda folder, model: (WRITTEN / f"{model.name}.{version}.keras", None)


def _pair(folder: Path, model: Model) -> tuple[Path, Path | None]:
    """The config and the weights of a `.keras` file, as `to_json` and `save_weights` write them."""
    with zipfile.ZipFile(WRITTEN / f"{model.name}.3.0.5.keras") as archive:
        for member, name in (
            ("config.json", "model.json"),
            ("model.weights.h5", "model.weights.h5"),
        ):
            (folder / name).write_bytes(archive.read(member))
    return folder / "model.json", folder / "model.weights.h5"


def _now(ending: str) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    """A file of the installed version of Keras."""

    def write(folder: Path, model: Model) -> tuple[Path, Path | None]:
        model_3 = models_3.build(model.name)
        if ending != "pair":
            model_3.save(folder / f"model.{ending}")
            return folder / f"model.{ending}", None
        (folder / "model.json").write_text(model_3.to_json())
        model_3.save_weights(folder / "model.weights.h5")
        return folder / "model.json", folder / "model.weights.h5"

    return write


def _tfjs(**options: Any) -> Callable[[Path, Model], tuple[Path, Path | None]]:
    return lambda folder, model: (write_tfjs(folder, model, **options), None)


ARCHIVED = sorted(path.name.partition(".")[0] for path in WRITTEN.glob("*.2.12.0.keras"))
KERAS_3 = sorted(path.name.partition(".")[0] for path in WRITTEN.glob("*.3.0.5.keras"))
RECENT = frozenset({"attention", "gru_after", "local_2", "lstm_sigmoid", "stacked"})
"""Models that Keras 1 and 2.0 cannot represent."""
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
