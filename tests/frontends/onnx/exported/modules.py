"""Modules of PyTorch whose exports are in the corpus. Each has a weight of at least 64 KiB, except
those without weights.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - torch's own convention


@dataclass(frozen=True)
class Module:
    """A module with the shapes of its inputs, twice. Sizes that differ stay open, if their axis has
    a name in `open`. `whole`: inputs of integers below this number.
    """

    build: Callable[[], nn.Module]
    shapes: Sequence[Sequence[tuple[int, ...]]]
    open: Mapping[int, str] = field(default_factory=lambda: {0: "batch"})
    whole: int = 0


class Calls(nn.Module):
    """A function of its inputs, and of layers."""

    def __init__(self, function: Callable[..., object], *layers: nn.Module) -> None:
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, *inputs: Tensor) -> object:
        return self.function(*self.layers, *inputs)


def calls(function: Callable[..., object], *layers: Callable[[], nn.Module]) -> Callable[[], Calls]:
    return lambda: Calls(function, *(layer() for layer in layers))


def sequence(*layers: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(*(layer() for layer in layers))


IMAGE = [[(1, 3, 12, 16)], [(2, 3, 18, 10)]]
OPEN_IMAGE = {0: "batch", 2: "height", 3: "width"}
VECTORS = [[(3, 128)], [(1, 128)]]
TOKENS = [[(1, 12, 128)], [(2, 7, 128)]]
OPEN_TOKENS = {0: "batch", 1: "length"}
SQUARE = lambda: nn.Linear(128, 128)  # noqa: E731 - a table of layers


def heads(qkv: nn.Module, x: Tensor) -> Tensor:
    batch, length, width = x.shape
    q, k, v = qkv(x).reshape(batch, length, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind(0)
    scores = (q @ k.transpose(-2, -1) * (width // 4) ** -0.5).softmax(-1)
    return (scores @ v).transpose(1, 2).reshape(batch, length, width)


def causal(layer: nn.Module, x: Tensor) -> Tensor:
    scores = layer(x) @ x.transpose(1, 2)
    mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).tril()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ x


def patches(layer: nn.Module, x: Tensor) -> Tensor:
    batch, channels, height, width = x.shape
    x = x.reshape(batch, channels, height // 2, 2, width // 2, 2).permute(0, 2, 4, 3, 5, 1)
    return layer(x.reshape(batch, (height // 2) * (width // 2), 4 * channels))


def rotary(layer: nn.Module, x: Tensor) -> Tensor:
    positions = torch.arange(x.shape[1], device=x.device, dtype=torch.float32)
    angles = positions[:, None] * torch.arange(64, device=x.device) / 64
    first, second = layer(x).chunk(2, -1)
    sin, cos = angles.sin(), angles.cos()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def pyramid(deep: nn.Module, join: nn.Module, x: Tensor) -> Tensor:
    small = F.relu(deep(F.max_pool2d(x, 2)))
    large = F.interpolate(small, size=x.shape[2:], mode="bilinear", align_corners=False)
    return join(torch.cat([large, x], 1))


def positions(embed: nn.Module, place: nn.Module, tokens: Tensor) -> Tensor:
    count = tokens.shape[1]
    return embed(tokens) + place(torch.arange(count, device=tokens.device))[None]


MODULES: dict[str, Module] = {
    "unbind": Module(calls(heads, lambda: nn.Linear(128, 384)), TOKENS, OPEN_TOKENS),
    "unbind_last": Module(
        calls(
            lambda layer, x: torch.stack(layer(x).reshape(x.shape[0], 64, 2).unbind(2), 1), SQUARE
        ),
        VECTORS,
    ),
    "chunk_flip": Module(
        calls(
            lambda layer, x: torch.cat([part.flip(1) for part in layer(x).chunk(2, 1)], 1), SQUARE
        ),
        VECTORS,
    ),
    "resize_three_quarters": Module(
        calls(
            lambda layer, x: layer(
                F.interpolate(x, size=(x.shape[2] * 3 // 4, x.shape[3] * 3 // 4), mode="bilinear")
            ),
            lambda: nn.Conv2d(3, 128, 7, padding=3),
        ),
        IMAGE,
        OPEN_IMAGE,
    ),
    "resize_recomputed": Module(
        calls(
            lambda x: F.interpolate(
                x, scale_factor=1.5, mode="bilinear", recompute_scale_factor=True
            )
        ),
        IMAGE,
        OPEN_IMAGE,
    ),
    "resize_twice": Module(
        calls(lambda x: F.interpolate(x, scale_factor=2, mode="nearest")), IMAGE, OPEN_IMAGE
    ),
    "pyramid": Module(
        calls(pyramid, lambda: nn.Conv2d(3, 64, 3, padding=1), lambda: nn.Conv2d(67, 64, 3)),
        IMAGE,
        OPEN_IMAGE,
    ),
    "perceptron": Module(
        sequence(SQUARE, nn.GELU, lambda: nn.LayerNorm(128), lambda: nn.Linear(128, 5), nn.Softmax),
        VECTORS,
    ),
    "convolutions": Module(
        sequence(
            lambda: nn.Conv2d(3, 64, 3, padding=1),
            lambda: nn.BatchNorm2d(64),
            nn.ReLU,
            lambda: nn.MaxPool2d(2),
            lambda: nn.Conv2d(64, 64, 3, padding=1, bias=False),
            nn.Hardswish,
            lambda: nn.AdaptiveAvgPool2d(1),
            nn.Flatten,
            lambda: nn.Linear(64, 7),
        ),
        IMAGE,
        OPEN_IMAGE,
    ),
    "separable": Module(
        sequence(
            lambda: nn.Conv2d(3, 96, 1),
            lambda: nn.Conv2d(96, 96, 5, padding=2, groups=96),
            lambda: nn.PReLU(96),
            lambda: nn.Conv2d(96, 192, 1),
        ),
        IMAGE,
        OPEN_IMAGE,
    ),
    "transposed": Module(
        sequence(lambda: nn.ConvTranspose2d(3, 128, 7, 2, 2, 1), lambda: nn.InstanceNorm2d(128)),
        IMAGE,
        OPEN_IMAGE,
    ),
    "group_norm": Module(
        sequence(lambda: nn.Conv2d(3, 128, 7), lambda: nn.GroupNorm(8, 128), nn.SiLU),
        IMAGE,
        OPEN_IMAGE,
    ),
    "lstm": Module(
        calls(
            lambda layer, x: layer(x)[0],
            lambda: nn.LSTM(128, 48, bidirectional=True, batch_first=True),
        ),
        TOKENS,
        OPEN_TOKENS,
    ),
    "gru": Module(
        calls(lambda layer, x: layer(x), lambda: nn.GRU(128, 64, num_layers=2)),
        [[(12, 1, 128)], [(5, 1, 128)]],
        {0: "length"},
    ),
    "encoder": Module(
        lambda: nn.TransformerEncoderLayer(128, 4, 256, batch_first=True), TOKENS, OPEN_TOKENS
    ),
    "attention": Module(
        calls(
            lambda layer, x: layer(x, x, x, need_weights=False)[0],
            lambda: nn.MultiheadAttention(128, 4, batch_first=True),
        ),
        TOKENS,
        OPEN_TOKENS,
    ),
    "scaled_dot_product": Module(
        calls(
            lambda layer, x: F.scaled_dot_product_attention(layer(x), x, x, is_causal=True), SQUARE
        ),
        TOKENS,
        OPEN_TOKENS,
    ),
    "causal_mask": Module(calls(causal, SQUARE), TOKENS, OPEN_TOKENS),
    "embedding": Module(
        calls(positions, lambda: nn.Embedding(300, 64), lambda: nn.Embedding(40, 64)),
        [[(2, 9)], [(1, 31)]],
        OPEN_TOKENS,
        whole=300,
    ),
    "rotary": Module(calls(rotary, SQUARE), TOKENS, OPEN_TOKENS),
    "patches": Module(calls(patches, lambda: nn.Linear(12, 2048)), IMAGE, OPEN_IMAGE),
    "pixel_shuffle": Module(
        sequence(lambda: nn.Conv2d(3, 128, 7, padding=3), lambda: nn.PixelShuffle(2)),
        IMAGE,
        OPEN_IMAGE,
    ),
    "top": Module(
        calls(lambda layer, x: (torch.topk(layer(x), 5).values, layer(x).argmax(-1)), SQUARE),
        VECTORS,
    ),
    "einsum": Module(
        calls(lambda layer, x: torch.einsum("bld,bmd->blm", layer(x), x), SQUARE),
        TOKENS,
        OPEN_TOKENS,
    ),
    "statistics": Module(
        calls(
            lambda layer, x: (
                layer(x).std(1, keepdim=True),
                x.norm(dim=2),
                F.normalize(layer(x), dim=-1),
                x.amax(1),
                layer(x).logsumexp(2),
            ),
            SQUARE,
        ),
        TOKENS,
        OPEN_TOKENS,
    ),
    "moved": Module(
        calls(
            lambda layer, x: (
                layer(x).roll(1, 1),
                F.pad(x.transpose(1, 2), (2, 1), mode="reflect"),
                x.cumsum(1),
                F.glu(layer(x)),
                layer(x)[:, 1:, ::2],
            ),
            SQUARE,
        ),
        TOKENS,
        OPEN_TOKENS,
    ),
    "split_sizes": Module(calls(lambda layer, x: layer(x).split([32, 64, 32], 1), SQUARE), VECTORS),
    "warped": Module(
        calls(
            lambda layer, x: F.grid_sample(
                x, layer(x[:, :, 0, :2].flatten(1)).reshape(-1, 6, 8, 2).tanh(), align_corners=False
            ),
            lambda: nn.Linear(6, 96),
        ),
        [[(1, 3, 12, 16)], [(2, 3, 12, 16)]],
    ),
    "pools": Module(
        calls(
            lambda layer, x: (
                F.avg_pool2d(layer(x), 3, 2, 1),
                F.max_pool2d(layer(x), 3, 2, 1),
                F.adaptive_avg_pool2d(x, (3, 2)),
            ),
            lambda: nn.Conv2d(3, 128, 7, padding=3),
        ),
        [[(1, 3, 12, 16)], [(3, 3, 12, 16)]],
    ),
}
