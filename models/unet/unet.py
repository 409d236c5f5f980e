"""The U-Net of pix2pix (Isola et al., 2017) with random weights: image [N,256,256,3] in -1..1 ->
image of the same shape and range.
"""

from pathlib import Path

import keras
from keras import layers

from webkiln.frontends.keras.random_weights import fill_randomly

DOWN = (64, 128, 256, 512, 512, 512, 512, 512)
UP = (512, 512, 512, 512, 256, 128, 64)
DROPOUT = 0.5
SLOPE = 0.2


def encode(x: keras.KerasTensor, filters: int, level: int) -> keras.KerasTensor:
    """Halve the size."""
    x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False, name=f"down{level}")(x)
    if level > 0:
        x = layers.BatchNormalization(name=f"down{level}_norm")(x)
    return layers.LeakyReLU(SLOPE, name=f"down{level}_relu")(x)


def decode(
    x: keras.KerasTensor, skipped: keras.KerasTensor, filters: int, level: int
) -> keras.KerasTensor:
    """Double the size, and concatenate the skip connection."""
    x = layers.Conv2DTranspose(
        filters, 4, strides=2, padding="same", use_bias=False, name=f"up{level}"
    )(x)
    x = layers.BatchNormalization(name=f"up{level}_norm")(x)
    if level < 3:
        x = layers.Dropout(DROPOUT, name=f"up{level}_dropout")(x)
    x = layers.ReLU(name=f"up{level}_relu")(x)
    return layers.Concatenate(name=f"up{level}_skip")([x, skipped])


def make_model(size: int, width: float) -> keras.Model:
    x = image = keras.Input((size, size, 3), name="image")
    skipped = []
    for level, filters in enumerate(DOWN):
        x = encode(x, int(filters * width), level)
        skipped.append(x)
    for level, (filters, other) in enumerate(zip(UP, reversed(skipped[:-1]), strict=True)):
        x = decode(x, other, int(filters * width), level)
    picture = layers.Conv2DTranspose(
        3, 4, strides=2, padding="same", activation="tanh", name="picture"
    )(x)
    return keras.Model(image, picture, name="unet")


def export(path: Path, size: int, width: float = 1.0) -> None:
    """Write the network for images of `size`, a multiple of 256. `width` scales the number of
    filters.
    """
    model = make_model(size, width)
    fill_randomly(model)
    model.save(path)
