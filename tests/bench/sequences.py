"""The measured networks over sequences: in Keras, and as PyTorch functions with the same weights,
from which torch's exporter writes ONNX.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import torch
from keras import layers, ops

from webkiln.ir.types import Array

WIDTH, HEADS, DEPTH, LENGTH, WORDS = 384, 6, 6, 128, 8000
HEAD = WIDTH // HEADS
STEPS, FEATURES, UNITS, CLASSES = 100, 64, 128, 10
EPSILON = 1e-5
RECURRENT = (True, 1, 0.0, False, False, True)
"""Positional arguments of torch's recurrences: has_biases, num_layers, dropout, train,
bidirectional, batch_first.
"""

Weights = Mapping[str, Sequence[torch.Tensor]]
"""By the name of the layer."""


def _norm(name: str) -> Any:
    return layers.LayerNormalization(epsilon=EPSILON, name=name)


def _feed_forward(x: Any, level: int) -> Any:
    width = x.shape[-1]
    y = layers.Dense(4 * width, activation="gelu", name=f"up{level}")(_norm(f"second{level}")(x))
    return layers.Add()([x, layers.Dense(width, name=f"down{level}")(y)])


def encoder(length: int | None) -> Any:
    """A transformer encoder that normalises the input of each block (Xiong et al. 2020,
    arXiv:2002.04745), for `length` tokens or any number.
    """
    x = tokens = keras.Input((length, WIDTH), name="tokens")
    for level in range(DEPTH):
        y = _norm(f"first{level}")(x)
        x = _feed_forward(
            layers.Add()(
                [x, layers.MultiHeadAttention(HEADS, HEAD, name=f"attention{level}")(y, y)]
            ),
            level,
        )
    return keras.Model(tokens, _norm("last")(x), name="transformer")


def decoder(
    name: str, width: int = WIDTH, depth: int = DEPTH, length: int = LENGTH, words: int = WORDS
) -> Any:
    """One step of a decoder: a token after `length` others, whose keys and values are inputs. The
    keys and values of the token are outputs.
    """
    x = token = keras.Input((1, width), name="token")
    caches, outputs = [], {}
    for level in range(depth):
        y = _norm(f"first{level}")(x)
        query, *new = (
            layers.Dense(width, name=f"{part}{level}")(y) for part in ("query", "key", "value")
        )
        old = [keras.Input((length, width), name=f"{part}s{level}") for part in ("key", "value")]
        caches += old
        outputs |= {
            f"{part}{level}": value for part, value in zip(("key", "value"), new, strict=True)
        }
        keys, values = (
            _heads(layers.Concatenate(axis=1)(pair), length + 1)
            for pair in zip(old, new, strict=True)
        )
        scores = ops.matmul(_heads(query, 1), ops.transpose(keys, (0, 1, 3, 2))) * HEAD**-0.5
        y = layers.Reshape((1, width))(
            layers.Permute((2, 1, 3))(ops.matmul(ops.softmax(scores), values))
        )
        x = _feed_forward(layers.Add()([x, layers.Dense(width, name=f"mixed{level}")(y)]), level)
    y = layers.Dense(words, name="words")(_norm("last")(x))
    return keras.Model([token, *caches], {"words": y, **outputs}, name=name)


def _heads(x: Any, length: int) -> Any:
    return layers.Permute((2, 1, 3))(layers.Reshape((length, x.shape[-1] // HEAD, HEAD))(x))


def recurrent(kind: str) -> Any:
    steps = keras.Input((STEPS, FEATURES), name="steps")
    cell = getattr(layers, kind)(UNITS, name="cell")
    return keras.Model(steps, layers.Dense(CLASSES, name="classes")(cell(steps)), name=kind.lower())


def _torch_dense(weights: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    kernel, bias = weights[name]
    return x @ kernel + bias


def _torch_norm(weights: Weights, name: str, x: torch.Tensor) -> torch.Tensor:
    scale, shift = weights[name]
    return torch.nn.functional.layer_norm(x, x.shape[-1:], scale, shift, EPSILON)


def _torch_feed_forward(weights: Weights, x: torch.Tensor, level: int) -> torch.Tensor:
    y = torch.nn.functional.gelu(
        _torch_dense(weights, f"up{level}", _torch_norm(weights, f"second{level}", x))
    )
    return x + _torch_dense(weights, f"down{level}", y)


def _torch_attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    width = query.shape[-1]
    q, k, v = (x.reshape(1, -1, width // HEAD, HEAD).transpose(1, 2) for x in (query, keys, values))
    return (
        (torch.softmax(q @ k.transpose(2, 3) * HEAD**-0.5, -1) @ v)
        .transpose(1, 2)
        .reshape(1, -1, width)
    )


def _torch_transformer(weights: Weights, tokens: torch.Tensor) -> torch.Tensor:
    x = tokens
    for level in range(DEPTH):
        y = _torch_norm(weights, f"first{level}", x)
        *inner, out, bias = weights[f"attention{level}"]
        projected = (
            y @ inner[at].reshape(WIDTH, WIDTH) + inner[at + 1].reshape(WIDTH) for at in (0, 2, 4)
        )
        x = x + _torch_attention(*projected) @ out.reshape(WIDTH, WIDTH) + bias
        x = _torch_feed_forward(weights, x, level)
    return _torch_norm(weights, "last", x)


def _torch_decoder(
    weights: Weights, token: torch.Tensor, *caches: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    x, outputs = token, []
    for level in range(len(caches) // 2):
        y = _torch_norm(weights, f"first{level}", x)
        query, *new = (
            _torch_dense(weights, f"{part}{level}", y) for part in ("query", "key", "value")
        )
        outputs += new
        keys, values = (
            torch.cat(pair, 1) for pair in zip(caches[2 * level : 2 * level + 2], new, strict=True)
        )
        x = x + _torch_dense(weights, f"mixed{level}", _torch_attention(query, keys, values))
        x = _torch_feed_forward(weights, x, level)
    return _torch_dense(weights, "words", _torch_norm(weights, "last", x)), *outputs


def _torch_lstm(weights: Weights, steps: torch.Tensor) -> torch.Tensor:
    kernel, recurrent_kernel, bias = weights["cell"]
    flat = (kernel.T.contiguous(), recurrent_kernel.T.contiguous(), bias, torch.zeros_like(bias))
    state = torch.zeros(1, 1, UNITS)
    outputs, *_ = torch.lstm(steps, (state, state), flat, *RECURRENT)
    return _torch_dense(weights, "classes", outputs[:, -1])


def _torch_gru(weights: Weights, steps: torch.Tensor) -> torch.Tensor:
    """Keras stores the update gate before the reset gate, PyTorch after it."""

    def reorder(value: torch.Tensor) -> torch.Tensor:
        update, reset, candidate = value.split(UNITS, -1)
        return torch.cat((reset, update, candidate), -1).T.contiguous()

    kernel, recurrent_kernel, biases = weights["cell"]
    flat = (reorder(kernel), reorder(recurrent_kernel), reorder(biases[0]), reorder(biases[1]))
    outputs, _ = torch.gru(steps, torch.zeros(1, 1, UNITS), flat, *RECURRENT)
    return _torch_dense(weights, "classes", outputs[:, -1])


SEQUENCES: Mapping[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "lstm": (lambda: recurrent("LSTM"), _torch_lstm),
    "gru": (lambda: recurrent("GRU"), _torch_gru),
    "transformer": (lambda: encoder(LENGTH), _torch_transformer),
    "decoder": (lambda: decoder("decoder"), _torch_decoder),
    "gpt2": (lambda: decoder("gpt2", 768, 12, 256, 50257), _torch_decoder),
}


class _Function(torch.nn.Module):
    def __init__(self, function: Callable[..., Any], model: Any) -> None:
        super().__init__()
        self.function, self.layers = function, {}
        for layer in model.layers:
            self.layers[layer.name] = [
                f"{layer.name}_{number}" for number, _ in enumerate(layer.get_weights())
            ]
            for name, value in zip(self.layers[layer.name], layer.get_weights(), strict=True):
                self.register_buffer(name, torch.from_numpy(np.array(value)))

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(
            {
                name: [getattr(self, weight) for weight in names]
                for name, names in self.layers.items()
            },
            *inputs,
        )


def onnx(name: str, model: Any, inputs: Mapping[str, Array], outputs: Sequence[str]) -> bytes:
    """The Keras network as ONNX, exported by torch from the equivalent PyTorch function."""
    file = io.BytesIO()
    tensors = tuple(torch.from_numpy(value) for value in inputs.values())
    torch.onnx.export(
        _Function(SEQUENCES[name][1], model).eval(),
        tensors,
        file,
        dynamo=False,
        opset_version=17,
        input_names=list(inputs),
        output_names=list(outputs),
    )
    return file.getvalue()
