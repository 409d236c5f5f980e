"""Train the digits model, a small CNN, on scikit-learn's bundled 8x8 digits. Usage: python
models/digits/train.py

Writes digits.keras and test.npz (held-out images and labels) next to this file, and prints the
held-out accuracy.
"""

from pathlib import Path

import keras
import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 20
EPOCHS = 80
COPIES = 6
MINIMUM_ACCURACY = 0.97


def make_model() -> keras.Model:
    """image [N,8,8,1] in 0..1 -> class probabilities [N,10]."""
    layers = keras.layers
    image = keras.Input((8, 8, 1), name="image")
    x = image
    for block, filters in enumerate((16, 32), start=1):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"conv{block}")(x)
        x = layers.BatchNormalization(name=f"norm{block}")(x)
        x = layers.ReLU(name=f"relu{block}")(x)
        if block == 1:
            x = layers.MaxPooling2D(name="pool1")(x)
    x = layers.Conv2D(64, 3, padding="same", activation="relu", name="conv3")(x)
    x = layers.Dropout(0.3, name="dropout")(x)
    x = layers.GlobalAveragePooling2D(name="mean")(x)
    scores = layers.Dense(10, activation="softmax", name="scores")(x)
    return keras.Model(image, scores, name="digits")


def distort(images: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.float32]:
    """Shift by up to one pixel, rotate by up to 12 degrees and scale by up to 10 %, each image
    independently.
    """
    result = np.empty_like(images)
    centre = np.array([3.5, 3.5])
    for index, image in enumerate(images[..., 0]):
        angle = np.deg2rad(generator.uniform(-12, 12))
        scale = generator.uniform(0.9, 1.1)
        turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        offset = centre - turn @ centre + generator.uniform(-1, 1, size=2)
        result[index, ..., 0] = np.clip(affine_transform(image, turn, offset, order=1), 0, 1)
    return result


def main() -> None:
    keras.utils.set_random_seed(SEED)
    generator = np.random.default_rng(SEED)
    data = load_digits()
    images = (data.images / 16).astype(np.float32)[..., None]
    train_x, test_x, train_y, test_y = train_test_split(
        images, data.target, test_size=450, random_state=SEED, stratify=data.target
    )
    model = make_model()
    schedule = keras.optimizers.schedules.CosineDecay(
        3e-3, EPOCHS * (COPIES * len(train_x) // 128 + 1)
    )
    model.compile(optimizer=keras.optimizers.Adam(schedule), loss="sparse_categorical_crossentropy")
    for _ in range(EPOCHS):
        batch = np.concatenate([train_x, *(distort(train_x, generator) for _ in range(COPIES - 1))])
        model.fit(batch, np.tile(train_y, COPIES), batch_size=128, epochs=1, verbose=0)
    accuracy = float(np.mean(model.predict(test_x, verbose=0).argmax(axis=1) == test_y))
    print(
        f"held-out accuracy {accuracy:.4f} on {len(test_y)} images, {model.count_params()}"
        " parameters"
    )
    if accuracy <= MINIMUM_ACCURACY:
        raise SystemExit(
            f"held-out accuracy {accuracy:.4f} is not above {MINIMUM_ACCURACY}; nothing is written"
        )
    folder = Path(__file__).parent
    keras.Model(model.inputs, model.outputs, name="digits").save(folder / "digits.keras")
    np.savez_compressed(folder / "test.npz", images=test_x, labels=test_y.astype(np.int32))


if __name__ == "__main__":
    main()
