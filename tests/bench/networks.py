"""The measured networks, with random weights that keep activations of order one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import layers

from tests.bench.sequences import SEQUENCES
from webkiln.ir.types import Array


def pix2pix() -> Any:
    """The U-Net generator of pix2pix (Isola et al. 2017, arXiv:1611.07004), 256 x 256."""
    image = x = keras.Input((256, 256, 3), name="image")
    skips = []
    for level, features in enumerate((64, 128, 256, 512, 512, 512, 512, 512)):
        x = layers.Conv2D(features, 4, 2, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x) if level else x
        x = layers.LeakyReLU(negative_slope=0.2)(x)
        skips.append(x)
    for features, skip in zip((512, 512, 512, 512, 256, 128, 64), skips[-2::-1], strict=True):
        x = layers.Conv2DTranspose(features, 4, 2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Concatenate()([x, skip])
    return keras.Model(
        image, layers.Conv2DTranspose(3, 4, 2, padding="same", activation="tanh")(x), name="pix2pix"
    )


NETWORKS: dict[str, Callable[[], Any]] = {
    "resnet50": lambda: keras.applications.ResNet50(weights=None),
    "mobilenetv2": lambda: keras.applications.MobileNetV2(weights=None),
    "densenet121": lambda: keras.applications.DenseNet121(weights=None),
    "vgg16": lambda: keras.applications.VGG16(weights=None),
    "inceptionv3": lambda: keras.applications.InceptionV3(weights=None),
    "efficientnetb0": lambda: keras.applications.EfficientNetB0(weights=None),
    "pix2pix": pix2pix,
    **{name: build for name, (build, _) in SEQUENCES.items()},
}


def make(name: str, folder: Path) -> Any:
    """Build the network, and save it as `<name>.keras` in `folder`."""
    keras.utils.set_random_seed(0)
    model = NETWORKS[name]()
    rng = np.random.default_rng(0)
    for layer in model.layers if name not in SEQUENCES else ():
        layer.set_weights([_values(rng, layer, weight) for weight in layer.get_weights()])
    model.save(folder / f"{name}.keras")
    return model


def _values(rng: np.random.Generator, layer: Any, weight: Array) -> Array:
    """Random values for a weight: filters with a gain of about 1 through a ReLU, statistics near 0
    and 1, small biases.
    """
    if isinstance(layer, layers.Normalization):
        return weight
    if isinstance(layer, layers.BatchNormalization):
        is_scale = bool(np.all(weight == 1))
        return (1.0 if is_scale else 0.0) + rng.uniform(-0.2, 0.2, weight.shape)
    if weight.ndim < 2:
        return rng.normal(0, 0.05, weight.shape)
    taps = weight.shape[:2] if isinstance(layer, layers.DepthwiseConv2D) else weight.shape[:-1]
    gain = 0.01 if isinstance(layer, layers.Dense) else 1.4
    return rng.normal(0, np.sqrt(gain / np.prod(taps)), weight.shape)
