"""Layers, residuals and loops."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


class Normalised(nn.Sequential):
    """Layers with random statistics of batch normalisations."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        for layer in self.modules():
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d):
                layer.running_mean.uniform_(-0.5, 0.5)
                layer.running_var.uniform_(0.5, 1.5)


class Training(nn.Sequential):
    """Layers that stay in training mode, with their running statistics as a second result."""

    def train(self, mode: bool = True) -> "Training":
        return super().train()

    def forward(self, x: Tensor) -> Any:
        y = super().forward(x)
        return y, self[1].running_mean, self[1].running_var * 2


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = Normalised(
            nn.Conv2d(3, 3, 3, padding=1),
            nn.BatchNorm2d(3),
            nn.ReLU(inplace=True),
            nn.Conv2d(3, 3, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.body(x)
        x.relu_()
        x.mul_(0.5).add_(1)
        return x


class Recurrent(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Any:
        y, state = self.layer(x)
        return (y, *state) if isinstance(state, tuple) else (y, state)


class Cells(nn.Module):
    """Cells in a Python loop over steps."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru, self.rnn = (
            nn.LSTMCell(4, 5),
            nn.GRUCell(5, 3),
            nn.RNNCell(3, 2, nonlinearity="relu"),
        )

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[1], 5)
        g, r = x.new_zeros(x.shape[1], 3), x.new_zeros(x.shape[1], 2)
        outputs = []
        for row in x:
            h, c = self.lstm(row, (h, c))
            g = self.gru(h, g)
            r = self.rnn(g, r)
            outputs.append(r)
        return torch.stack(outputs)


class Attention(nn.Module):
    def __init__(self, *, batch_first: bool = True) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=batch_first)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.attention(x, y, y, need_weights=False)[0]


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


class Looping(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def condition(n: Tensor, x: Tensor) -> Tensor:
            return x.abs().sum() < 50

        def step(n: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return n + 1, x * 1.5

        return torch._higher_order_ops.while_loop(
            condition, step, (torch.zeros((), dtype=torch.int64), x)
        )


class Tables(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.bags = (
            nn.Embedding(7, 4, padding_idx=0),
            nn.EmbeddingBag(7, 3, mode="mean"),
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.words(x), self.bags(x)


class Bags(nn.Module):
    def __init__(self, mode: str) -> None:
        super().__init__()
        self.bags = nn.EmbeddingBag(7, 3, mode=mode)

    def forward(self, x: Tensor, offsets: Tensor) -> Tensor:
        return self.bags(x, offsets)


def sequential(*layers: nn.Module) -> Callable[[], nn.Module]:
    return lambda: Normalised(*layers)
