"""torch.export programs of a few kilobytes that need minutes of time or gigabytes of memory."""

import warnings
from collections.abc import Callable
from pathlib import Path

import torch

SIDE = 32768


class Filled(torch.nn.Module):
    def forward(self, x):
        return x + torch.full((SIDE, SIDE), 0.5).mean()


class Counted(torch.nn.Module):
    def forward(self, x):
        return x + torch.arange(1 << 31).to(torch.float32).mean()


class Expanded(torch.nn.Module):
    """A buffer that repeats its only element."""

    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.ones(1).expand(SIDE, SIDE))

    def forward(self, x):
        return x + self.w[0, :4]


class Multiplied(torch.nn.Module):
    def forward(self, x):
        y = torch.ones(4096, 4096)
        for _ in range(20):
            y = y @ y
        return x + y.mean()


HOSTILE: tuple[Callable[[], torch.nn.Module], ...] = (Filled, Counted, Expanded, Multiplied)


def write(make: Callable[[], torch.nn.Module], folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(make(), (torch.zeros(4),), strict=False)
        torch.export.save(program, folder / "net.pt2")
    return f"{(folder / 'net.pt2').stat().st_size} bytes"
