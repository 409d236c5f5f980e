"""Typical user networks of TensorFlow, SavedModels and frozen graphs, with seeded weights under
which their outputs depend on the input.

.venv/bin/python -m tests.families.tensorflow_networks [BERT-mini ...] [--backend js]; with wasm and
js, it replaces the rows of docs/families.md.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from tests.families.driver import Family, main
from tests.families.tensorflow_frozen import deep_lab, deep_speech, resnet
from tests.families.tensorflow_images import unet_2d, unet_3d, yolo, yolo_of_one
from tests.families.tensorflow_parts import Network, Signature, save_network, write_graph
from tests.families.tensorflow_sequences import (
    bert,
    translator,
    wavenet,
    wavenet_as_batches,
    whisper,
)
from webkiln.frontends.keras.random_weights import fill_randomly
from webkiln.recipe.recipe import Inputs, Recipe, UserCode, Verification
from webkiln.recipe.sources import PathSource

IMAGE = 64


@dataclass(frozen=True)
class Case:
    """`write` writes the file, `dims` names symbolic sizes, and `sizes` are their values in the
    verification.
    """

    write: Callable[[Path], Path]
    sizes: Mapping[str, int]
    dims: Mapping[str, str] = field(default_factory=dict)


def application(network: str) -> keras.Model:
    image = keras.Input((IMAGE, IMAGE, 3), name="image")
    model = getattr(keras.applications, network)(
        weights=None, input_tensor=image, input_shape=image.shape[1:]
    )
    fill_randomly(model)
    return model


def exported(network: str, folder: Path) -> Path:
    application(network).export(folder / "saved", verbose=False)
    return folder / "saved"


def frozen(network: str, folder: Path) -> Path:
    model = application(network)
    traced = tf.function(
        model, input_signature=[tf.TensorSpec((None, IMAGE, IMAGE, 3), name="image")]
    ).get_concrete_function()
    return write_graph(convert_variables_to_constants_v2(traced).graph.as_graph_def(), folder)


def classifier(network: str, folder: Path) -> Path:
    """Wrap a Keras model: resize images of any size, and return the best label."""
    module = tf.Module()
    module.model = application(network)

    @tf.function(input_signature=[tf.TensorSpec((None, None, None, 3), name="image")])
    def classify(image: tf.Tensor) -> dict[str, tf.Tensor]:
        scores = module.model(tf.image.resize(image, [IMAGE, IMAGE]), training=False)
        return {"scores": scores, "label": tf.argmax(scores, -1, tf.int32)}

    module.classify = classify
    tf.saved_model.save(module, folder / "saved", signatures=classify)
    return folder / "saved"


def writer_of(
    network: Network, signature: Signature, *samples: int, is_frozen: bool = False
) -> Callable[[Path], Path]:
    """Return a writer for a function, with samples of these symbolic sizes."""
    return partial(save_network, network, signature, samples, frozen=is_frozen)


WORDS: Signature = dict.fromkeys(
    ("input_ids", "attention_mask", "token_type_ids"), ((None, None), "int32")
)
SHARED = {f"{name}_{axis}": "NT"[axis] for name in WORDS for axis in range(2)}
COLORS: Signature = {"image": ((None, None, None, 3), "uint8")}
WAVE: Signature = {"wave": ((None, None, 1), "float32")}
BERT = writer_of(bert, WORDS, 4, 16)
TRANSLATOR = writer_of(translator, {"ids": ((None, None), "int32")}, 2, 9)

CASES = {
    "MobileNetV3Large, model.export": Case(partial(exported, "MobileNetV3Large"), {"image_0": 2}),
    "ResNet50, model.export": Case(partial(exported, "ResNet50"), {"image_0": 2}),
    "EfficientNetB0, tf.saved_model.save": Case(
        partial(classifier, "EfficientNetB0"), {"image_0": 2, "image_1": 48, "image_2": 80}
    ),
    "MobileNetV3Small, frozen": Case(partial(frozen, "MobileNetV3Small"), {"image_0": 2}),
    "ResNet50 of TensorFlow 1, frozen": Case(resnet, {"image_0": 2}),
    "DeepLabv3 of TensorFlow 1, frozen": Case(deep_lab, {"image_1": 64, "image_2": 90}),
    "YOLOv5n with its boxes": Case(
        writer_of(yolo, COLORS, 2, 64, 96), {"image_0": 2, "image_1": 64, "image_2": 96}
    ),
    "YOLOv5n with the boxes of one image": Case(
        writer_of(yolo_of_one, {"image": ((1, 96, 64, 3), "uint8")}), {}
    ),
    "U-Net": Case(
        writer_of(unet_2d, {"image": ((None, None, None, 3), "float32")}, 2, 64, 64),
        {"image_0": 1, "image_1": 32, "image_2": 48},
    ),
    "U-Net of volumes": Case(
        writer_of(unet_3d, {"volume": ((None, 16, 16, 16, 1), "float32")}, 2), {"volume_0": 1}
    ),
    "BERT-mini": Case(BERT, {"N": 2, "T": 16}, SHARED),
    "BERT-mini, longer": Case(BERT, {"N": 1, "T": 77}, SHARED),
    "Whisper-tiny's encoder": Case(
        writer_of(whisper, {"wave": ((None, None), "float32")}, 1, 16000),
        {"wave_0": 1, "wave_1": 8000},
    ),
    "WaveNet": Case(writer_of(wavenet, WAVE, 1, 600), {"wave_0": 1, "wave_1": 300}),
    "WaveNet, frozen": Case(
        writer_of(wavenet_as_batches, WAVE, 1, 600, is_frozen=True), {"wave_0": 1, "wave_1": 301}
    ),
    "Translator": Case(TRANSLATOR, {"ids_0": 2, "ids_1": 12}),
    "Translator, longer": Case(TRANSLATOR, {"ids_0": 1, "ids_1": 45}),
    "Deep Speech, frozen": Case(
        deep_speech, {"N": 3, "frames_1": 8}, {"frames_0": "N", "lengths_0": "N"}
    ),
    "Deep Speech, frozen, longer": Case(
        deep_speech, {"N": 1, "frames_1": 150}, {"frames_0": "N", "lengths_0": "N"}
    ),
}


def recipe(name: str, folder: Path, backends: Sequence[str]) -> Recipe:
    """Save a network into a folder; return its recipe."""
    case = CASES[name]
    tf.random.set_seed(20)
    return Recipe(
        "network",
        PathSource(case.write(folder)),
        inputs=Inputs(dims=case.dims),
        backends=tuple(backends),
        verification=Verification(sample_sizes=case.sizes),
        user_code=UserCode(project=folder),
    )


def inputs(name: str) -> str:
    return (
        ", ".join(f"{size} = {value}" for size, value in CASES[name].sizes.items()) or "all known"
    )


FAMILY = Family("TensorFlow", tuple(CASES), inputs, recipe)

if __name__ == "__main__":
    sys.exit(main(FAMILY, __doc__))
