"""A small decoder in the form of Llama, with grouped heads of keys and values and caches that are
buffers.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tests.bench import llama


@dataclass(frozen=True)
class Sizes:
    """`keys`: the heads of keys and values; `length`: the positions of caches."""

    width: int = 64
    heads: int = 4
    keys: int = 2
    layers: int = 2
    inner: int = 96
    words: int = 61
    length: int = 24

    @property
    def head(self) -> int:
        return self.width // self.heads


SMALL = Sizes()
LONG = Sizes(layers=1, length=300)
WRITES = ("index_copy", "index_put", "where", "slices")
"""Ways in which a run writes its rows to the caches."""


def rounded(rows: Tensor, dtype: str) -> Tensor:
    """What a cache of `dtype` holds of rows, which are along the last axis."""
    if dtype == "float32":
        return rows
    if dtype == "float16":
        return rows.clamp(-65504, 65504).half().float()
    scales = rows.abs().amax(-1, keepdim=True) / 127
    return (rows / scales.where(scales > 0, 1)).round() * scales


class Layer(llama.Layer):
    """Attention with caches. `dtype`: that to which their rows are rounded."""

    def __init__(self, write: str, sizes: Sizes) -> None:
        super().__init__(sizes.width, sizes.keys * sizes.head, sizes.inner)
        self.write, self.sizes, self.dtype = write, sizes, "float32"
        self.keys: Tensor
        self.values: Tensor
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, sizes.keys, sizes.length, sizes.head))

    def forward(self, x: Tensor, turn: llama.Turn, positions: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        heads, keys, head = self.sizes.heads, self.sizes.keys, self.sizes.head
        y = self.n1(x)
        q, k, v = (llama.split(part(y), head) for part in (self.q, self.k, self.v))
        q, k = llama.turned(q, turn), llama.turned(k, turn)
        self._store(self.keys, rounded(k, self.dtype), positions)
        self._store(self.values, rounded(v, self.dtype), positions)
        grouped = q.view(batch, keys, heads // keys, length, head)
        scores = grouped @ self.keys[:, :, None].transpose(-1, -2) / math.sqrt(head) + mask
        seen = scores.softmax(-1) @ self.values[:, :, None]
        x = x + self.o(seen.reshape(batch, heads, length, head).transpose(1, 2).flatten(2))
        return self.gated(x)

    def _store(self, cache: Tensor, rows: Tensor, positions: Tensor) -> None:
        match self.write:
            case "index_copy":
                cache.index_copy_(2, positions, rows)
            case "index_put":
                cache[:, :, positions] = rows
            case "where":
                slots = torch.arange(cache.shape[2])
                new = slots - positions[0]
                hit = (new >= 0) & (new < len(positions))
                taken = rows.index_select(2, new.clamp(0, len(positions) - 1))
                cache.copy_(torch.where(hit[:, None], taken, cache))
            case "slices":
                cache[:, :, : len(positions)] = rows


class Decoder(nn.Module):
    """The logits of the next word, [1, words], after words [1, n] at positions [n]."""

    def __init__(self, write: str = "index_copy", sizes: Sizes = SMALL) -> None:
        super().__init__()
        self.sizes = sizes
        self.embed = nn.Embedding(sizes.words, sizes.width)
        self.layers = nn.ModuleList(Layer(write, sizes) for _ in range(sizes.layers))
        self.norm, self.head = llama.Norm(sizes.width), llama.linear(sizes.width, sizes.words)

    def forward(self, words: Tensor, positions: Tensor) -> Tensor:
        turn = llama.turn_of(positions, self.sizes.head)
        mask = torch.where(torch.arange(self.sizes.length)[None] <= positions[:, None], 0.0, -1e9)
        x = self.embed(words)
        for layer in self.layers:
            x = layer(x, turn, positions, mask)
        return self.head(self.norm(x[:, -1]))


def with_rounding(module: Decoder, dtype: str) -> Decoder:
    """The module, which rounds the rows of caches to `dtype` when it writes them."""
    for layer in module.layers:
        assert isinstance(layer, Layer)
        layer.dtype = dtype
    return module


def made(sizes: Sizes = SMALL) -> tuple[Decoder, tuple[Tensor, Tensor]]:
    """The module with random weights, and sample inputs."""
    torch.manual_seed(1)
    module = Decoder(sizes=sizes).eval()
    return module, (torch.zeros(1, 3, dtype=torch.int64), torch.arange(3))


def with_long_caches() -> tuple[Decoder, tuple[Tensor, Tensor]]:
    """A module with caches that real GPUs divide among workgroups."""
    return made(LONG)
