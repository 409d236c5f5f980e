"""A language model of 135 M parameters, in the form of Llama: 30 layers of 576, 9 heads, 3 heads of
keys and values. Its caches are buffers.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH, HEADS, KEYS, LAYERS, INNER, WORDS, LENGTH = 576, 9, 3, 30, 1536, 49152, 256
HEAD = WIDTH // HEADS
EPSILON, BASE = 1e-5, 10000.0
PROMPT = 64


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (WIDTH,), self.weight, EPSILON)


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


class Layer(nn.Module):
    """Attention and a gated product, each with a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.o = linear(WIDTH, WIDTH), linear(WIDTH, WIDTH)
        self.k, self.v = linear(WIDTH, KEYS * HEAD), linear(WIDTH, KEYS * HEAD)
        self.gate, self.up = linear(WIDTH, INNER), linear(WIDTH, INNER)
        self.down = linear(INNER, WIDTH)
        self.n1, self.n2 = Norm(), Norm()
        self.keys: Tensor
        self.values: Tensor
        self.register_buffer("keys", torch.zeros(1, KEYS, LENGTH, HEAD))
        self.register_buffer("values", torch.zeros(1, KEYS, LENGTH, HEAD))

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], hit: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape

        def split(y: Tensor, count: int) -> Tensor:
            return y.view(batch, length, count, HEAD).transpose(1, 2)

        def turned(y: Tensor) -> Tensor:
            first, second = y.chunk(2, -1)
            cos, sin = turn
            return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)

        y = self.n1(x)
        q, k = turned(split(self.q(y), HEADS)), turned(split(self.k(y), KEYS))
        keep = (1 - hit.sum(1))[:, None]
        self.keys.copy_(self.keys * keep + hit @ k)
        self.values.copy_(self.values * keep + hit @ split(self.v(y), KEYS))
        grouped = q.view(batch, KEYS, HEADS // KEYS, length, HEAD)
        scores = grouped @ self.keys[:, :, None].transpose(-1, -2) / math.sqrt(HEAD) + mask
        seen = scores.softmax(-1) @ self.values[:, :, None]
        x = x + self.o(seen.reshape(batch, HEADS, length, HEAD).transpose(1, 2).flatten(2))
        y = self.n2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """The most probable next word, [1, 1], after words [1, n] at positions [n]."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = Norm(), linear(WIDTH, WORDS)
        self.head.weight = self.embed.weight

    def forward(self, words: Tensor, positions: Tensor) -> Tensor:
        powers = BASE ** (-torch.arange(0, HEAD, 2).float() / HEAD)
        angles = positions[:, None].float() * powers[None]
        hit = (torch.arange(LENGTH)[:, None] == positions[None]).float()
        mask = torch.where(torch.arange(LENGTH)[None] <= positions[:, None], 0.0, -1e9)
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, (angles.cos(), angles.sin()), hit, mask)
        return self.head(self.norm(x[:, -1:])).argmax(-1)


def model() -> Decoder:
    """The model with random weights."""
    torch.manual_seed(0)
    made = Decoder().eval()
    for parameter in made.parameters():
        if parameter.dim() == 2:
            nn.init.normal_(parameter, 0, 0.04)
    return made


def step() -> tuple[Decoder, tuple[Tensor, Tensor]]:
    return model(), (torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))


def prompt() -> tuple[Decoder, tuple[Tensor, Tensor]]:
    return model(), (torch.zeros(1, PROMPT, dtype=torch.int64), torch.arange(PROMPT))


PARTS = {
    "attn_q": "q",
    "attn_k": "k",
    "attn_v": "v",
    "attn_output": "o",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
    "attn_norm": "n1",
    "ffn_norm": "n2",
}
"""The names of a layer's weights in GGUF files, and here."""


def state_dict(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a GGUF file by the names of the model."""
    state = {"norm.weight": tensors["output_norm.weight"]}
    state |= dict.fromkeys(("embed.weight", "head.weight"), tensors["token_embd.weight"])
    for number in range(LAYERS):
        for part, name in PARTS.items():
            state[f"layers.{number}.{name}.weight"] = tensors[f"blk.{number}.{part}.weight"]
        for name in ("keys", "values"):
            state[f"layers.{number}.{name}"] = torch.zeros(1, KEYS, LENGTH, HEAD)
    return state
