"""Every public layer of Keras: the options that it is tried with, or why it is not converted.
docs/keras.md is written from this table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
from keras import layers as L

from tests.frontends.keras.attention_cases import ATTENTION
from tests.frontends.keras.preprocessing_cases import PREPROCESSING
from tests.frontends.keras.tried import (
    FIRST,
    IMAGE,
    SEQUENCE,
    VECTOR,
    VOLUME,
    VOLUME_FIRST,
    Shape,
    Tried,
    on,
)
from webkiln.frontends.keras.supported import UNTRACED


def pools(shape: Shape, first: Shape) -> tuple[Tried, ...]:
    rank = len(shape) - 1
    return (
        on(shape, pool_size=2),
        on(shape, pool_size=3, strides=2, padding="same"),
        on(shape, pool_size=2, strides=1),
        on(shape, pool_size=(2, 3, 1)[:rank], strides=(1, 2, 3)[:rank], padding="same"),
        on(first, pool_size=2, padding="same", data_format="channels_first"),
    )


def adaptive(*tried: tuple[Shape, Any], first: Shape) -> tuple[Tried, ...]:
    return (
        *(on(shape, output_size=size) for shape, size in tried),
        on(first, output_size=3, data_format="channels_first"),
    )


def over_all(shape: Shape, first: Shape) -> tuple[Tried, ...]:
    return (
        on(shape),
        on(shape, keepdims=True),
        on(first, data_format="channels_first"),
        on(first, data_format="channels_first", keepdims=True),
    )


def merged(**options: Any) -> tuple[Tried, ...]:
    return (
        on((3, 4), (3, 4), **options),
        on((3, 4), (3, 4), (3, 4), **options),
        on((3, 1), (1, 4), (4,), (3, 4), **options),
        on((5, 1, 2), (5, 3, 2), **options),
    )


ACTIVATIONS = (
    "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh"
    " leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink"
    " softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh"
    " tanh_shrink"
).split()

TRIED: Mapping[str, Mapping[str, tuple[Tried, ...]]] = {
    "Core": {
        "Dense": (
            on(VECTOR, units=5),
            on(VECTOR, units=1, use_bias=False, activation="relu"),
            on(SEQUENCE, units=3, activation="softmax"),
            on(IMAGE, units=3, activation=L.LeakyReLU(negative_slope=0.3)),
            on((2, 3, 1, 4), units=17, activation=L.ReLU(max_value=0.5)),
        ),
        "EinsumDense": (
            on(VECTOR, equation="ab,bc->ac", output_shape=5, bias_axes="c"),
            on(
                SEQUENCE,
                equation="abc,cde->abde",
                output_shape=(None, 3, 2),
                bias_axes="de",
                activation="tanh",
            ),
            on((5, 3, 2), equation="abcd,cde->abe", output_shape=(None, 6), bias_axes="e"),
            on((5, 3, 2), equation="...x,xy->...y", output_shape=7),
            on(SEQUENCE, equation="ab...,bc->ac...", output_shape=3, bias_axes="c"),
            on((5, 3), equation="abc,bcd->abd", output_shape=(5, 4), bias_axes="bd"),
        ),
        "Embedding": (
            on((5,), dtype="int32", input_dim=7, output_dim=3),
            on((2, 3), input_dim=9, output_dim=4),
            on((4,), dtype="int32", input_dim=3, output_dim=5, mask_zero=True),
        ),
        "ReversibleEmbedding": (
            on((5,), dtype="int32", input_dim=7, output_dim=3),
            on((2, 3), input_dim=9, output_dim=3, call={"reverse": True}),
            on(
                (3,),
                input_dim=5,
                output_dim=3,
                tie_weights=False,
                logit_soft_cap=0.5,
                call={"reverse": True},
            ),
        ),
        "Activation": tuple(on((2, 12), activation=name) for name in ACTIVATIONS),
        "Identity": (on(VECTOR), on(IMAGE)),
        "Masking": (on((5, 3)), on((5, 3), mask_value=1.5)),
    },
    "Activation": {
        "ReLU": (
            on(VECTOR),
            on(VECTOR, max_value=1.0),
            on(VECTOR, negative_slope=0.2, max_value=0.5),
            on(VECTOR, threshold=0.4),
            on(VECTOR, threshold=0.4, negative_slope=0.1, max_value=1.0),
        ),
        "LeakyReLU": (on(VECTOR), on(IMAGE, negative_slope=0.1)),
        "PReLU": (
            on(VECTOR),
            on(IMAGE, shared_axes=(1, 2)),
            on(SEQUENCE, shared_axes=(1,)),
            on(SEQUENCE),
        ),
        "ELU": (on(VECTOR), on(IMAGE, alpha=0.7)),
        "Softmax": (on(IMAGE), on(IMAGE, axis=1), on(IMAGE, axis=(1, 2)), on(VECTOR, axis=1)),
    },
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
    "Pooling": {
        "MaxPooling1D": pools(SEQUENCE, (4, 11)),
        "MaxPooling2D": pools(IMAGE, FIRST),
        "MaxPooling3D": pools(VOLUME, VOLUME_FIRST),
        "AveragePooling1D": pools(SEQUENCE, (4, 11)),
        "AveragePooling2D": pools(IMAGE, FIRST),
        "AveragePooling3D": pools(VOLUME, VOLUME_FIRST),
        "GlobalMaxPooling1D": over_all(SEQUENCE, (4, 11)),
        "GlobalMaxPooling2D": over_all(IMAGE, FIRST),
        "GlobalMaxPooling3D": over_all(VOLUME, VOLUME_FIRST),
        "GlobalAveragePooling1D": over_all(SEQUENCE, (4, 11)),
        "GlobalAveragePooling2D": over_all(IMAGE, FIRST),
        "GlobalAveragePooling3D": over_all(VOLUME, VOLUME_FIRST),
        "AdaptiveMaxPooling1D": adaptive((SEQUENCE, 3), (SEQUENCE, 11), first=(4, 11)),
        "AdaptiveMaxPooling2D": adaptive((IMAGE, 3), (IMAGE, (4, 5)), (IMAGE, (9, 2)), first=FIRST),
        "AdaptiveMaxPooling3D": adaptive((VOLUME, 2), (VOLUME, (4, 3, 2)), first=VOLUME_FIRST),
        "AdaptiveAveragePooling1D": adaptive((SEQUENCE, 3), (SEQUENCE, 4), first=(4, 11)),
        "AdaptiveAveragePooling2D": adaptive(
            (IMAGE, 3), (IMAGE, (4, 5)), (IMAGE, (9, 2)), first=FIRST
        ),
        "AdaptiveAveragePooling3D": adaptive((VOLUME, 2), (VOLUME, (4, 3, 2)), first=VOLUME_FIRST),
    },
    "Normalisation": {
        "BatchNormalization": (
            on(IMAGE),
            on(IMAGE, axis=1, epsilon=0.1),
            on(VECTOR, scale=False),
            on(SEQUENCE, center=False, scale=False),
            on(VOLUME, axis=-2, center=False),
        ),
        "LayerNormalization": (
            on(VECTOR),
            on(IMAGE, epsilon=0.1),
            on(IMAGE, axis=(1, 2)),
            on(SEQUENCE, axis=1, center=False),
            on(VOLUME, axis=(-1, -3), scale=False),
            on(SEQUENCE, center=False, scale=False),
            on(SEQUENCE, rms_scaling=True),
            on(IMAGE, axis=(1, 2), epsilon=0.3, scale=False, rms_scaling=True),
        ),
        "GroupNormalization": (
            on(IMAGE, groups=2),
            on(IMAGE, groups=-1, epsilon=0.1),
            on((9, 8, 6), groups=3, axis=-1, scale=False),
            on(FIRST, groups=2, axis=1, center=False),
            on(SEQUENCE, groups=1),
            on((8,), groups=4, center=False, scale=False),
        ),
        "RMSNormalization": (on(VECTOR), on(IMAGE, epsilon=0.1)),
        "SpectralNormalization": (on(IMAGE, layer=L.Conv2D(3, 2)), on(VECTOR, layer=L.Dense(4))),
        "Normalization": (
            on(IMAGE),
            on(SEQUENCE, axis=(1, 2)),
            on(VECTOR, axis=None, mean=0.5, variance=4.0),
            on(IMAGE, mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 0.5, 0.0, 2.0], invert=True),
        ),
        "Rescaling": (
            on(IMAGE, dtype="uint8", scale=1 / 127.5, offset=-1),
            on(SEQUENCE, scale=2.0),
            on((2, 3), scale=[1.0, 2.0, 0.5]),
        ),
        "UnitNormalization": (on(VECTOR), on(IMAGE, axis=(1, 2)), on(SEQUENCE, axis=1)),
    },
    "Recurrent": {
        "SimpleRNN": (
            on(SEQUENCE, units=3),
            on(SEQUENCE, units=5, return_sequences=True, activation="relu", go_backwards=True),
        ),
        "LSTM": (
            on(SEQUENCE, units=3),
            on(
                SEQUENCE,
                units=5,
                return_sequences=True,
                recurrent_activation="hard_sigmoid",
                use_bias=False,
            ),
        ),
        "GRU": (
            on(SEQUENCE, units=3),
            on(SEQUENCE, units=5, return_sequences=True, reset_after=False),
        ),
        "RNN": (on(SEQUENCE, cell=[L.LSTMCell(3), L.GRUCell(2), L.SimpleRNNCell(4)]),),
        "Bidirectional": (
            on(SEQUENCE, layer=L.LSTM(3)),
            on(SEQUENCE, layer=L.GRU(2, return_sequences=True), merge_mode="ave"),
        ),
        "TimeDistributed": (on(SEQUENCE, layer=L.Dense(3)), on((3, 5, 4, 2), layer=L.Conv2D(3, 2))),
    },
    "Regularisation, nothing at inference": {
        "Dropout": (on(VECTOR, rate=0.5),),
        "SpatialDropout1D": (on(SEQUENCE, rate=0.5),),
        "SpatialDropout2D": (on(IMAGE, rate=0.5),),
        "SpatialDropout3D": (on(VOLUME, rate=0.5),),
        "AlphaDropout": (on(VECTOR, rate=0.5),),
        "GaussianDropout": (on(VECTOR, rate=0.5),),
        "GaussianNoise": (on(VECTOR, stddev=1.0),),
        "ActivityRegularization": (on(VECTOR, l1=0.1),),
    },
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
    **ATTENTION,
    **PREPROCESSING,
}

BASE = "a base class, or a part of every model"

NOT_CONVERTED: Mapping[str, str] = {
    **UNTRACED,
    **dict.fromkeys("InputLayer Layer Wrapper".split(), BASE),
    "Lambda": "Python code inside the model file, never executed without `--trust-source`",
}

PARTS = frozenset("Equalization GRUCell LSTMCell SimpleRNNCell StackedRNNCells".split())
"""Layers that are tried as parts of others."""
INNER = frozenset({"ConvLSTMCell", "TFDConcat"})
"""Layers of Keras's own that only others make: of a ConvLSTM, and of a FeatureSpace."""


@dataclass(frozen=True)
class Refused:
    """Something that Keras builds and webkiln refuses: a call on an input of `shape`, and the
    message.
    """

    what: str
    shape: Shape
    call: Callable[[Any], Any]
    message: str


REFUSED = (
    Refused(
        "a `Lambda` layer",
        VECTOR,
        lambda x: L.Lambda(lambda y: y + 1, name="code")(x),
        "code (Lambda): a Lambda layer is Python code inside the model file and is not executed. "
        "Replace it by keras.ops operations, or pass --trust-source if you trust the file",
    ),
    Refused(
        "a layer that is called with `training=True`",
        VECTOR,
        lambda x: L.Dropout(0.5, name="drop")(x, training=True),
        "drop (Dropout): it is called with training=True. Build the model without that argument, as"
        " it is used for inference",
    ),
    Refused(
        "a layer that `quantize('float8')` has changed",
        VECTOR,
        lambda x: L.Dense(3, dtype="float8_from_float32", name="dense")(x),
        "dense (Dense): it is quantized to float8 by quantize(). Convert the model as it is before"
        " quantize(); the encoding int8 stores its weights in 8 bits",
    ),
    Refused(
        "`sparsemax` of more than 1024 elements",
        (1025,),
        lambda x: L.Activation("sparsemax", name="sparse")(x),
        "sparse: sparsemax over 1025 elements is not supported; at most 1024",
    ),
    Refused(
        "an activation layer with weights as an argument",
        VECTOR,
        lambda x: L.Dense(3, activation=L.PReLU(), name="dense")(x),
        "dense (Dense): activation 'PReLU' is not supported. There are ",
    ),
)


def public_layers() -> set[str]:
    """The classes that `keras.layers` offers, by their own names."""
    found = (getattr(L, name) for name in dir(L))
    return {
        thing.__name__
        for thing in found
        if isinstance(thing, type) and issubclass(thing, keras.layers.Layer)
    }
