"""The options with which layers that reshape or merge tensors are tested."""

from collections.abc import Mapping
from typing import Any

from tests.frontends.keras.cases import (
    FIRST,
    IMAGE,
    SEQUENCE,
    VECTOR,
    VOLUME,
    VOLUME_FIRST,
    LayerCase,
    on,
)


def merged(**options: Any) -> tuple[LayerCase, ...]:
    return (
        on((3, 4), (3, 4), **options),
        on((3, 4), (3, 4), (3, 4), **options),
        on((3, 1), (1, 4), (4,), (3, 4), **options),
        on((5, 1, 2), (5, 3, 2), **options),
    )


RESHAPING: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Reshaping": {
        "Flatten": (
            on(IMAGE),
            on(VECTOR),
            on(FIRST, data_format="channels_first"),
            on(VOLUME_FIRST, data_format="channels_first"),
        ),
        "Reshape": (
            on(IMAGE, target_shape=(6, -1)),
            on(VECTOR, target_shape=(3, 1, 2)),
            on(SEQUENCE, target_shape=(44,)),
        ),
        "Permute": (
            on(IMAGE, dims=(3, 1, 2)),
            on(SEQUENCE, dims=(2, 1)),
            on(VOLUME, dims=(4, 2, 1, 3)),
        ),
        "RepeatVector": (on(VECTOR, n=3), on(VECTOR, n=1)),
        "ZeroPadding1D": (
            on(SEQUENCE, padding=2),
            on(SEQUENCE, padding=(1, 2)),
            on((4, 11), padding=(0, 3), data_format="channels_first"),
        ),
        "ZeroPadding2D": (
            on(IMAGE, padding=1),
            on(IMAGE, padding=(2, 0)),
            on(IMAGE, padding=((1, 0), (2, 3))),
            on(FIRST, padding=1, data_format="channels_first"),
        ),
        "ZeroPadding3D": (
            on(VOLUME, padding=(1, 0, 2)),
            on(VOLUME, padding=((0, 1), (2, 0), (1, 1))),
            on(VOLUME_FIRST, padding=1, data_format="channels_first"),
        ),
        "Cropping1D": (on(SEQUENCE, cropping=2), on(SEQUENCE, cropping=(0, 3))),
        "Cropping2D": (
            on(IMAGE, cropping=1),
            on(IMAGE, cropping=((1, 0), (2, 3))),
            on(FIRST, cropping=(2, 1), data_format="channels_first"),
        ),
        "Cropping3D": (
            on(VOLUME, cropping=1),
            on(VOLUME, cropping=((1, 0), (0, 2), (2, 3))),
            on(VOLUME_FIRST, cropping=((0, 1), (1, 1), (3, 0)), data_format="channels_first"),
        ),
        "UpSampling1D": (on(SEQUENCE, size=2), on(SEQUENCE, size=3)),
        "UpSampling2D": (
            on(IMAGE, size=2),
            on(IMAGE, size=(3, 1)),
            on(FIRST, size=(1, 2), data_format="channels_first"),
            *(
                on(IMAGE, size=(2, 3), interpolation=name)
                for name in ("bilinear", "bicubic", "lanczos3", "lanczos5")
            ),
            on((4, 5, 6), size=2, interpolation="bilinear", data_format="channels_first"),
        ),
        "UpSampling3D": (
            on(VOLUME, size=2),
            on(VOLUME_FIRST, size=(1, 2, 3), data_format="channels_first"),
        ),
        "Resizing": (
            *(
                on(IMAGE, height=13, width=5, interpolation=name, antialias=antialias)
                for name in ("nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5")
                for antialias in (False, True)
            ),
            on(IMAGE, height=4, width=4, crop_to_aspect_ratio=True),
            on(IMAGE, height=7, width=4, interpolation="nearest", crop_to_aspect_ratio=True),
            on((5, 9, 3), height=8, width=8, pad_to_aspect_ratio=True, fill_value=0.5),
            on(FIRST, height=12, width=10, data_format="channels_first"),
            on(IMAGE, dtype="uint8", height=18, width=16),
        ),
    },
}

MERGING: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Merging": {
        "Add": merged(),
        "Subtract": (on((3, 4), (3, 4)), on((3, 1), (4,)), on((5, 1, 2), (5, 3, 2))),
        "Multiply": merged(),
        "Average": merged(),
        "Maximum": merged(),
        "Minimum": merged(),
        "Concatenate": (
            on((3, 4), (3, 2)),
            on((3, 4), (1, 4), (2, 4), axis=1),
            on(IMAGE, IMAGE, axis=-2),
            on((2, 3), (2, 1), (2, 4), (2, 3), axis=2),
        ),
        "Dot": (
            on(VECTOR, VECTOR, axes=1),
            on((5, 3), (5, 4), axes=1),
            on((5, 3), (4, 3), axes=-1, normalize=True),
            on((2, 5, 3), (3, 4), axes=(3, 1)),
            on((3,), (4, 3), axes=(1, 2)),
            on((2, 3), (4, 3, 5), axes=(2, 2)),
        ),
    },
}
