"""A language model of bytes with 0.9 M parameters, in the form of Llama, which is trained on the
reference of the Python language in a few minutes.
"""

import math
import pydoc_data.topics
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.bench import llama

WIDTH, HEADS, LAYERS, INNER, WORDS, LENGTH = 128, 4, 4, 384, 256, 128
HEAD = WIDTH // HEADS
BATCH, RATE, WARMUP = 8, 3e-3, 30
TESTED = 0.1
"""The part of the text that is not trained on."""


class Layer(llama.Layer):
    """Attention and a gated product, each with a residual. `held`: what a cache holds of keys and
    values.
    """

    def __init__(self) -> None:
        super().__init__(WIDTH, WIDTH, INNER)
        self.held: Callable[[Tensor], Tensor] | None = None

    def forward(self, x: Tensor, turn: llama.Turn, mask: Tensor) -> Tensor:
        y = self.n1(x)
        q, k, v = (llama.split(part(y), HEAD) for part in (self.q, self.k, self.v))
        q, k = llama.turned(q, turn), llama.turned(k, turn)
        if self.held is not None:
            k, v = self.held(k), self.held(v)
        scores = q @ k.transpose(-1, -2) / math.sqrt(HEAD) + mask
        seen = scores.softmax(-1) @ v
        return self.gated(x + self.o(seen.transpose(1, 2).flatten(2)))


class Decoder(nn.Module):
    """The logits of the next byte, [n, LENGTH, WORDS], after each byte [n, LENGTH]."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = llama.Norm(WIDTH), llama.linear(WIDTH, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        positions = torch.arange(LENGTH)
        turn = llama.turn_of(positions, HEAD)
        mask = torch.where(positions[None] <= positions[:, None], 0.0, -1e9)
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, turn, mask)
        return self.head(self.norm(x))


def windows() -> tuple[Decoder, tuple[Tensor]]:
    """The model for one window."""
    return Decoder().eval(), (torch.zeros(1, LENGTH, dtype=torch.int64),)


def text() -> tuple[Tensor, Tensor]:
    """The bytes to train on, and those to test with."""
    topics = pydoc_data.topics.topics
    whole = "\n".join(topics[name] for name in sorted(topics)).encode()
    every = torch.frombuffer(bytearray(whole), dtype=torch.uint8).long()
    border = int(len(every) * (1 - TESTED))
    return every[:border], every[border:]


def train(steps: int) -> Iterator[tuple[Decoder, float]]:
    """The model and the loss of the batch, after each step."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data, model = text()[0], Decoder()
    for parameter in model.parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, 0, 0.02)
    optimizer = torch.optim.AdamW(model.parameters(), RATE, (0.9, 0.95), weight_decay=0.05)
    for step in range(steps):
        done = step / steps
        rate = min((step + 1) / WARMUP, 0.05 + 0.475 * (1 + math.cos(math.pi * done)))
        optimizer.param_groups[0]["lr"] = RATE * rate
        starts = torch.randint(len(data) - LENGTH, (BATCH,))
        rows = torch.stack([data[start : start + LENGTH + 1] for start in starts.tolist()])
        loss = functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield model.eval(), loss.item()
