"""Keras's dtype policies: the dtypes of a layer's inputs, computation and declared outputs.

Keras casts a layer's floating-point inputs to its compute dtype (`autocast`). Integers and bools
are passed to the layer's `call`: most layers promote them to floats, some compute in integers.

https://keras.io/api/mixed_precision/policy/
"""

import re
from dataclasses import dataclass

from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.spec import LayerSpec
from webkiln.ir.types import DTYPES, is_float

HALVES = frozenset({"float16", "bfloat16"})
QUANTIZED = re.compile(r"(int8|int4|float8|gptq|awq)(?:/\S+)?_from_(\S+)")

SHAPING = frozenset(
    {"Equalization", "Flatten", "Identity", "Permute", "RandomGrayscale", "Reshape"}
)
"""Layers whose declared output dtype is that of their input. All others declare their compute
dtype.
"""

AUGMENTATIONS = (
    "AugMix",
    "CutMix",
    "Equalization",
    "MaxNumBoundingBoxes",
    "MixUp",
    "RandAugment",
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterization",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomTranslation",
    "RandomZoom",
    "Solarization",
)
"""Layers that augment images in training, and return them unchanged at inference."""

INTEGERS = SHAPING | {
    *AUGMENTATIONS,
    "ContrastLimitedAdaptiveHistogramEqualization",
    *(
        f"{kind}{rank}D"
        for kind in ("MaxPooling", "GlobalMaxPooling", "AdaptiveMaxPooling")
        for rank in (1, 2, 3)
    ),
    *(
        f"{kind}{rank}D"
        for kind in ("ZeroPadding", "Cropping", "UpSampling", "SpatialDropout")
        for rank in (1, 2, 3)
    ),
    *(
        "ActivityRegularization",
        "AlphaDropout",
        "Dropout",
        "GaussianDropout",
        "GaussianNoise",
        "Masking",
        "RepeatVector",
        "Resizing",
    ),
    *(
        "Add",
        "Average",
        "Concatenate",
        "TFDConcat",
        "Dot",
        "Maximum",
        "Minimum",
        "Multiply",
        "Subtract",
    ),
    *("AdditiveAttention", "Embedding", "ReLU", "SpectralNormalization", "TimeDistributed"),
    *(
        "CategoryEncoding",
        "Discretization",
        "HashedCrossing",
        "Hashing",
        "IntegerLookup",
        "StringLookup",
        "TextVectorization",
    ),
}
"""Layers whose `call` computes with integers. All others compute in floating point."""
PROMOTED = frozenset(
    {"Activation", "LeakyReLU", *(f"GlobalAveragePooling{rank}D" for rank in (1, 2, 3))}
)
"""Layers whose `call` promotes integers to float32, and returns float32, under every policy."""
INTEGER_ACTIVATIONS = frozenset({"linear", "relu"})

STABLE = frozenset(
    {"BatchNormalization", "GroupNormalization", "LayerNormalization", "RMSNormalization"}
)
"""Layers that compute in at least float32, and cast the result to their compute dtype."""

RESTORING = frozenset(
    {"GroupNormalization", "LayerNormalization", "RMSNormalization", "SpectralNormalization"}
)
"""Layers that first cast the result to the dtype of their input, even if it is an integer."""

COUNTING = {
    "Discretization": "int32",
    "IntegerLookup": "int64",
    "StringLookup": "int64",
    "TextVectorization": "int64",
}
"""Layers that declare an `int` output mode with a dtype of its own."""

UNCAST = frozenset({"Embedding", "GroupNormalization", "LayerNormalization", "ReversibleEmbedding"})
"""Keras layers that are created with `autocast=False`."""

UNTRACED_MODES = frozenset({"float8"})
"""Quantization modes of policies whose weights have an unsupported dtype."""

CALIBRATED_MODES = frozenset({"gptq", "awq"})
"""Modes whose zero points Keras 3.15 does not save."""


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy. `declared` is Keras's compute dtype; `work` is that of the operators here: float32
    for bfloat16 and mixed policies. `quantized` is the mode of a quantized policy.
    """

    declared: str
    work: str
    quantized: str = ""


def policy_of(layer: LayerSpec) -> Policy:
    """A Pipeline without a policy has that of its last layer."""
    if layer.own and layer.class_name == "Pipeline" and layer.parts:
        return policy_of([*layer.parts.values()][-1])
    return parse_policy(str(layer.config.get("dtype") or "float32"))


def parse_policy(name: str) -> Policy:
    """The policy with this name. Raises ValueError if Keras does not have it."""
    if found := QUANTIZED.fullmatch(name):
        source = parse_policy(found[2])
        return Policy(source.declared, source.work, found[1])
    declared = name.removeprefix("mixed_")
    if name != declared and declared not in HALVES:
        raise ValueError(name)
    work = "float32" if name != declared else storable(declared)
    if work not in DTYPES:
        raise ValueError(name)
    return Policy(declared, work)


def storable(dtype: str) -> str:
    """The dtype here of Keras's `dtype`. bfloat16 becomes float32, which represents all of its
    values.
    """
    return "float32" if dtype == "bfloat16" else dtype


def takes_integers(layer: Layer) -> bool:
    """Whether this call of a Keras layer computes with its integer inputs."""
    if layer.class_name == "Activation":
        return layer.config.get("activation") in INTEGER_ACTIVATIONS
    if layer.class_name == "ReversibleEmbedding":
        return not layer.arguments.kwargs.get("reverse")
    if layer.class_name == "Attention":
        return layer.config.get("score_mode") == "concat"
    return layer.class_name in INTEGERS


def promoted_dtype(layer: LayerSpec) -> str:
    """The dtype to which a layer that computes in floating point promotes integers."""
    return "float32" if layer.class_name in PROMOTED else work_dtype(layer)


def work_dtype(layer: LayerSpec) -> str:
    """The dtype of a layer's computation."""
    work = policy_of(layer).work
    return "float32" if layer.own and layer.class_name in STABLE and work == "float16" else work


def declared_dtype(layer: LayerSpec, given: str) -> str:
    """The declared dtype of a Keras layer's output for the first input's declared dtype `given`."""
    declared = policy_of(layer).declared
    if layer.class_name == "Pipeline" and layer.parts:
        return declared_dtype([*layer.parts.values()][-1], given)
    if layer.class_name in COUNTING:
        return COUNTING[layer.class_name] if layer.config.get("output_mode") == "int" else declared
    return given if layer.class_name in SHAPING and not is_float(storable(given)) else declared
