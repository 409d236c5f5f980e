"""The options with which convolutions and poolings are tested."""

from collections.abc import Mapping
from typing import Any

from keras import layers as L

from tests.frontends.keras.cases import (
    FIRST,
    IMAGE,
    SEQUENCE,
    VOLUME,
    VOLUME_FIRST,
    LayerCase,
    Shape,
    on,
)


def pools(shape: Shape, first: Shape) -> tuple[LayerCase, ...]:
    rank = len(shape) - 1
    return (
        on(shape, pool_size=2),
        on(shape, pool_size=3, strides=2, padding="same"),
        on(shape, pool_size=2, strides=1),
        on(shape, pool_size=(2, 3, 1)[:rank], strides=(1, 2, 3)[:rank], padding="same"),
        on(first, pool_size=2, padding="same", data_format="channels_first"),
    )


def adaptive(*case: tuple[Shape, Any], first: Shape) -> tuple[LayerCase, ...]:
    return (
        *(on(shape, output_size=size) for shape, size in case),
        on(first, output_size=3, data_format="channels_first"),
    )


def global_pools(shape: Shape, first: Shape) -> tuple[LayerCase, ...]:
    return (
        on(shape),
        on(shape, keepdims=True),
        on(first, data_format="channels_first"),
        on(first, data_format="channels_first", keepdims=True),
    )


CONVOLUTION: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Convolution": {
        "Conv1D": (
            on(SEQUENCE, filters=6, kernel_size=3),
            on(SEQUENCE, filters=6, kernel_size=4, padding="same", strides=2),
            on(SEQUENCE, filters=6, kernel_size=3, padding="causal", dilation_rate=2),
            on(SEQUENCE, filters=5, kernel_size=3, padding="causal", strides=2, use_bias=False),
            on(SEQUENCE, filters=6, kernel_size=2, groups=2, use_bias=False, activation="tanh"),
            on(
                (4, 11),
                filters=3,
                kernel_size=3,
                padding="same",
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "Conv2D": (
            on(IMAGE, filters=4, kernel_size=3),
            on(IMAGE, filters=1, kernel_size=(3, 2), padding="same"),
            on(IMAGE, filters=4, kernel_size=(4, 3), padding="same", strides=(2, 3)),
            on(IMAGE, filters=4, kernel_size=(2, 3), padding="same", strides=3),
            on(IMAGE, filters=4, kernel_size=3, dilation_rate=(2, 1), activation="hard_silu"),
            on(IMAGE, filters=8, kernel_size=3, padding="same", dilation_rate=2, groups=4),
            on(IMAGE, filters=4, kernel_size=1, groups=2, activation="gelu"),
            on((1, 8, 4), filters=18, kernel_size=(1, 3), use_bias=False),
            on(
                (7, 7, 9),
                filters=20,
                kernel_size=5,
                strides=2,
                padding="same",
                activation=L.ELU(alpha=0.5),
            ),
            on(
                FIRST,
                filters=6,
                kernel_size=3,
                padding="same",
                strides=2,
                data_format="channels_first",
                oracle="channels_last",
            ),
            on(
                FIRST,
                filters=4,
                kernel_size=(1, 2),
                groups=2,
                dilation_rate=2,
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "Conv3D": (
            on(VOLUME, filters=3, kernel_size=(2, 3, 2), padding="same", strides=(2, 1, 2)),
            on(VOLUME, filters=4, kernel_size=2, activation="sigmoid"),
            on(VOLUME, filters=4, kernel_size=2, groups=2, dilation_rate=(1, 2, 1), use_bias=False),
            on(
                VOLUME_FIRST,
                filters=3,
                kernel_size=2,
                padding="same",
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "Conv1DTranspose": (
            on(SEQUENCE, filters=6, kernel_size=3, strides=2),
            on(SEQUENCE, filters=5, kernel_size=4, strides=2, padding="same", activation="relu"),
            on(SEQUENCE, filters=3, kernel_size=2, strides=3, use_bias=False),
            on(SEQUENCE, filters=3, kernel_size=5, strides=3, padding="same", output_padding=1),
            on(
                SEQUENCE, filters=3, kernel_size=3, dilation_rate=2, padding="same", oracle="spread"
            ),
            on(
                (4, 11),
                filters=3,
                kernel_size=3,
                strides=2,
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "Conv2DTranspose": (
            on(IMAGE, filters=6, kernel_size=3),
            on(IMAGE, filters=20, kernel_size=4, strides=2, padding="same", activation="relu"),
            on(IMAGE, filters=8, kernel_size=2, strides=2),
            on(IMAGE, filters=5, kernel_size=3, strides=2, padding="same", use_bias=False),
            on(IMAGE, filters=5, kernel_size=(3, 2), strides=(1, 3), padding="same"),
            on(
                IMAGE,
                filters=3,
                kernel_size=(5, 3),
                strides=(3, 2),
                padding="same",
                output_padding=(2, 1),
            ),
            on(IMAGE, filters=3, kernel_size=3, strides=2, output_padding=1),
            on(
                IMAGE,
                filters=3,
                kernel_size=3,
                padding="same",
                dilation_rate=(2, 3),
                oracle="spread",
            ),
            on(IMAGE, filters=3, kernel_size=2, dilation_rate=2, oracle="spread"),
            on((1, 1, 3), filters=18, kernel_size=4, activation="tanh"),
            on(
                FIRST,
                filters=6,
                kernel_size=4,
                strides=2,
                padding="same",
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "Conv3DTranspose": (
            on(VOLUME, filters=3, kernel_size=2, strides=2),
            on(
                VOLUME,
                filters=3,
                kernel_size=3,
                strides=(2, 1, 3),
                padding="same",
                activation="sigmoid",
            ),
            on(
                VOLUME_FIRST,
                filters=3,
                kernel_size=2,
                strides=(1, 2, 1),
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "SeparableConv1D": (
            on(SEQUENCE, filters=6, kernel_size=3),
            on(
                SEQUENCE,
                filters=5,
                kernel_size=4,
                strides=2,
                padding="same",
                depth_multiplier=2,
                activation="relu",
            ),
            on(SEQUENCE, filters=5, kernel_size=3, padding="same", dilation_rate=2, use_bias=False),
        ),
        "SeparableConv2D": (
            on(IMAGE, filters=6, kernel_size=3, padding="same"),
            on(
                IMAGE,
                filters=18,
                kernel_size=(2, 3),
                depth_multiplier=3,
                use_bias=False,
                activation="swish",
            ),
            on(IMAGE, filters=5, kernel_size=3, strides=2, padding="same"),
            on(IMAGE, filters=5, kernel_size=2, dilation_rate=2),
            on(
                FIRST,
                filters=6,
                kernel_size=3,
                padding="same",
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
        "DepthwiseConv1D": (
            on(SEQUENCE, kernel_size=3, depth_multiplier=2),
            on(SEQUENCE, kernel_size=4, strides=2, padding="same", use_bias=False),
        ),
        "DepthwiseConv2D": (
            on(IMAGE, kernel_size=3),
            on(
                IMAGE,
                kernel_size=(3, 2),
                strides=2,
                padding="same",
                depth_multiplier=3,
                activation="relu",
            ),
            on(IMAGE, kernel_size=3, dilation_rate=2, use_bias=False),
            on((7, 7, 20), kernel_size=5, padding="same"),
            on(
                FIRST,
                kernel_size=3,
                padding="same",
                data_format="channels_first",
                oracle="channels_last",
            ),
        ),
    },
}

POOLING: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Pooling": {
        "MaxPooling1D": pools(SEQUENCE, (4, 11)),
        "MaxPooling2D": pools(IMAGE, FIRST),
        "MaxPooling3D": pools(VOLUME, VOLUME_FIRST),
        "AveragePooling1D": pools(SEQUENCE, (4, 11)),
        "AveragePooling2D": pools(IMAGE, FIRST),
        "AveragePooling3D": pools(VOLUME, VOLUME_FIRST),
        "GlobalMaxPooling1D": global_pools(SEQUENCE, (4, 11)),
        "GlobalMaxPooling2D": global_pools(IMAGE, FIRST),
        "GlobalMaxPooling3D": global_pools(VOLUME, VOLUME_FIRST),
        "GlobalAveragePooling1D": global_pools(SEQUENCE, (4, 11)),
        "GlobalAveragePooling2D": global_pools(IMAGE, FIRST),
        "GlobalAveragePooling3D": global_pools(VOLUME, VOLUME_FIRST),
        "AdaptiveMaxPooling1D": adaptive((SEQUENCE, 3), (SEQUENCE, 11), first=(4, 11)),
        "AdaptiveMaxPooling2D": adaptive((IMAGE, 3), (IMAGE, (4, 5)), (IMAGE, (9, 2)), first=FIRST),
        "AdaptiveMaxPooling3D": adaptive((VOLUME, 2), (VOLUME, (4, 3, 2)), first=VOLUME_FIRST),
        "AdaptiveAveragePooling1D": adaptive((SEQUENCE, 3), (SEQUENCE, 4), first=(4, 11)),
        "AdaptiveAveragePooling2D": adaptive(
            (IMAGE, 3), (IMAGE, (4, 5)), (IMAGE, (9, 2)), first=FIRST
        ),
        "AdaptiveAveragePooling3D": adaptive((VOLUME, 2), (VOLUME, (4, 3, 2)), first=VOLUME_FIRST),
    },
}
