"""The parts of a language model in the form of Llama (Touvron et al. 2023, arXiv:2302.13971)."""

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON, BASE = 1e-5, 10000.0
Turn = tuple[Tensor, Tensor]
"""The cosines and sines of the angles of positions, [n, head / 2]."""


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, self.weight.shape, self.weight, EPSILON)


def linear(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs, bias=False)


class Layer(nn.Module):
    """The weights of attention and of a gated product. `keys`: the width of keys and values."""

    def __init__(self, width: int, keys: int, inner: int) -> None:
        super().__init__()
        self.q, self.k, self.v = linear(width, width), linear(width, keys), linear(width, keys)
        self.o = linear(width, width)
        self.gate, self.up, self.down = (
            linear(width, inner),
            linear(width, inner),
            linear(inner, width),
        )
        self.n1, self.n2 = Norm(width), Norm(width)

    def gated(self, x: Tensor) -> Tensor:
        """The gated product and its residual."""
        y = self.n2(x)
        product: Tensor = x + self.down(functional.silu(self.gate(y)) * self.up(y))
        return product


def turn_of(positions: Tensor, head: int) -> Turn:
    powers = BASE ** (-torch.arange(0, head, 2).float() / head)
    angles = positions[:, None].float() * powers[None]
    return angles.cos(), angles.sin()


def split(y: Tensor, head: int) -> Tensor:
    """[n, length, heads * head] as [n, heads, length, head]"""
    return y.unflatten(-1, (-1, head)).transpose(1, 2)


def turned(y: Tensor, turn: Turn) -> Tensor:
    """Rotary embedding (Su et al. 2021, arXiv:2104.09864): halves of a head are pairs."""
    first, second = y.chunk(2, -1)
    cos, sin = turn
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)
