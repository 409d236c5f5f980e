"""The options with which attention and convolutional recurrent layers are tested."""

from collections.abc import Mapping

from tests.frontends.keras.cases import LayerCase, on

STEPS, OTHERS = (5, 6), (7, 6)
CAUSAL = {"use_causal_mask": True}

ATTENTION: Mapping[str, Mapping[str, tuple[LayerCase, ...]]] = {
    "Attention": {
        "Attention": (
            on(STEPS, OTHERS),
            on(STEPS, OTHERS, OTHERS, use_scale=True),
            on(STEPS, OTHERS, score_mode="concat"),
            on(STEPS, OTHERS, score_mode="concat", use_scale=True, call=CAUSAL),
            on(STEPS, STEPS, dropout=0.3, call=CAUSAL),
        ),
        "AdditiveAttention": (
            on(STEPS, OTHERS),
            on(STEPS, OTHERS, OTHERS, use_scale=False),
            on(STEPS, OTHERS, dropout=0.2, call=CAUSAL),
        ),
        "MultiHeadAttention": (
            on(STEPS, OTHERS, num_heads=2, key_dim=3),
            on(STEPS, OTHERS, (7, 4), num_heads=3, key_dim=2, value_dim=5),
            on(STEPS, STEPS, num_heads=2, key_dim=3, use_bias=False, call=CAUSAL),
            on(STEPS, OTHERS, num_heads=2, key_dim=3, output_shape=4, dropout=0.5, call=CAUSAL),
            on(STEPS, OTHERS, num_heads=2, key_dim=3, output_shape=(2, 3), use_gate=True),
            on(STEPS, STEPS, num_heads=1, key_dim=4, sliding_window=2),
            on((4, 5, 6), (4, 5, 6), num_heads=2, key_dim=3),
            on((4, 5, 6), (4, 5, 6), num_heads=2, key_dim=3, attention_axes=2),
            on((3, 2, 6), (4, 2, 6), num_heads=2, key_dim=3, attention_axes=(1,), dropout=0.1),
        ),
        "GroupedQueryAttention": (
            on(STEPS, OTHERS, head_dim=3, num_query_heads=4, num_key_value_heads=2),
            on(
                STEPS,
                OTHERS,
                OTHERS,
                head_dim=2,
                num_query_heads=3,
                num_key_value_heads=1,
                use_bias=False,
                dropout=0.2,
                call=CAUSAL,
            ),
            on(
                STEPS,
                STEPS,
                head_dim=3,
                num_query_heads=4,
                num_key_value_heads=4,
                use_gate=True,
                sliding_window=2,
                call=CAUSAL,
            ),
        ),
    },
    "Recurrent layers over images": {
        "ConvLSTM1D": (
            on((3, 7, 2), filters=3, kernel_size=3),
            on(
                (3, 2, 7),
                filters=3,
                kernel_size=2,
                padding="same",
                data_format="channels_first",
                return_sequences=True,
                oracle="channels_last",
            ),
        ),
        "ConvLSTM2D": (
            on((3, 6, 5, 2), filters=2, kernel_size=(3, 2)),
            on(
                (3, 6, 5, 2),
                filters=3,
                kernel_size=2,
                strides=2,
                return_sequences=True,
                use_bias=False,
                activation="relu",
            ),
            on(
                (2, 6, 7, 2),
                filters=2,
                kernel_size=2,
                dilation_rate=2,
                go_backwards=True,
                recurrent_activation="hard_sigmoid",
                dropout=0.3,
            ),
            on(
                (3, 6, 5, 2),
                filters=2,
                kernel_size=3,
                padding="same",
                recurrent_dropout=0.2,
                return_sequences=True,
            ),
        ),
        "ConvLSTM3D": (
            on((2, 3, 4, 5, 2), filters=2, kernel_size=2, padding="same"),
            on((2, 4, 4, 3, 1), filters=2, kernel_size=(2, 1, 3)),
        ),
    },
}
