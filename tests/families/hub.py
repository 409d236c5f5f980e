"""Small models of KerasHub with random weights: the errors of their bundles against Keras, and
tokens of GPT-2 with a cache in states.

.venv/bin/python -m tests.families.hub [BERT ...], with KerasHub installed into .venv/keras-hub
(make families does so); it replaces the rows of docs/families.md.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.backends.harness import ROOT
from webkiln.backends.compare import relative_error

COMPANIONS = ROOT / ".venv" / "keras-hub"
sys.path.append(os.environ.get("KERAS_HUB", str(COMPANIONS)))

import keras
import keras_hub
import numpy as np
from keras import layers, models, ops

from tests.families.page import record
from webkiln.backends.host import run_bundle
from webkiln.build.descriptor import generate_descriptor
from webkiln.frontends.keras.converter import KerasConverter

BACKENDS = ("wasm", "js")
TOLERANCE = 2e-4
TOKENS = 64
LENGTH = 96
PROMPT = [5, 17, 3, 250]
STEPS = """
const [bundle, backend, request] = process.argv.slice(1);
const { load } = await import(bundle);
const model = await load({ backends: [backend] });
const { prompt, count } = JSON.parse(request);
const tokens = [...prompt];
for (let place = 0; tokens.length < prompt.length + count; place++) {
  const { scores } = await model.run({ token: [tokens[place]] });
  if (place === tokens.length - 1) tokens.push(scores.indexOf(Math.max(...scores)));
}
console.log(JSON.stringify(tokens));
"""
SMALL = {"num_layers": 2, "num_heads": 4, "hidden_dim": 64, "intermediate_dim": 128}


class CachedStep(layers.Layer):
    """token [1,1] -> the logits of the next token. The keys and values of previous tokens, and
    their number, are states.
    """

    def __init__(self, network: Any, length: int, **options: Any) -> None:
        super().__init__(**options)
        self.network, self.length = network, length

    def build(self, _: Any) -> None:
        backbone = self.network.backbone
        shape = (
            1,
            backbone.num_layers,
            2,
            self.length,
            backbone.num_heads,
            backbone.hidden_dim // backbone.num_heads,
        )
        self.cache = self.add_weight(
            name="cache", shape=shape, initializer="zeros", trainable=False
        )
        self.position = self.add_weight(
            name="position", shape=(), dtype="int32", initializer="zeros", trainable=False
        )

    def call(self, token: Any) -> Any:
        logits, _, cache = self.network.call_with_cache(
            token, self.cache.value, self.position.value
        )
        self.cache.assign(cache)
        self.position.assign_add(1)
        return logits[:, 0]


def with_static_shapes(model: Any, shapes: dict[str, tuple[int, ...]]) -> Any:
    """A model with the layers of another, over inputs of static shapes."""
    inputs = {
        tensor.name: keras.Input(
            batch_shape=shapes[tensor.name], dtype=tensor.dtype, name=tensor.name
        )
        for tensor in model.inputs
    }
    tensors = inputs if len(inputs) > 1 else next(iter(inputs.values()))
    return models.clone_model(model, input_tensors=tensors, clone_function=lambda layer: layer)


def bert() -> Any:
    model = keras_hub.models.BertBackbone(vocabulary_size=300, max_sequence_length=64, **SMALL)
    return with_static_shapes(
        model, dict.fromkeys(("token_ids", "segment_ids", "padding_mask"), (1, 24))
    )


def gpt2_network() -> Any:
    backbone = keras_hub.models.GPT2Backbone(
        vocabulary_size=300, max_sequence_length=LENGTH, **SMALL
    )
    return keras_hub.models.GPT2CausalLM(backbone=backbone, preprocessor=None)


def gpt2() -> Any:
    token = keras.Input((1,), batch_size=1, dtype="int32", name="token")
    return keras.Model(
        token, layers.Identity(name="scores")(CachedStep(gpt2_network(), LENGTH)(token))
    )


def vit() -> Any:
    return keras_hub.models.ViTBackbone(
        image_shape=(32, 32, 3), patch_size=8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128
    )


def whisper_encoder() -> Any:
    model = keras_hub.models.WhisperBackbone(
        vocabulary_size=300,
        num_mels=80,
        max_encoder_sequence_length=100,
        max_decoder_sequence_length=32,
        **SMALL,
    )
    features = next(tensor for tensor in model.inputs if tensor.name == "encoder_features")
    return with_static_shapes(
        keras.Model(features, model.output["encoder_sequence_output"]),
        {"encoder_features": (1, 100, 80)},
    )


def unet_block() -> Any:
    """A residual block with the time step, and attention over its positions and to a text, as in
    Stable Diffusion's U-Net.
    """
    image = keras.Input((8, 8, 32), batch_size=1, name="latent")
    time = keras.Input((64,), batch_size=1, name="time")
    text = keras.Input((7, 48), batch_size=1, name="text")
    x = layers.Conv2D(64, 3, padding="same")(
        layers.Activation("silu")(layers.GroupNormalization(8, epsilon=1e-5)(image))
    )
    x = x + layers.Reshape((1, 1, 64))(layers.Dense(64)(layers.Activation("silu")(time)))
    x = layers.Conv2D(64, 3, padding="same")(
        layers.Activation("silu")(layers.GroupNormalization(8, epsilon=1e-5)(x))
    )
    x = x + layers.Conv2D(64, 1)(image)
    y = layers.Reshape((64, 64))(layers.Dense(64)(layers.GroupNormalization(8, epsilon=1e-6)(x)))
    z = layers.LayerNormalization()(y)
    y = y + layers.MultiHeadAttention(4, 16)(z, z)
    y = y + layers.MultiHeadAttention(4, 16)(layers.LayerNormalization()(y), text)
    gate, value = ops.split(layers.Dense(512)(layers.LayerNormalization()(y)), 2, axis=-1)
    y = y + layers.Dense(64)(value * ops.gelu(gate))
    return keras.Model([image, time, text], x + layers.Dense(64)(layers.Reshape((8, 8, 64))(y)))


MODELS: dict[str, Callable[[], Any]] = {
    "BERT": bert,
    "GPT-2 with its cache": gpt2,
    "ViT": vit,
    "Whisper encoder": whisper_encoder,
    "U-Net block": unet_block,
}


def randomise(model: Any) -> None:
    generator = np.random.default_rng(20)
    for variable in model.trainable_variables:
        spread = 0.5 / np.sqrt(variable.shape[0]) if len(variable.shape) > 1 else 0.1
        variable.assign(variable + generator.normal(0, 2 * spread, variable.shape))


def values(tensor: Any, generator: np.random.Generator) -> Any:
    shape = tuple(tensor.shape)
    if "mask" in tensor.name:
        return (np.arange(shape[-1]) < shape[-1] - 5).astype(np.int32)[None]
    if str(tensor.dtype).startswith("int"):
        return generator.integers(0, 2 if "segment" in tensor.name else 300, shape).astype(np.int32)
    return generator.normal(size=shape).astype(np.float32)


def errors(model: Any, folder: Path) -> dict[str, float]:
    generator = np.random.default_rng(1)
    inputs = {
        tensor.name: values(
            keras.KerasTensor((1, *tensor.shape[1:]), tensor.dtype, name=tensor.name), generator
        )
        for tensor in model.inputs
    }
    before = [np.array(variable) for variable in model.variables]
    expected = keras.tree.flatten(
        model(
            [inputs[tensor.name] for tensor in model.inputs]
            if not isinstance(model._inputs_struct, dict)
            else inputs
        )
    )
    for variable, value in zip(model.variables, before, strict=True):
        variable.assign(value)
    graph = KerasConverter(batch_size=1).convert(model)
    errors_by_backend = {}
    for backend in BACKENDS:
        generate_descriptor(backend, graph).save(folder)
        (result,) = run_bundle(folder, backend, [inputs])
        outputs = [result.outputs[name] for name in graph.outputs]
        pairs = zip(
            sorted(map(np.asarray, expected), key=np.size),
            sorted(outputs, key=np.size),
            strict=True,
        )
        errors_by_backend[backend] = max(relative_error(other, one) for one, other in pairs)
    return errors_by_backend


def same_tokens(model: Any, folder: Path) -> bool:
    """Whether bundles generate the tokens of Keras's `generate`, one token at a time."""
    network = next(layer for layer in model.layers if isinstance(layer, CachedStep)).network
    network.compile(sampler="greedy")
    ids = np.array([PROMPT + [0] * (LENGTH - len(PROMPT))])
    generated = network.generate(
        {"token_ids": ids, "padding_mask": (ids[0] > 0)[None].astype(np.int32)}, stop_token_ids=None
    )
    expected = np.array(generated["token_ids"])[0][: len(PROMPT) + TOKENS].tolist()
    request = json.dumps({"prompt": PROMPT, "count": TOKENS})
    for backend in BACKENDS:
        command = [
            "node",
            "--input-type=module",
            "-e",
            STEPS,
            (folder / "index.js").as_uri(),
            backend,
            request,
        ]
        tokens = json.loads(
            subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
        )
        print(
            f"  {backend}:"
            f" {sum(a == b for a, b in zip(tokens, expected, strict=True)) - len(PROMPT)} of"
            f" {TOKENS} tokens are Keras's",
            flush=True,
        )
        if tokens != expected:
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help="; all by default")
    options = parser.parse_args()
    failed = False
    for name in options.models or MODELS:
        keras.utils.set_random_seed(1)
        model = MODELS[name]()
        randomise(model)
        with TemporaryDirectory() as folder:
            errors_by_backend = errors(model, Path(folder))
            right = max(errors_by_backend.values()) <= TOLERANCE and (
                "GPT-2" not in name or same_tokens(model, Path(folder))
            )
        print(
            f"{name}:"
            f" {', '.join(f'{name} {error:.1e}' for name, error in errors_by_backend.items())}"
            f"{'' if right else ' FAILED'}",
            flush=True,
        )
        failed |= not right
        sizes = ", ".join(f"{tensor.name} {[1, *tensor.shape[1:]]}" for tensor in model.inputs)
        record(
            "KerasHub",
            [
                name,
                sizes,
                f"{model.count_params():,}",
                *(f"{errors_by_backend[backend]:.1e}" for backend in BACKENDS),
            ],
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
