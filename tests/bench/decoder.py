"""A language model of 135 M parameters, in the form of Llama: 30 layers of 576, 9 heads, 3 heads of
keys and values. Its caches are buffers.
"""

import math

import torch
from torch import Tensor, nn

from tests.bench import llama

WIDTH, HEADS, KEYS, LAYERS, INNER, WORDS, LENGTH = 576, 9, 3, 30, 1536, 49152, 256
HEAD = WIDTH // HEADS
PROMPT = 64


class Layer(llama.Layer):
    """Attention with caches and a gated product, each with a residual."""

    def __init__(self) -> None:
        super().__init__(WIDTH, KEYS * HEAD, INNER)
        self.keys: Tensor
        self.values: Tensor
        self.register_buffer("keys", torch.zeros(1, KEYS, LENGTH, HEAD))
        self.register_buffer("values", torch.zeros(1, KEYS, LENGTH, HEAD))

    def forward(self, x: Tensor, turn: llama.Turn, hit: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        y = self.n1(x)
        q, k, v = (llama.split(part(y), HEAD) for part in (self.q, self.k, self.v))
        q, k = llama.turned(q, turn), llama.turned(k, turn)
        keep = (1 - hit.sum(1))[:, None]
        self.keys.copy_(self.keys * keep + hit @ k)
        self.values.copy_(self.values * keep + hit @ v)
        grouped = q.view(batch, KEYS, HEADS // KEYS, length, HEAD)
        scores = grouped @ self.keys[:, :, None].transpose(-1, -2) / math.sqrt(HEAD) + mask
        seen = scores.softmax(-1) @ self.values[:, :, None]
        x = x + self.o(seen.reshape(batch, HEADS, length, HEAD).transpose(1, 2).flatten(2))
        return self.gated(x)


class Decoder(nn.Module):
    """The most probable next word, [1, 1], after words [1, n] at positions [n]."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = llama.Norm(WIDTH), llama.linear(WIDTH, WORDS)
        self.head.weight = self.embed.weight

    def forward(self, words: Tensor, positions: Tensor) -> Tensor:
        turn = llama.turn_of(positions, HEAD)
        hit = (torch.arange(LENGTH)[:, None] == positions[None]).float()
        mask = torch.where(torch.arange(LENGTH)[None] <= positions[:, None], 0.0, -1e9)
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, turn, hit, mask)
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
