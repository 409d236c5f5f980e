"""Valid and invalid model files for the command line, written without running a model."""

import zipfile
from pathlib import Path

import keras
import numpy as np


def good() -> keras.Model:
    layers = keras.layers
    x = keras.Input((6, 6, 1), name="x")
    y = layers.Conv2D(8, 3, activation="relu", name="conv")(x)
    y = layers.Flatten(name="flat")(y)
    return keras.Model(x, layers.Dense(4, activation="softmax", name="scores")(y), name="good")


class Doubled(keras.layers.Layer):
    """A class that no plugin registers."""

    def call(self, x: keras.KerasTensor) -> keras.KerasTensor:
        return x * 2


def write(folder: Path) -> None:
    """Write good.keras, good.h5, and one file for each kind of defect."""
    model = good()
    model.save(folder / "good.keras")
    model.save(folder / "good.h5")
    for name in ("good.keras", "good.h5"):
        data = (folder / name).read_bytes()
        (folder / name.replace("good", "truncated")).write_bytes(data[: len(data) // 2])
    (folder / "letter.keras").write_text("Dear webkiln, this is not a model.")
    (folder / "empty.keras").write_bytes(b"")
    _write_bomb(folder / "good.keras", folder / "bomb.keras")
    x = keras.Input((6, 6, 1), name="x")
    keras.Model(x, keras.layers.Lambda(_leave_a_trace, name="lam", output_shape=(6, 6, 1))(x)).save(
        folder / "lambda.keras"
    )
    keras.Model(x, Doubled(name="second")(Doubled(name="first")(x))).save(folder / "unknown.keras")
    weights = model.get_weights()
    weights[0][0, 0, 0, 0] = np.nan
    model.set_weights(weights)
    model.save(folder / "nan.keras")


def _leave_a_trace(x: keras.KerasTensor) -> keras.KerasTensor:
    Path("executed").touch()
    return x


def _write_bomb(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        new.writestr("assets/zeros", bytes(64 << 20))
