"""Every public layer of Keras: the options with which it is tested, or why it is not converted.
docs/keras.md is generated from this table.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import keras
from keras import layers as L

from tests.frontends.keras.attention_cases import ATTENTION
from tests.frontends.keras.cases import (
    FIRST,
    IMAGE,
    SEQUENCE,
    VECTOR,
    VOLUME,
    LayerCase,
    Shape,
    on,
)
from tests.frontends.keras.convolution_cases import CONVOLUTION, POOLING
from tests.frontends.keras.preprocessing_cases import PREPROCESSING
from tests.frontends.keras.shape_cases import MERGING, RESHAPING
from webkiln.frontends.keras.supported import UNTRACED

ACTIVATIONS = (
    "celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh"
    " leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu sigmoid silu soft_shrink"
    " softmax softplus softsign sparse_plus sparse_sigmoid sparsemax squareplus swish tanh"
    " tanh_shrink"
).split()

LAYER_CASES: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
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
    **CONVOLUTION,
    **POOLING,
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
    **RESHAPING,
    **MERGING,
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
"""Layers that are tested as parts of others."""
INNER = frozenset({"ConvLSTMCell", "TFDConcat"})
"""Internal layers of Keras: of a ConvLSTM, and of a FeatureSpace."""


@dataclass(frozen=True)
class Refused:
    """A model that Keras builds and webkiln refuses: a call on an input of `shape`, and the
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
        lambda x: L.Lambda(lambda y: y + len(y.shape), name="code")(x),
        "code (Lambda): a Lambda layer is Python code inside the model file and is not executed. "
        'Register a handler, @KerasConverter.register_handler("Lambda", "code"), in FILE.py and '
        "pass --plugin FILE.py, or --trust-source if you trust the file",
    ),
    Refused(
        "a layer that is called with `training=True`",
        VECTOR,
        lambda x: L.Dropout(0.5, name="drop")(x, training=True),
        "drop (Dropout): it is called with training=True. Build the model for"
        " inference, without that argument",
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
    """The classes in `keras.layers`, by their class names."""
    members = (getattr(L, name) for name in dir(L))
    return {
        thing.__name__
        for thing in members
        if isinstance(thing, type) and issubclass(thing, keras.layers.Layer)
    }
