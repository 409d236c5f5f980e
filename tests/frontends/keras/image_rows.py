"""Rows of operations on images."""

import numpy as np
from keras import ops

from tests.frontends.keras.operation_rows import row

FIRST = "channels_first"
IMAGES, SINGLE, BEFORE = (2, 6, 5, 3), (6, 5, 3), (2, 3, 6, 5)
TURN = np.array(
    [[0.9, 0.2, -1.5, -0.3, 1.1, 2.2, 0.01, -0.02], [1.2, 0, 1, 0.1, 0.8, -2.7, 0, 0]], "float32"
)
START = np.array([[0.0, 0.0], [0.0, 4.0], [4.0, 0.0], [4.0, 4.0]], "float32")
END = np.array([[0.5, 0.2], [-0.3, 4.1], [3.6, 0.4], [4.4, 3.7]], "float32")
PLACES = np.random.default_rng(5).uniform(-4, 9, (3, 2, 7)).astype("float32")
ROWS = (
    {
        "rgb_to_grayscale": row(ops.image.rgb_to_grayscale, IMAGES),
        "rgb_to_grayscale integers": row(
            lambda x: ops.image.rgb_to_grayscale(x * 50, data_format=FIRST), BEFORE, dtypes="uint8"
        ),
        "rgb_to_hsv": row(lambda x: ops.image.rgb_to_hsv(ops.sigmoid(x)), IMAGES),
        "rgb_to_hsv grey": row(
            lambda x: ops.image.rgb_to_hsv(ops.cast(x, "float32") / 3, data_format=FIRST),
            BEFORE,
            dtypes="int32",
        ),
        "hsv_to_rgb": row(lambda x: ops.image.hsv_to_rgb(ops.sigmoid(x)), SINGLE),
        "resize crop": row(
            lambda x: ops.image.resize(x, (4, 8), crop_to_aspect_ratio=True), IMAGES
        ),
        "resize pad": row(
            lambda x: ops.image.resize(
                x, (9, 3), pad_to_aspect_ratio=True, fill_value=2.0, interpolation="nearest"
            ),
            SINGLE,
        ),
        "resize first": row(
            lambda x: ops.image.resize(x, (9, 3), interpolation="bicubic", data_format=FIRST),
            BEFORE,
        ),
        "resize integers": row(
            lambda x: ops.image.resize(x * 60, (9, 3), interpolation="lanczos3"),
            IMAGES,
            dtypes="uint8",
        ),
        "pad_images": row(
            lambda x: ops.image.pad_images(x, 2, 1, target_height=10, right_padding=3), IMAGES
        ),
        "crop_images": row(
            lambda x: ops.image.crop_images(
                x, bottom_cropping=1, left_cropping=2, target_height=3, target_width=2
            ),
            SINGLE,
        ),
        "extract_patches": row(
            lambda x: ops.image.extract_patches(
                x, (3, 2), strides=(2, 1), dilation_rate=1, padding="same"
            ),
            IMAGES,
        ),
        "extract_patches first": row(
            lambda x: ops.image.extract_patches(
                x, 2, dilation_rate=2, strides=1, data_format=FIRST
            ),
            BEFORE,
        ),
        "extract_patches volumes": row(
            lambda x: ops.image.extract_patches(x, (2, 2, 1)), (5, 4, 3, 2)
        ),
        "gaussian_blur": row(lambda x: ops.image.gaussian_blur(x, (3, 5), (0.7, 1.6)), IMAGES),
        "gaussian_blur first": row(lambda x: ops.image.gaussian_blur(x, data_format=FIRST), BEFORE),
        "sobel_edges": row(ops.image.sobel_edges, IMAGES),
        "sobel_edges first": row(lambda x: ops.image.sobel_edges(x, data_format=FIRST), BEFORE),
        "ssim": row(
            lambda x, y: ops.image.ssim(ops.sigmoid(x), ops.sigmoid(y), filter_size=3),
            IMAGES,
            IMAGES,
        ),
        "ssim single": row(
            lambda x, y: ops.image.ssim(x, y, max_val=2.0, filter_size=4, data_format=FIRST),
            (3, 6, 5),
            (3, 6, 5),
        ),
        "perspective_transform": row(
            lambda x: ops.image.perspective_transform(x, START, END), SINGLE
        ),
        "perspective_transform batch": row(
            lambda x, s, e: ops.image.perspective_transform(
                x, s * 0.1 + START, e * 0.1 + END, "nearest", 1.5, FIRST
            ),
            BEFORE,
            (2, 4, 2),
            (2, 4, 2),
        ),
        "scale_and_translate linear": row(
            lambda x, s: ops.image.scale_and_translate(
                x,
                (2, 9, 4, 3),
                ops.abs(s) + 0.5,
                np.array([0.3, -0.6], "float32"),
                (1, 2),
                "linear",
                antialias=False,
            ),
            IMAGES,
            (2,),
        ),
    }
    | {
        f"resize {mode} {antialias}": row(
            lambda x, mode=mode, antialias=antialias: ops.image.resize(
                x, (4, 8), interpolation=mode, antialias=antialias
            ),
            IMAGES,
        )
        for mode in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area")
        for antialias in (False, True)
    }
    | {
        f"affine_transform {mode} {fill}": row(
            lambda x, mode=mode, fill=fill: ops.image.affine_transform(
                x, TURN * 1.7, mode, fill, 0.4
            ),
            IMAGES,
        )
        for mode in ("nearest", "bilinear")
        for fill in ("constant", "nearest", "reflect", "wrap")
    }
    | {
        f"map_coordinates {order} {fill} {dtype}": row(
            lambda x, order=order, fill=fill: ops.image.map_coordinates(x, PLACES, order, fill, 2),
            (6, 7, 5),
            dtypes=dtype,
        )
        for order in (0, 1)
        for fill in ("constant", "nearest", "wrap", "reflect")
        for dtype in ("float32", "int32")
    }
    | {
        f"scale_and_translate {method}": row(
            lambda x, s, t, method=method: ops.image.scale_and_translate(
                x, (2, 9, 4, 3), ops.abs(s) + 0.3, t, (1, 2), method
            ),
            IMAGES,
            (2,),
            (2,),
        )
        for method in ("linear", "cubic", "lanczos3", "lanczos5")
    }
)
