"""The names and the order of the weights of Keras's layers."""

from collections.abc import Mapping
from typing import Any

WEIGHTS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "Dense",
            "EinsumDense",
            "Conv1D",
            "Conv2D",
            "Conv3D",
            "DepthwiseConv1D",
            "DepthwiseConv2D",
        ),
        ("kernel", "bias"),
    ),
    **dict.fromkeys(("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"), ("kernel", "bias")),
    **dict.fromkeys(
        ("SeparableConv1D", "SeparableConv2D"), ("depthwise_kernel", "pointwise_kernel", "bias")
    ),
    **dict.fromkeys(
        ("SimpleRNNCell", "LSTMCell", "GRUCell", "ConvLSTMCell"),
        ("kernel", "recurrent_kernel", "bias"),
    ),
    "BatchNormalization": ("gamma", "beta", "moving_mean", "moving_variance"),
    "LayerNormalization": ("gamma", "beta"),
    "GroupNormalization": ("gamma", "beta"),
    "RMSNormalization": ("scale",),
    "Normalization": ("mean", "variance", "count"),
    "SpectralNormalization": ("kernel", "vector_u"),
    "PReLU": ("alpha",),
    "Attention": ("scale", "concat_score_weight"),
    "AdditiveAttention": ("scale",),
    "STFTSpectrogram": ("real_kernel", "imag_kernel"),
    "Embedding": ("embeddings",),
    **dict.fromkeys(
        ("LocallyConnected1D", "LocallyConnected2D", "MaxoutDense"), ("kernel", "bias")
    ),
    "Highway": ("kernel", "carry_kernel", "bias", "carry_bias"),
    "SReLU": ("t_left", "a_left", "t_right", "a_right"),
    "ParametricSoftplus": ("alpha", "beta"),
    **dict.fromkeys(
        ("SamplewiseNormalization", "BatchwiseNormalization"),
        ("gamma", "beta", "moving_mean", "moving_variance"),
    ),
    "ReversibleEmbedding": ("embeddings", "reverse_embeddings"),
}
"""The names of a built-in layer's weights, in Keras's order."""

FIXED = frozenset(
    {
        "moving_mean",
        "moving_variance",
        "mean",
        "variance",
        "count",
        "vector_u",
        "real_kernel",
        "imag_kernel",
    }
)
"""Non-trainable weights, which Keras lists last."""


def weight_names(class_name: str, config: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the weights of a built-in layer with this config, in Keras's order; empty if
    unknown.
    """
    if class_name == "LayerNormalization" and config.get("rms_scaling"):
        return ("gamma",)  # whatever `scale` and `center` say
    options = {
        "gamma": "scale",
        "beta": "center",
        "bias": "use_bias",
        "carry_bias": "use_bias",
        "scale": "use_scale",
    }
    lacking = {"concat_score_weight"} if config.get("score_mode") != "concat" else set()
    lacking |= (
        {"bias"} if class_name == "EinsumDense" and not config.get("bias_axes", True) else set()
    )
    lacking |= (
        {"mean", "variance", "count"}
        if class_name == "Normalization" and config.get("mean") is not None
        else set()
    )
    lacking |= {"imag": {"real_kernel"}, "real": {"imag_kernel"}}.get(
        str(config.get("mode")), set()
    )
    return tuple(
        name
        for name in WEIGHTS.get(class_name, ())
        if name not in lacking and config.get(options.get(name, ""), True)
    )
