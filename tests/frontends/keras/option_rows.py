"""Rows of operations with every option at a value other than its default."""

import numpy as np
from keras import ops

from tests.frontends.keras.operation_cases import SCALE, holed, integers, special
from tests.frontends.keras.operation_rows import Row, row

FIRST = "channels_first"
IMAGES, BEFORE, SINGLE, BOX = (2, 6, 5, 3), (2, 3, 6, 5), (6, 5, 3), (2, 3, 4)
TURN = np.array([[0.9, 0.2, -1.5, -0.3, 1.1, 2.2, 0.01, -0.02]], "float32")
PLACES = np.array([-0.5, 0.0, 1.0, 3.0], "float32")


def of(function: object) -> Row:
    """For one box."""
    return row(function, BOX)  # type: ignore[arg-type]


REDUCED = (
    {
        f"{name} {axis} {keepdims}": of(
            lambda x, name=name, axis=axis, keepdims=keepdims: getattr(ops, name)(
                x, axis=axis, keepdims=keepdims
            )
        )
        for name in (
            "sum",
            "mean",
            "max",
            "min",
            "prod",
            "amax",
            "amin",
            "any",
            "all",
            "var",
            "std",
            "ptp",
            "logsumexp",
            "median",
        )
        for axis, keepdims in ((-1, False), ((0, -2), True))
    }
    | {
        f"{name} {axis} {keepdims}": of(
            lambda x, name=name, axis=axis, keepdims=keepdims: ops.nan_to_num(
                getattr(ops, name)(holed(x), axis=axis, keepdims=keepdims), nan=9.0
            )
        )
        for name in ("nansum", "nanmean", "nanmax", "nanmin", "nanprod", "nanvar", "nanstd")
        for axis, keepdims in ((0, False), ((0, -1), True))
    }
    | {
        f"{name} {axis} {keepdims}": of(
            lambda x, name=name, axis=axis, keepdims=keepdims: getattr(ops, name)(
                x, axis=axis, keepdims=keepdims
            )
        )
        for name in ("argmax", "argmin", "nanargmax", "nanargmin")
        for axis, keepdims in ((0, False), (-2, True), (None, True))
    }
)

QUANTILES = {
    f"{name} {method} {keepdims}": of(
        lambda x, name=name, method=method, keepdims=keepdims: getattr(ops, name)(
            x, 60.0 if "percentile" in name else 0.6, axis=1, method=method, keepdims=keepdims
        )
    )
    for name, method, keepdims in (
        ("percentile", "lower", True),
        ("percentile", "higher", False),
        ("percentile", "nearest", True),
        ("percentile", "midpoint", False),
        ("nanquantile", "lower", True),
        ("nanpercentile", "nearest", False),
    )
}

ROWS: dict[str, Row] = (
    REDUCED
    | QUANTILES
    | {
        "leaky_relu": of(lambda x: ops.leaky_relu(x, negative_slope=0.7)),
        "elu": of(lambda x: ops.elu(x, alpha=0.4)),
        "celu": of(lambda x: ops.celu(x, alpha=0.4)),
        "gelu exact": of(lambda x: ops.gelu(x * 3, approximate=False)),
        "gelu": of(lambda x: ops.gelu(x * 3, approximate=True)),
        "hard_shrink": of(lambda x: ops.hard_shrink(x, threshold=1.1)),
        "soft_shrink": of(lambda x: ops.soft_shrink(x, threshold=1.1)),
        "squareplus": of(lambda x: ops.squareplus(x, b=2)),
        "threshold": of(lambda x: ops.threshold(x, -0.4, 9.0)),
        "log_softmax": of(lambda x: ops.log_softmax(x, axis=0)),
        "softmax": of(lambda x: ops.softmax(x, axis=-2)),
        "normalize": of(lambda x: ops.normalize(x * 0.1, axis=0, order=3, epsilon=0.9)),
        "moments": of(lambda x: ops.moments(x, axes=[0, 2], keepdims=True)),
        "flip": of(lambda x: ops.flip(x, axis=1)),
        "flip all": of(ops.flip),
        "squeeze": row(lambda x: ops.squeeze(x, axis=(1, -1)), (2, 1, 3, 1)),
        "transpose": of(lambda x: ops.transpose(x, (2, 0, 1))),
        "cumsum": of(lambda x: ops.cumsum(x, axis=-2, dtype="float64")),
        "cumprod": of(lambda x: ops.cumprod(x, axis=0, dtype="float64")),
        "cumprod all": of(ops.cumprod),
        "nancumsum": of(lambda x: ops.nancumsum(holed(x), axis=-2, dtype="float64")),
        "nancumprod": of(lambda x: ops.nancumprod(holed(x), axis=0, dtype="float64")),
        "diff": of(lambda x: ops.diff(x, axis=0)),
        "trapezoid": of(lambda x: ops.trapezoid(x, x=PLACES)),
        "trapezoid on an axis": of(lambda x: ops.trapezoid(x, dx=0.3, axis=0)),
        "average": of(lambda x: ops.average(x, axis=-1, weights=SCALE + 1)),
        "count_nonzero": of(lambda x: ops.count_nonzero(integers(x, 1), axis=(0, -1))),
        "isclose": of(lambda x: ops.isclose(x, x * 1.2 + 0.05, rtol=0.1, atol=0.2)),
        "isclose nan": of(lambda x: ops.isclose(special(x), special(x), equal_nan=True)),
        "allclose": of(
            lambda x: ops.cast(ops.numpy.allclose(x, x * 1.2, rtol=0.3, atol=0.1), "int32")
        ),
        "isin": of(lambda x: ops.isin(integers(x), np.arange(3), invert=True)),
        "cross": row(lambda x, y: ops.cross(x, y, axisa=0, axisb=1, axisc=0), (3, 2), (2, 3)),
        "cross axis": row(lambda x, y: ops.cross(x, y, axis=1), (2, 3, 4), (2, 3, 4)),
        "full_like": of(lambda x: ops.full_like(x, 2.7, dtype="int32")),
        "zeros_like": of(lambda x: ops.zeros_like(x, dtype="int8")),
        "ones_like": of(lambda x: ops.ones_like(x, dtype="int8")),
        "full": of(lambda x: ops.full((2, 3), x[0, 0, 0] * 9, dtype="int32")),
        "linspace": of(lambda x: ops.linspace(x, 2.0, 5, axis=1, dtype="float64")),
        "linspace open": of(lambda x: ops.linspace(x, 3.0, 4, endpoint=False)),
        "logspace": of(lambda x: ops.logspace(x, 1.0, 4, endpoint=False, base=3, axis=-1)),
        "geomspace": of(lambda x: ops.geomspace(ops.exp(x), ops.exp(x * 2), 4, endpoint=False)),
        "nan_to_num": of(lambda x: ops.nan_to_num(special(x), nan=3.0)),
        "searchsorted": of(
            lambda x: ops.searchsorted(
                ops.sort(ops.round(x[0, 0])), ops.round(x[1, 1]), side="left"
            )
        ),
        "sort all": of(lambda x: ops.sort(x, axis=None)),
        "argsort": of(lambda x: ops.argsort(ops.round(x), axis=0)),
        "top_k": of(lambda x: ops.sort(ops.top_k(x, 2, sorted=False)[0])),
        "unique": of(
            lambda x: ops.unique(
                integers(x, 1), size=9, fill_value=-7, return_index=True, return_counts=True
            )[::2]
        ),
        "take": of(lambda x: ops.take(x, np.array([3, 1]))),
        "take_along_axis": of(lambda x: ops.take_along_axis(x, np.array([3, 20, 1]), axis=None)),
        "repeat": of(lambda x: ops.repeat(x, 2)),
        "repeat last": of(lambda x: ops.repeat(x, 2, axis=-1)),
        "roll": of(lambda x: ops.roll(x, -1, axis=-2)),
        "rot90": of(lambda x: ops.rot90(x, axes=(2, 1))),
        "rot90 back": of(lambda x: ops.rot90(x, k=-1)),
        "rot90 twice": row(lambda x: ops.rot90(x, k=2, axes=(0, -1)), (3, 2, 3)),
        "split": of(lambda x: ops.split(x, [1], axis=1)),
        "array_split": of(lambda x: ops.array_split(x, 2, axis=1)),
        "concatenate": of(lambda x: ops.concatenate([x, x * 2], axis=-2)),
        "stack": of(lambda x: ops.stack([x, x * 2], axis=-1)),
        "append": of(lambda x: ops.append(x, x * 2)),
        "unstack": of(lambda x: ops.unstack(x, num=4, axis=-1)),
        "pad": of(lambda x: ops.pad(x, ((1, 0), (0, 2), (1, 1)))),
        "pad all": of(lambda x: ops.pad(x, ((1, 1), (0, 2), (1, 0)), mode="symmetric")),
        "diagonal": of(lambda x: ops.diagonal(x, offset=-1, axis1=1, axis2=2)),
        "trace": of(lambda x: ops.trace(x, offset=1, axis1=2, axis2=0)),
        "diag": of(lambda x: ops.diag(x[0, 0], k=1)),
        "tril": of(lambda x: ops.tril(x, k=-1)),
        "triu": of(lambda x: ops.triu(x, k=1)),
        "vander": of(lambda x: ops.vander(x[0, 0])),
        "correlate": of(lambda x: ops.correlate(ops.ravel(x), x[0, 0], mode="valid")),
        "one_hot": row(lambda x: ops.one_hot(x, 4, axis=0, dtype="int32"), (2, 3), dtypes="int32"),
        "multi_hot": row(lambda x: ops.multi_hot(x, 5, dtype="int32"), (2, 3), dtypes="int32"),
        "tensordot": row(lambda x, y: ops.tensordot(x, y, axes=1), (2, 3, 4), (4, 5)),
        "clip": of(lambda x: ops.clip(x, -0.2, 9.0)),
        "round": of(lambda x: ops.round(x * 0.1, decimals=1)),
        "sum dtype": of(lambda x: ops.sum(integers(x) > 0, axis=0)),
        "var bools": of(lambda x: ops.var(x > 0, axis=1)),
        "max initial": of(lambda x: ops.max(x, axis=0, initial=1.1)),
        "min initial": of(lambda x: ops.min(x, axis=0, initial=-1.1)),
        "layer_normalization": row(
            lambda x, g: ops.layer_normalization(x * 0.1, g, g * 2, axis=-1, epsilon=0.3), BOX, (4,)
        ),
        "rms_normalization": row(
            lambda x, g: ops.rms_normalization(x * 0.1, g, axis=(1, 2), epsilon=0.3), BOX, (3, 4)
        ),
        "batch_normalization": row(
            lambda x, m: ops.batch_normalization(
                x, m, ops.abs(m) + 0.1, axis=-1, offset=m, scale=m
            ),
            BOX,
            (4,),
        ),
        "separable_conv": row(
            lambda x, d, p: ops.separable_conv(x, d, p, strides=2),
            (2, 7, 6, 3),
            (3, 2, 3, 2),
            (1, 1, 6, 4),
        ),
        "separable_conv dilated": row(
            lambda x, d, p: ops.separable_conv(x, d, p, dilation_rate=2),
            (2, 7, 6, 3),
            (3, 2, 3, 2),
            (1, 1, 6, 4),
        ),
        "average_pool": row(
            lambda x: ops.average_pool(x, (2, 3), strides=1, padding="same"), IMAGES
        ),
        "average_pool plain": row(lambda x: ops.average_pool(x, (3, 2)), IMAGES),
        "max_pool": row(lambda x: ops.max_pool(x, (3, 2), strides=(1, 2)), IMAGES),
        "depth_to_space": row(lambda x: ops.depth_to_space(x, 2, data_format=FIRST), (2, 8, 3, 2)),
        "space_to_depth": row(lambda x: ops.space_to_depth(x, 3), (1, 6, 3, 2)),
        "sparse_categorical_crossentropy": row(
            lambda z, x: ops.sparse_categorical_crossentropy(z, x, from_logits=True),
            (3, 2),
            (3, 2, 4),
            dtypes="int32",
        ),
        "categorical_crossentropy": row(
            lambda z, x: ops.categorical_crossentropy(
                ops.softmax(z, axis=1), x, from_logits=True, axis=1
            ),
            (3, 4, 2),
            (3, 4, 2),
        ),
        "affine_transform": row(
            lambda x: ops.image.affine_transform(x, TURN * 1.2, data_format=FIRST), BEFORE
        ),
        "resize": row(lambda x: ops.image.resize(x, (7, 4), pad_to_aspect_ratio=True), SINGLE),
        "crop_images": row(
            lambda x: ops.image.crop_images(
                x, top_cropping=1, right_cropping=2, target_height=3, target_width=2
            ),
            IMAGES,
        ),
        "crop_images first": row(
            lambda x: ops.image.crop_images(x, 1, 2, 2, 1, data_format=FIRST), BEFORE
        ),
        "pad_images first": row(
            lambda x: ops.image.pad_images(x, 1, 2, 3, 0, data_format=FIRST), BEFORE
        ),
        "pad_images": row(
            lambda x: ops.image.pad_images(
                x, bottom_padding=2, right_padding=1, target_height=9, target_width=8
            ),
            IMAGES,
        ),
        "hsv_to_rgb": row(
            lambda x: ops.image.hsv_to_rgb(ops.sigmoid(x), data_format=FIRST), BEFORE
        ),
        "gaussian_blur": row(lambda x: ops.image.gaussian_blur(x, (5, 3), (0.4, 2.0)), SINGLE),
        "ssim": row(
            lambda x, y: ops.image.ssim(
                ops.sigmoid(x), ops.sigmoid(y), filter_size=3, filter_sigma=0.6, k1=0.1, k2=0.2
            ),
            IMAGES,
            IMAGES,
        ),
        "svd": row(lambda x: ops.svd(x, full_matrices=False)[1], (2, 3, 5)),
        "norm": of(lambda x: ops.norm(x, ord=3, axis=0, keepdims=True)),
        "nanmedian": of(
            lambda x: ops.nan_to_num(ops.nanmedian(holed(x), axis=0, keepdims=True), nan=9.0)
        ),
        "logsumexp all": of(ops.logsumexp),
        "einsum": of(lambda x: ops.einsum("abc->ca", x)),
        "swapaxes": of(lambda x: ops.swapaxes(x, 0, -1)),
        "moveaxis": of(lambda x: ops.moveaxis(x, (0, 1), (-1, 0))),
        "expand_dims": of(lambda x: ops.expand_dims(x, -2)),
        "meshgrid": of(lambda x: ops.meshgrid(x[0, 0], x[0, :, 1], indexing="ij")),
        "digitize": of(lambda x: ops.digitize(integers(x, 1), np.array([-1.0, 0.0, 2.0]))),
        "attention": row(
            lambda q, k: ops.dot_product_attention(q, k, k, scale=0.9), (2, 5, 4, 3), (2, 6, 4, 3)
        ),
        "rfft": row(lambda x: ops.rfft(x, fft_length=30), (2, 24)),
        "in_top_k": row(lambda t, x: ops.in_top_k(t, x, 1), (5,), (5, 4), dtypes="int32"),
        "extract_patches": row(
            lambda x: ops.image.extract_patches(x, (2, 3), padding="same"), IMAGES
        ),
        "rgb_to_grayscale": row(lambda x: ops.image.rgb_to_grayscale(x, data_format=FIRST), BEFORE),
    }
)
