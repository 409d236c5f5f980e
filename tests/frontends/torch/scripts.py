"""Modules for TorchScript: control flow on data and sizes, lists, optional arguments, states."""

import torch
from torch import Tensor, nn, relu, tanh, zeros


class Recurring(nn.Module):
    """A counted loop, a branch on data, a buffer that is changed in place, and an LSTM."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.lstm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.LSTM(4, 5)
        self.register_buffer("sums", zeros(4))

    def forward(self, x: Tensor, steps: int = 3) -> tuple[Tensor, Tensor, Tensor]:
        y = relu(self.norm(self.conv(x)))
        for i in range(steps):
            y = y * 0.5 + i
        if y.sum() > 0:
            y = y + 1
        else:
            y = y - 1
        self.sums.add_(y.mean((0, 2, 3)))
        z, _ = self.lstm(y.flatten(2).permute(2, 0, 1))
        y[:, 0] = 0
        return y.view(y.size(0), -1), self.sums, z


class Deciding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            y = self.linear(x)
        else:
            y = x - 1
        if x.size(0) > 5:
            y = y * 100
        for i in range(x.size(1)):
            y[:, i] += i
        return y


class Growing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = nn.Parameter(torch.tensor([1.5]))

    def forward(self, x: Tensor) -> Tensor:
        while bool(x.abs().sum() < 50):
            x = x * self.factor
        return x


class Collecting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.factor = 3

    def forward(self, x: Tensor, more: Tensor | None = None) -> dict[str, Tensor]:
        outputs: list[Tensor] = []
        for layer in self.layers:
            x = relu(layer(x))
            outputs.append(x)
        if more is not None:
            x = x + more
        return {"all": torch.cat(outputs, -1), "last": x * self.factor}


class Remembering(nn.Module):
    """An attribute that is neither parameter nor buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.state: Tensor = zeros(4)
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.state = tanh(self.linear(x)[0] + self.state)
        return self.state * 2


class WordReading(nn.Module):
    """Integer inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.words(x).mean(1)


class Beginning(nn.Module):
    """Two attributes with the same initial tensor, which become two states."""

    def __init__(self) -> None:
        super().__init__()
        start = zeros(4)
        self.hidden: Tensor = start
        self.memory: Tensor = start

    def forward(self, x: Tensor) -> Tensor:
        self.hidden = self.hidden + x.mean(0)
        self.memory = self.memory * 2 + self.hidden
        return x + self.memory


class Overlapping(nn.Module):
    """A tensor that is changed in place, and a part of it under another name."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", zeros(2, 4))
        self.register_buffer("part", self.table[0])

    def forward(self, x: Tensor) -> Tensor:
        self.table.add_(1.0)
        return x + self.part


class Fixed(nn.Module):
    """An attribute that a trace represents as a constant, and changes in place."""

    def __init__(self) -> None:
        super().__init__()
        self.table = zeros(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.table.add_(1.0)
        return x + self.table[0]


class Dividing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.floor_divide(x, 2) + x.size(0) // 2
