"""Each layer with further option values, compared with Keras."""

import inspect
from collections.abc import Iterator

import keras

from tests.frontends.keras.layer_cases import LAYER_CASES
from tests.frontends.keras.layer_trees import CLASSES, tree
from tests.frontends.keras.layer_values import VALUES
from webkiln.frontends.keras.layers.images import augmentation
from webkiln.frontends.keras.layers.norm import identity
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.ops.evaluate import run_graph

TRAINING = {
    "name",
    "dtype",
    "seed",
    "trainable",
    "weights",
    "momentum",
    "synchronized",
    "renorm",
    "renorm_clipping",
    "renorm_momentum",
    "noise_shape",
    "l2",
    "power_iterations",
    "use_cudnn",
    "flash_attention",
    "sparse",
    "vocabulary_dtype",
    "dropout",
    "recurrent_dropout",
    "unit_forget_bias",
    "unroll",
    "num_bins",
    "quantization_config",
    "gptq_unpacked_column_size",
}
"""Options without an effect at inference."""
ELSEWHERE = {"lora_rank", "lora_alpha", "return_state", "stateful", "zero_output_for_mask"}
"""Options that are tested elsewhere, with custom weights, further outputs, several runs or masks.
"""
ONE_VALUE = {
    ("Resizing", "fill_mode"),
    ("Conv3DTranspose", "dilation_rate"),
    ("Discretization", "epsilon"),
}
"""Options of which Keras accepts, or TensorFlow computes, one value only."""


def test_other_option_values_agree_with_keras() -> None:
    keras.utils.clear_session(free_memory=False)
    item = tree(VALUES)
    assert item.differences(run_graph(item.graph(), item.inputs)[0]) == {}


def options(name: str) -> Iterator[inspect.Parameter]:
    """The options of a layer that affect inference and have a default."""
    for item in inspect.signature(CLASSES[name].__init__).parameters.values():
        is_free = item.default is not inspect.Parameter.empty
        if (
            is_free
            and item.name not in TRAINING | ELSEWHERE
            and not item.name.endswith(("_initializer", "_regularizer", "_constraint"))
        ):
            yield item


def test_rows_set_each_option_to_another_value() -> None:
    rows = {
        name: cases
        for section in LAYER_CASES.values()
        for name, cases in section.items()
        if LAYERS[name] not in (augmentation, identity) and name != "ConvLSTM3D"
    }
    missing = {
        (name, item.name)
        for name, cases in rows.items()
        for item in options(name)
        if not any(
            str(case.options.get(item.name, item.default)) != str(item.default)
            for case in (*cases, *VALUES.get(name, ()))
        )
    }
    assert missing <= ONE_VALUE
