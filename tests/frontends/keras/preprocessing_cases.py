"""The options with which layers that preprocess numbers, images and sound are tested."""

from collections.abc import Mapping

import keras

from tests.frontends.keras.cases import FIRST, IMAGE, LayerCase, on

WORDS, ROW = (5,), (4, 3)
TOKENS = (3, 250, 17, 40, 99)
INT = {"dtype": "int32"}
LONG = {"dtype": "int64"}
SOUND = (200, 2)


def modes(
    shape: tuple[int, ...], *names: str, dtype: str = "float32", **options: object
) -> tuple[LayerCase, ...]:
    return tuple(on(shape, dtype=dtype, output_mode=name, **options) for name in names)


def random(*shapes: tuple[int, ...], **options: object) -> tuple[LayerCase, ...]:
    return tuple(on(shape, **options) for shape in shapes or (IMAGE,))


PREPROCESSING: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Numbers": {
        "CategoryEncoding": (
            *modes(WORDS, "one_hot", "multi_hot", "count", **INT, num_tokens=9),
            on((1,), **LONG, num_tokens=4, output_mode="one_hot"),
            on((3, 4), **LONG, num_tokens=7, output_mode="one_hot"),
        ),
        "Discretization": (
            *modes(
                WORDS, "int", "one_hot", "multi_hot", "count", bin_boundaries=[-1.0, 0.0, 0.25, 1.5]
            ),
            on(ROW, bin_boundaries=[0.0]),
            on(ROW, **INT, bin_boundaries=[3.0, 100.0, 101.5, 200.0, 201.0]),
        ),
        "IntegerLookup": (
            *modes(WORDS, "int", "one_hot", "multi_hot", "count", **LONG, vocabulary=TOKENS),
            on(ROW, **INT, vocabulary=TOKENS, num_oov_indices=3, mask_token=7),
            on(ROW, **INT, vocabulary=TOKENS, num_oov_indices=2, oov_method="farmhash"),
            on(
                ROW, **INT, vocabulary=TOKENS, num_oov_indices=2, oov_method="farmhash", salt=(5, 6)
            ),
            on(
                WORDS,
                **LONG,
                vocabulary=TOKENS,
                mask_token=7,
                output_mode="count",
                max_tokens=9,
                pad_to_max_tokens=True,
            ),
            on(
                WORDS,
                **LONG,
                vocabulary=TOKENS,
                idf_weights=(0.5, 1.0, 2.0, 0.25, 3.0),
                output_mode="tf_idf",
            ),
            on(ROW, **INT, vocabulary=TOKENS, invert=True, mask_token=0),
        ),
        "Hashing": (
            *modes(WORDS, "one_hot", "multi_hot", "count", **LONG, num_bins=4),
            on(ROW, **INT, num_bins=1000),
            on(ROW, **LONG, num_bins=11, mask_value=5),
            on(ROW, **INT, num_bins=30000, salt=(133, 137)),
        ),
        "HashedCrossing": (
            on((1,), (1,), **INT, num_bins=1000),
            on((1,), (1,), **LONG, num_bins=5, output_mode="one_hot"),
        ),
    },
    "Images": {
        "CenterCrop": (
            on(IMAGE, height=4, width=3),
            on(IMAGE, height=12, width=5),
            on(FIRST, height=5, width=5, data_format="channels_first"),
            on(IMAGE, height=9, width=8),
        ),
        "AutoContrast": (on((5, 4, 3)), on((5, 4, 3), value_range=(0, 1))),
        "ContrastLimitedAdaptiveHistogramEqualization": (
            on((10, 9, 3), value_range=(0, 255), tile_grid_size=(3, 2)),
            on((8, 8, 1), value_range=(0, 1), tile_grid_size=(2, 2), clip_limit=0.5),
        ),
        "Pipeline": (
            on(
                IMAGE,
                layers=[
                    keras.layers.RandomFlip(),
                    keras.layers.Equalization(),
                    keras.layers.CenterCrop(4, 4),
                    keras.layers.Rescaling(0.5),
                ],
            ),
            on(IMAGE, layers=[keras.layers.Dense(3), keras.layers.Dense(2)]),
        ),
        "AugMix": random(),
        "CutMix": random(),
        "MaxNumBoundingBoxes": random(max_number=3),
        "MixUp": random(),
        "RandAugment": random(),
        "RandomBrightness": random(factor=0.3),
        "RandomColorDegeneration": random((4, 5, 3), factor=0.3),
        "RandomColorJitter": random((4, 5, 3), brightness_factor=0.2),
        "RandomContrast": random(factor=0.3),
        "RandomCrop": random(height=3, width=3),
        "RandomElasticTransform": random(factor=0.3),
        "RandomErasing": random(factor=0.3),
        "RandomFlip": random(IMAGE, FIRST),
        "RandomGaussianBlur": random(factor=0.3),
        "RandomGrayscale": random((4, 5, 3), factor=0.7),
        "RandomHue": random((4, 5, 3), factor=0.3),
        "RandomInvert": random(factor=0.3),
        "RandomPerspective": random(factor=0.3),
        "RandomPosterization": random(factor=3),
        "RandomRotation": random(factor=0.3),
        "RandomSaturation": random((4, 5, 3), factor=0.3),
        "RandomSharpness": random((4, 5, 3), factor=0.3),
        "RandomShear": random(x_factor=0.2),
        "RandomTranslation": random(height_factor=0.2, width_factor=0.1),
        "RandomZoom": random(height_factor=0.2),
        "Solarization": random(),
    },
    "Sound": {
        "STFTSpectrogram": (
            *(
                on(SOUND, frame_length=32, mode=mode)
                for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
            ),
            on(
                SOUND,
                frame_length=30,
                frame_step=10,
                fft_length=64,
                window="hamming",
                padding="same",
                expand_dims=True,
                mode="magnitude",
            ),
            on(SOUND, frame_length=16, periodic=True, scaling="spectrum", mode="psd"),
        ),
        "MelSpectrogram": (
            on((300,), fft_length=64, sequence_stride=16, num_mel_bins=8, sampling_rate=8000),
            on(
                (2, 300),
                fft_length=64,
                sequence_length=40,
                sequence_stride=20,
                num_mel_bins=6,
                window="hamming",
                mag_exp=1.0,
                power_to_db=False,
            ),
            on(
                (300,),
                fft_length=32,
                sequence_stride=16,
                num_mel_bins=4,
                max_freq=3000.0,
                top_db=20.0,
                ref_power=2.0,
                mag_exp=1.5,
            ),
        ),
    },
}
