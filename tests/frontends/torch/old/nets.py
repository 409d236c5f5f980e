"""Modules for torch 1.7 and newer, in the syntax of Python 3.9."""

from typing import Dict, List, Optional, Tuple  # noqa: UP035 - what torch 1.7 scripts

import torch
from torch import Tensor, nn
from torch.nn import functional


class Convolving(nn.Module):
    """Traced: convolutions, normalisations, pooling, resizing."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 6, 3, padding=1, bias=False), nn.BatchNorm2d(6)
        self.group, self.instance, self.prelu = (
            nn.GroupNorm(2, 6),
            nn.InstanceNorm2d(6, affine=True),
            nn.PReLU(6),
        )
        self.depth, self.up, self.head = (
            nn.Conv2d(6, 6, 3, groups=6, padding=1),
            nn.ConvTranspose2d(6, 4, 2, stride=2),
            nn.Linear(4 * 9, 5),
        )

    def forward(self, image: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
        x = functional.relu6(self.norm(self.conv(image)))
        x = self.prelu(self.group(x)) + functional.hardswish(self.instance(x))
        x = functional.max_pool2d(
            functional.pad(self.depth(x), (1, 1, 1, 1), mode="reflect"), 3, 2, 1
        )
        x = self.up(functional.avg_pool2d(functional.elu(x), 2, ceil_mode=True))
        x = functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        x = functional.interpolate(x, size=(x.shape[2] // 2, x.shape[3] // 2), mode="nearest")
        pooled = functional.adaptive_avg_pool2d(x, (3, 3))
        return functional.log_softmax(
            self.head(pooled.flatten(1)), dim=-1
        ), functional.pixel_shuffle(x, 2)


class Attending(nn.Module):
    """Traced: multi-head attention, layer normalisation, gelu, einsum, masks."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.query, self.mix = nn.Embedding(11, 8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.before, self.after = nn.LayerNorm(8), nn.LayerNorm(8)
        self.widen, self.narrow = nn.Linear(8, 16), nn.Linear(16, 8)
        self.attention = nn.MultiheadAttention(8, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        x = (
            self.words(tokens)
            + torch.arange(tokens.shape[1], dtype=torch.float32).unsqueeze(-1) / 10
        )
        count, length, width = x.shape
        q, k, v = (
            self.query(self.before(x)).view(count, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4)
        )
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / (width // 2) ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1) == 1, float("-inf"))
        x = x + self.mix(
            (functional.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(count, length, width)
        )
        x = x + self.narrow(functional.gelu(self.widen(self.after(x))))
        y = x.transpose(0, 1)
        return x + self.attention(y, y, y, need_weights=False)[0].transpose(0, 1)


class Counting(nn.Module):
    """Traced: operators whose arguments or overloads changed between versions."""

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:  # noqa: UP006
        count = x.size(1)
        y = torch.cat(
            [
                x / 3,
                x.std(1, keepdim=True),
                x.var(1, unbiased=False, keepdim=True),
                x.norm(dim=1, keepdim=True),
            ],
            1,
        )
        y = y + torch.full((1,), 2.5) + torch.linspace(0, 1, 3).sum() + torch.zeros(count).sum()
        y = (
            y.clamp(-1, 2)
            + torch.where(y > 0, y, -y)
            + functional.leaky_relu(y)
            + functional.silu(y)
            + torch.remainder(y, 0.7)
        )
        best, place = y.topk(2, dim=1)
        ordered = torch.sort(y, dim=1, descending=True)[0]
        steps = torch.arange(count // 2 + 1).to(y.dtype)
        return (
            best + steps[:1],
            place,
            ordered.cumsum(1) + functional.softplus(y).mean(),
            torch.argmax(y, 1),
        )


class Deciding(nn.Module):
    """Scripted: a loop over layers, branches on sizes and data, a dict, an optional argument."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.scales = [0.5, 1.5]

    def forward(self, x: Tensor, more: Optional[Tensor] = None) -> Dict[str, Tensor]:  # noqa: UP006, UP045
        found: List[Tensor] = []  # noqa: UP006
        for number, layer in enumerate(self.layers):
            x = torch.tanh(layer(x)) * self.scales[number % 2]
            found.append(x)
        if more is not None:
            x = x + more
        if x.size(0) > 5:
            x = x * 100
        if bool(x.sum() > 0):
            x = x + 1
        else:
            x = x * 2 - 1
        while bool(x.abs().sum() < 50):
            x = x * 1.5
        return {"all": torch.cat(found, -1), "last": x}


class Remembering(nn.Module):
    """Scripted: an LSTM with a persistent state, a counter in a buffer, an assigned attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.lstm, self.gru = (
            nn.LSTMCell(3, 4),
            nn.LSTM(4, 5, bidirectional=True, batch_first=True),
            nn.GRU(10, 3, num_layers=2),
        )
        self.register_buffer("hidden", torch.zeros(2, 4))
        self.register_buffer("memory", torch.zeros(2, 4))
        self.register_buffer("runs", torch.zeros(1))
        self.last: Tensor = torch.zeros(2, 4)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:  # noqa: UP006
        hidden, memory = self.cell(x, (self.hidden, self.memory))
        self.hidden.copy_(hidden)
        self.memory.copy_(memory)
        self.runs.add_(1.0)
        self.last = hidden * 0.5 + self.last
        y, _ = self.lstm(torch.stack([hidden, memory, self.last], 1))
        z, _ = self.gru(y)
        return z.sum(1) + self.runs, self.last


class Stacked(nn.Module):
    """The module of the state dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 4, 3), nn.BatchNorm1d(4)
        self.rnn, self.head = nn.GRU(4, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.rnn(torch.relu(self.norm(self.conv(x))).transpose(1, 2))
        return self.head(y[:, -1])
