"""Option values of layers that `layer_cases` does not have, evaluated with numpy only."""

from collections.abc import Mapping

from keras import layers as L

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

TURNED = (4, 11)
STEPS = (4, 3)
ONCE = {"oracle": "channels_last"}
SOUND = (120, 2)

VALUES: Mapping[str, tuple[LayerCase, ...]] = {
    "Conv1D": (
        on(SEQUENCE, filters=3, kernel_size=2, strides=3, activation="relu6"),
        on(SEQUENCE, filters=3, kernel_size=4, padding="same", dilation_rate=2),
    ),
    "Conv2D": (
        on(IMAGE, filters=4, kernel_size=(2, 4), padding="same", dilation_rate=(2, 1)),
        on(IMAGE, filters=2, kernel_size=2, strides=(1, 3), use_bias=False),
    ),
    "Conv3D": (on(VOLUME, filters=2, kernel_size=(1, 4, 2), padding="same", strides=(1, 2, 3)),),
    "Conv1DTranspose": (
        on(SEQUENCE, filters=2, kernel_size=2, strides=5),
        on(SEQUENCE, filters=2, kernel_size=4, strides=3, padding="same", output_padding=2),
    ),
    "Conv2DTranspose": (
        on(IMAGE, filters=2, kernel_size=(2, 5), strides=(4, 2)),
        on(IMAGE, filters=2, kernel_size=(4, 3), strides=(3, 2), output_padding=(0, 1)),
    ),
    "Conv3DTranspose": (
        on(VOLUME, filters=2, kernel_size=2, strides=2, output_padding=1, use_bias=False),
        on(VOLUME, filters=2, kernel_size=(1, 2, 3), strides=(3, 2, 1), padding="same"),
    ),
    "SeparableConv1D": (
        on(TURNED, filters=3, kernel_size=3, data_format="channels_first", **ONCE),
        on(SEQUENCE, filters=3, kernel_size=2, strides=3, padding="same"),
    ),
    "SeparableConv2D": (
        on(IMAGE, filters=3, kernel_size=(4, 2), padding="same", strides=2, use_bias=False),
    ),
    "DepthwiseConv1D": (
        on(TURNED, kernel_size=3, data_format="channels_first", **ONCE),
        on(SEQUENCE, kernel_size=2, dilation_rate=3, activation="tanh", padding="same"),
    ),
    "DepthwiseConv2D": (
        on(IMAGE, kernel_size=(2, 4), padding="same", strides=3, activation="elu"),
    ),
    "MaxPooling1D": (on(SEQUENCE, pool_size=4, strides=3, padding="same"),),
    "MaxPooling2D": (
        on(IMAGE, pool_size=(4, 3)),
        on(FIRST, pool_size=(2, 3), strides=(3, 1), data_format="channels_first"),
    ),
    "AveragePooling1D": (on(SEQUENCE, pool_size=4, strides=3, padding="same"),),
    "AveragePooling2D": (
        on(IMAGE, pool_size=(4, 3)),
        on(FIRST, pool_size=(3, 2), strides=(3, 1), data_format="channels_first"),
    ),
    "AveragePooling3D": (on(VOLUME, pool_size=(2, 4, 3), strides=(2, 1, 2), padding="same"),),
    "BatchNormalization": (on(FIRST, axis=1, scale=False), on(SEQUENCE, epsilon=0.5, center=False)),
    "LayerNormalization": (on((3, 8), epsilon=1e-6), on(IMAGE, axis=-2, epsilon=0.2)),
    "GroupNormalization": (on((4, 6), groups=2, axis=-2, epsilon=0.2), on(SEQUENCE, groups=2)),
    "RMSNormalization": (on(IMAGE, axis=(2, 3), epsilon=0.2),),
    "UnitNormalization": (on(IMAGE, axis=-2),),
    "Normalization": (
        on(IMAGE, axis=1),
        on(VECTOR, axis=None, mean=0.5, variance=2.0, invert=True),
    ),
    "Rescaling": (on(SEQUENCE, scale=[1.0, 2.0, 0.5, 3.0], offset=[0.0, 1.0, -1.0, 2.0]),),
    "ReLU": (on(VECTOR, negative_slope=0.3), on(VECTOR, max_value=1.0, threshold=0.2)),
    "LeakyReLU": (on(VECTOR, negative_slope=0.0),),
    "ELU": (on(VECTOR, alpha=2.0),),
    "Softmax": (on(SEQUENCE, axis=-2), on(IMAGE, axis=(-1, 1))),
    "PReLU": (on(IMAGE, shared_axes=(1,)), on(IMAGE, shared_axes=(2, 3))),
    "SimpleRNN": (
        on(STEPS, units=3, use_bias=False, dropout=0.2, recurrent_dropout=0.3),
        on(STEPS, units=3, unroll=True, go_backwards=True),
    ),
    "LSTM": (
        on(
            STEPS,
            units=3,
            activation="softsign",
            unit_forget_bias=False,
            go_backwards=True,
            return_sequences=True,
        ),
        on(
            STEPS,
            units=2,
            recurrent_activation="relu",
            dropout=0.3,
            recurrent_dropout=0.2,
            unroll=True,
        ),
    ),
    "GRU": (
        on(
            STEPS,
            units=3,
            activation="relu",
            recurrent_activation="tanh",
            use_bias=False,
            go_backwards=True,
        ),
        on(STEPS, units=3, reset_after=False, use_bias=False, unroll=True),
        on(STEPS, units=3, reset_after=False, recurrent_activation="hard_sigmoid"),
    ),
    "RNN": (
        on(STEPS, cell=L.GRUCell(3, reset_after=False), return_sequences=True, go_backwards=True),
        on(STEPS, cell=[L.SimpleRNNCell(2), L.LSTMCell(3)], return_sequences=True),
    ),
    "Bidirectional": (
        on(STEPS, layer=L.GRU(3), merge_mode="sum"),
        on(STEPS, layer=L.LSTM(3, return_sequences=True), merge_mode="mul"),
        on(
            STEPS,
            layer=L.GRU(3, return_sequences=True, name="ahead"),
            backward_layer=L.LSTM(3, return_sequences=True, go_backwards=True, name="back"),
        ),
    ),
    "EinsumDense": (
        on(
            SEQUENCE,
            equation="abc,cd->abd",
            output_shape=(11, 3),
            bias_axes="bd",
            activation="relu",
        ),
    ),
    "ReversibleEmbedding": (
        on((3,), input_dim=5, output_dim=3, reverse_dtype="float32", call={"reverse": True}),
        on((4,), input_dim=5, output_dim=3, mask_zero=True),
    ),
    "Resizing": (
        on(IMAGE, height=5, width=13, pad_to_aspect_ratio=True),
        on(FIRST, height=5, width=6, crop_to_aspect_ratio=True, data_format="channels_first"),
        on((7, 4, 3), height=4, width=9, crop_to_aspect_ratio=True),
    ),
    "ContrastLimitedAdaptiveHistogramEqualization": (
        on((3, 10, 9), value_range=(0, 255), tile_grid_size=(2, 3), data_format="channels_first"),
    ),
    "CenterCrop": (
        on(IMAGE, height=6, width=5),
        on((5, 9, 3), height=8, width=4),
        on(FIRST, height=12, width=5, data_format="channels_first"),
    ),
    "UpSampling2D": (
        on(FIRST, size=(3, 2), data_format="channels_first"),
        on(IMAGE, size=(2, 1), interpolation="bilinear"),
    ),
    "UpSampling3D": (on(VOLUME, size=(3, 1, 2)),),
    "ZeroPadding3D": (
        on(VOLUME_FIRST, padding=((1, 2), (0, 1), (3, 0)), data_format="channels_first"),
    ),
    "ZeroPadding2D": (on(FIRST, padding=((1, 2), (0, 3)), data_format="channels_first"),),
    "Cropping1D": (on(SEQUENCE, cropping=(3, 1)),),
    "Cropping2D": (on(FIRST, cropping=((0, 1), (2, 3)), data_format="channels_first"),),
    "Flatten": (on(VOLUME), on(TURNED, data_format="channels_first")),
    "Dot": (on((2, 3), (2, 4), axes=1, normalize=True), on((5, 3), (4, 3), axes=2)),
    "Concatenate": (on((3, 4), (3, 4), axis=-2), on((3, 1, 2), (3, 5, 2), axis=2)),
    "Attention": (on((5, 6), (7, 6), (7, 6), score_mode="concat", call={"use_causal_mask": True}),),
    "AdditiveAttention": (on((5, 6), (7, 6), use_scale=False),),
    "MultiHeadAttention": (
        on((5, 6), (7, 6), num_heads=2, key_dim=3, sliding_window=1),
        on(
            (5, 6),
            (5, 6),
            num_heads=3,
            key_dim=2,
            value_dim=4,
            use_gate=True,
            use_bias=False,
            dropout=0.1,
            sliding_window=3,
        ),
    ),
    "GroupedQueryAttention": (
        on((5, 6), (5, 6), head_dim=3, num_query_heads=4, num_key_value_heads=2, sliding_window=1),
    ),
    "ConvLSTM1D": (
        on(
            (3, 7, 2),
            filters=2,
            kernel_size=4,
            recurrent_activation="relu",
            return_sequences=True,
            go_backwards=True,
        ),
        on(
            (3, 9, 2),
            filters=2,
            kernel_size=3,
            strides=2,
            activation="relu",
            use_bias=False,
            padding="same",
        ),
        on((2, 8, 2), filters=3, kernel_size=2, dilation_rate=3),
    ),
    "ConvLSTM2D": (
        on((2, 6, 5, 2), filters=2, kernel_size=(4, 2), padding="same"),
        on(
            (2, 2, 6, 5),
            filters=3,
            kernel_size=2,
            data_format="channels_first",
            return_sequences=True,
            **ONCE,
        ),
    ),
    "STFTSpectrogram": (
        on((2, 120), frame_length=16, data_format="channels_first", mode="magnitude"),
        on(
            (2, 120),
            frame_length=16,
            frame_step=5,
            data_format="channels_first",
            expand_dims=True,
            mode="psd",
        ),
        on(SOUND, frame_length=17, fft_length=32, mode="log"),
        on(SOUND, frame_length=16, expand_dims=True, mode="stft", window=None, scaling=None),
    ),
    "MelSpectrogram": (
        on(
            (200,),
            fft_length=32,
            sequence_stride=8,
            num_mel_bins=5,
            sampling_rate=4000,
            min_freq=300.0,
            min_power=0.5,
        ),
        on((200,), fft_length=32, sequence_stride=8, num_mel_bins=5, window=None, mag_exp=3.0),
    ),
    "Discretization": (on((4, 3), bin_boundaries=[-0.5, 0.5], output_mode="one_hot"),),
    "IntegerLookup": (
        on(
            (5,),
            dtype="int64",
            vocabulary=(3, 1),
            mask_token=2,
            num_oov_indices=2,
            output_mode="multi_hot",
        ),
        on(
            (4, 3),
            dtype="int32",
            vocabulary=(3, 250),
            num_oov_indices=3,
            oov_method="farmhash",
            salt=7,
        ),
        on(
            (4, 3),
            dtype="int32",
            vocabulary=(3, 250, 1),
            oov_token=9,
            invert=True,
            num_oov_indices=2,
        ),
    ),
    "Hashing": (
        on((4, 3), dtype="int32", num_bins=300, salt=9),
        on((5,), dtype="int64", num_bins=4, mask_value=3, output_mode="count"),
        on((4, 3), dtype="int32", num_bins=1, mask_value=3),
    ),
}
