"""Modules of PyTorch by group of operators, with example inputs; made when the tests run, with
seeded weights.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


@dataclass(frozen=True)
class ModuleCase:
    """`sizes`: which axes of the inputs are open, by their position; tried at another size, too."""

    make: Callable[[], nn.Module]
    inputs: tuple[Tensor, ...]
    sizes: dict[int, dict[int, int]] = field(default_factory=dict)
    tolerance: float = 1e-4
    gpu: str = ""
    """Why it does not run on webgpu and webgl, if it does not."""


def floats(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def whole(
    *shape: int, seed: int = 0, low: int = 0, high: int = 5, dtype: torch.dtype = torch.int64
) -> Tensor:
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def truth(*shape: int, seed: int = 0) -> Tensor:
    return floats(*shape, seed=seed) > 0


def of(function: Callable[..., Any]) -> Callable[[], nn.Module]:
    return lambda: Of(function)


def images(*shape: int) -> tuple[Tensor]:
    return (floats(*shape),)


class Normalised(nn.Sequential):
    """Batch normalisations with statistics that were learnt."""

    def __init__(self, *layers: nn.Module) -> None:
        super().__init__(*layers)
        for layer in self.modules():
            if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d):
                layer.running_mean.uniform_(-0.5, 0.5)
                layer.running_var.uniform_(0.5, 1.5)


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
    """A loop of Python over steps."""

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
        found = []
        for row in x:
            h, c = self.lstm(row, (h, c))
            g = self.gru(h, g)
            r = self.rnn(g, r)
            found.append(r)
        return torch.stack(found)


class Attention(nn.Module):
    def __init__(self, *, batch_first: bool = True) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=batch_first)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return self.attention(x, y, y, need_weights=False)[0]


class Counting(nn.Module):
    """What it computes depends on the runs before."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("runs", torch.zeros((), dtype=torch.int64))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.total += x.sum(0)
        self.runs += 1
        return self.total / self.runs, self.runs * 2


class Handing(nn.Module):
    """Keeps what nothing computes: a constant, an input, and what another buffer was."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fixed", torch.ones(3))
        self.register_buffer("whole", torch.ones(3, dtype=torch.int64))
        self.register_buffer("given", torch.zeros(3))
        self.register_buffer("before", torch.full((3,), 2.0))

    def forward(self, x: Tensor) -> Tensor:
        total = self.fixed + 10 * self.given + 100 * self.before + 1000 * self.whole
        self.before.copy_(self.given)
        self.given.copy_(x)
        self.fixed.copy_(torch.full((3,), 4.0))
        self.whole = torch.tensor([4, 5, 6])
        return total


class Cache(nn.Module):
    """Keys of the steps so far, written in place."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 6, 4))
        self.register_buffer("place", torch.zeros(1, dtype=torch.int64))
        self.project = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.keys.index_copy_(1, self.place, self.project(x).unsqueeze(1))
        self.place += 1
        return torch.softmax(self.keys @ x.unsqueeze(-1), 1)


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))


class Looping(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def going(n: Tensor, x: Tensor) -> Tensor:
            return x.abs().sum() < 50

        def step(n: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return n + 1, x * 1.5

        return torch._higher_order_ops.while_loop(
            going, step, (torch.zeros((), dtype=torch.int64), x)
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


class Written(nn.Module):
    """Views that are written to."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[:, 1] = 0
        y[0, ::2] += 1
        y.view(-1)[:3].mul_(2)
        y[:, -1:, 1:3] = x[:, :1, :2]
        return y


def mixed(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    """a float, b whole, c truth values: the dtypes of all mixes."""
    return (
        a + b,
        b + 1,
        b + 1.5,
        b / 2,
        b // 2,
        c + b,
        c * 1.5,
        c & (b > 0),
        a * c,
        b**2,
        2**b,
        b % 3,
        -b,
        torch.true_divide(b, 3),
        b.float() / 3,
        c.sum(),
        b.mean(dtype=torch.float32),
        torch.where(c, a, 0.0),
        torch.where(c, b, 1),
        torch.clamp(b, 0, 3),
        b.to(torch.uint8) + b.to(torch.int8),
        a.to(torch.int32),
        torch.maximum(b, b.flip(0)),
        b.double() + a,
    )


def activations(x: Tensor) -> tuple[Tensor, ...]:
    return (
        F.relu(x),
        F.relu6(x * 9),
        F.elu(x, 0.7),
        F.selu(x),
        F.celu(x, 0.7),
        F.leaky_relu(x, 0.2),
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        F.silu(x),
        F.mish(x),
        F.hardswish(x * 5),
        F.hardsigmoid(x * 5),
        F.hardtanh(x, -0.3, 0.4),
        F.softplus(x, 2.0, 1.0),
        F.softsign(x),
        F.tanhshrink(x),
        F.softshrink(x, 0.2),
        F.hardshrink(x, 0.2),
        F.threshold(x, 0.1, 3.0),
        F.logsigmoid(x),
        F.glu(x, -1),
        F.rrelu(x),
        F.softmax(x, 1),
        F.log_softmax(x, -1),
        F.softmin(x, 0),
        torch.sigmoid(x),
    )


def functions(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        x.exp(),
        y.log(),
        y.log2(),
        y.log10(),
        x.log1p(),
        x.expm1(),
        x.sin(),
        x.cos(),
        x.tan(),
        x.asin(),
        x.acos(),
        x.atan(),
        x.sinh(),
        x.cosh(),
        x.asinh(),
        (y + 1).acosh(),
        (x * 0.9).atanh(),
        x.erf(),
        x.erfc(),
        (x * 0.9).erfinv(),
        y.sqrt(),
        y.rsqrt(),
        y.reciprocal(),
        x.abs(),
        x.sign(),
        (x * 5).floor(),
        (x * 5).ceil(),
        (x * 5).round(),
        (x * 5).trunc(),
        (x * 5).frac(),
        torch.atan2(x, y),
        torch.atan2(x, -y),
        torch.hypot(x, y),
        x.square(),
        x**3,
        y**0.5,
        y**x,
        x.exp2(),
        torch.xlogy(x.abs(), y),
        torch.lerp(x, y, 0.3),
        torch.addcmul(x, y, y, value=2),
        torch.addcdiv(x, y, y + 1, value=-1),
        torch.fmod(x * 7, 2),
        torch.remainder(x * 7, -2),
        torch.round(x, decimals=1),
        x.sinc(),
        torch.logit(x.abs() * 0.5 + 0.2),
        x.nan_to_num(),
    )


def compared(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        x > y,
        x >= y,
        x < 0.1,
        x <= y,
        x == y,
        x != y,
        torch.isnan(x / 0),
        torch.isinf(x / 0),
        torch.isfinite(x / 0),
        torch.logical_and(x > 0, y > 0),
        torch.logical_or(x, y > 2),
        torch.logical_xor(x > 0, y > 0),
        torch.logical_not(x > 0),
        torch.minimum(x, y),
        torch.fmax(x, y),
    )


def reductions(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.sum(),
        x.sum(1),
        x.sum((0, 2), keepdim=True),
        x.mean(-1),
        x.prod(1),
        x.amax((1, 2)),
        x.amin(0),
        *x.max(1),
        *x.min(-1, keepdim=True),
        x.argmax(),
        x.argmin(1),
        x.var(1),
        x.std((0, 2)),
        x.var(correction=0),
        *torch.var_mean(x, 2),
        x.norm(),
        x.norm(1, 1),
        torch.linalg.vector_norm(x, 3, (0, 1)),
        torch.linalg.norm(x[0]),
        x.logsumexp((1, 2)),
        (x > 0).any(),
        (x > 0).all(1),
        (x > 0).any((0, 1)),
        torch.count_nonzero(x > 0),
        x.max(),
        x.cumsum(1),
        x.cumprod(0),
        x.median(1).values,
        x.all(),
    )


def views(x: Tensor) -> tuple[Tensor, ...]:
    return (
        x.view(2, 12),
        x.reshape(-1, 4),
        x.flatten(1),
        x.transpose(0, 2),
        x.permute(2, 0, 1),
        x[:, 1],
        x[0],
        x[..., 1:3],
        x[:, ::2],
        x[:, -2:],
        x.unsqueeze(1),
        x[:, :1].squeeze(1),
        x[:, :1].expand(2, 5, 4),
        x.repeat(1, 2, 1),
        torch.cat([x, x * 2], 1),
        torch.stack([x, -x], -1),
        *x.split(2, 2),
        *x.chunk(3, 1),
        *x.unbind(0),
        x.flip(1, 2),
        x.roll(1, 2),
        x.roll(2),
        torch.tril(x),
        torch.triu(x, 1),
        x.diagonal(0, 1, 2),
        x.unfold(2, 2, 1),
        x.movedim(0, -1),
        x.unflatten(2, (2, 2)),
        x.repeat_interleave(2, 1),
        x.as_strided((2, 2), (1, 2), 3),
        torch.hstack([x, x]),
        x.T if x.ndim == 2 else x.mT,
        x.broadcast_to(3, 2, 3, 4),
        x.narrow(1, 1, 2),
        torch.tile(x, (2,)),
        x.swapaxes(0, 1),
        x.new_full((2,), 3.0),
        torch.zeros_like(x),
        torch.full((2, 2), 7),
        torch.arange(5),
        torch.arange(1.0, 2.0, 0.25),
        torch.linspace(0, 1, 5),
        torch.eye(3),
        torch.ones(2, dtype=torch.bool),
        *torch.meshgrid(x[0, 0], x[0, :, 0], indexing="xy"),
    )


def indexed(x: Tensor, i: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    y = x.clone()
    y[i[:, 0]] = 0.5
    z = x.clone()
    z[m] = -1
    return (
        x[i],
        x[:, i[0]],
        x[i[:, 0], i[:, 1]],
        x[:, i[0], i[1]],
        x[i[0], :, i[1]],
        x.index_select(1, i[0]),
        torch.gather(x, 1, i.unsqueeze(-1).expand(3, 2, 4)),
        y,
        z,
        x.take(i),
        torch.take_along_dim(x, i.unsqueeze(-1), 1),
        x.index_put((i[:, 0], i[:, 1]), x[:, 0], accumulate=True),
        F.one_hot(i, 4),
        x.masked_fill(m, 2.0),
    )


def scattered(x: Tensor, i: Tensor, s: Tensor) -> tuple[Tensor, ...]:
    return (
        x.scatter(1, i, s),
        x.scatter(1, i, 2.0),
        x.scatter_add(1, i, s),
        *(
            x.scatter_reduce(1, i, s, mode, include_self=own)
            for mode in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ),
        x.index_add(1, i[0], s, alpha=2),
        x.index_copy(1, i[0, :2], s[:, :2]),
        x.slice_scatter(s[:, :2], 1, 1, 3),
        x.select_scatter(s[:, 0], 1, 2),
        x.slice_scatter(s[:, :2], 1, 0, 4, 2),
    )


def ordered(x: Tensor) -> tuple[Tensor, ...]:
    return (
        *x.sort(1),
        *x.sort(0, descending=True),
        *x.topk(2, 1),
        *x.topk(2, 0, largest=False),
        x.argsort(-1),
        *x.kthvalue(2, 1),
        torch.searchsorted(x.sort(1).values, x),
        torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.5]), right=True),
    )


def products(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return (
        x @ y,
        x[0] @ y[0],
        x[0, 0] @ y[0],
        x[0] @ y[0, :, 0],
        torch.baddbmm(x @ y, x, y, beta=0.5, alpha=2),
        torch.einsum("bij,bjk->bik", x, y),
        torch.einsum("bij,bij->b", x, x),
        torch.einsum("...ij->...ji", x),
        torch.tensordot(x, y, dims=([2], [1])),
        torch.outer(x[0, 0], y[0, :, 0]),
        torch.cdist(x, x),
        torch.cdist(x, x, p=1.0),
        F.cosine_similarity(x, x.flip(0), 1),
        F.pairwise_distance(x[0], x[1]),
        torch.linalg.cross(x[:, :, :3], x[:, :, 1:]),
        F.pdist(x[0]),
        torch.addmm(x[0] @ y[0], x[1], y[1]),
        F.bilinear(x[0], x[1], torch.ones(2, 4, 4) * 0.3, torch.ones(2)),
    )


def pooled(x: Tensor) -> tuple[Tensor, ...]:
    return (
        F.max_pool2d(x, 3, 2, 1),
        F.max_pool2d(x, 2, ceil_mode=True),
        *F.max_pool2d(x, 2, return_indices=True),
        F.avg_pool2d(x, 3, 2, 1),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(x, 2, ceil_mode=True),
        F.avg_pool2d(x, 2, divisor_override=3),
        F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, (2, 3)),
        F.adaptive_avg_pool2d(x, (4, None)),
        F.adaptive_max_pool2d(x, (3, 2)),
        F.lp_pool2d(x.abs(), 2, 2),
        F.max_pool2d(x, 3, 1, dilation=2),
        F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2, output_size=(6, 7)),
        F.local_response_norm(x, 3),
    )


def padded(x: Tensor) -> tuple[Tensor, ...]:
    return (
        *(
            F.pad(x, (1, 2, 2, 1), mode)
            for mode in ("constant", "reflect", "replicate", "circular")
        ),
        F.pad(x, (-1, 2), value=3.0),
        F.pad(x[0, 0], (0, 1)),
        F.pad(x[:, 0], (1, 1), "reflect"),
    )


def resized(
    mode: str, dimensions: int, *, corners: bool | None = None
) -> Callable[[Tensor], tuple[Tensor, ...]]:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        x = (
            x
            if dimensions == 2
            else x[:, :, 0]
            if dimensions == 1
            else x.unsqueeze(2).repeat(1, 1, 2, 1, 1)
        )
        align = {} if corners is None else {"align_corners": corners}
        return (
            F.interpolate(x, scale_factor=2, mode=mode, **align),
            F.interpolate(x, size=(7, 4, 9)[:dimensions], mode=mode, **align),
            F.interpolate(x, scale_factor=1.7, mode=mode, **align),
            F.interpolate(x, scale_factor=1.7, mode=mode, recompute_scale_factor=True, **align),
        )

    return function


def sampled(x: Tensor, grid: Tensor) -> tuple[Tensor, ...]:
    return tuple(
        F.grid_sample(x, grid, mode, padding, corners)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for corners in (False, True)
    )


def spectra(x: Tensor) -> tuple[Tensor, ...]:
    y = torch.fft.rfft(x)
    return (
        y.abs(),
        y.real,
        y.imag,
        torch.view_as_real(torch.fft.rfft2(x)),
        torch.fft.irfft(y * 2, n=x.shape[-1]),
        torch.fft.irfft(y * y, n=8, norm="ortho"),
        torch.fft.fft(x, norm="forward").abs(),
        torch.fft.ifft(torch.fft.fft(x)).real,
    )


def spectrogram(x: Tensor) -> Tensor:
    return torch.stft(x, 16, 4, window=torch.hann_window(16), return_complex=True).abs()


def attended(q: Tensor, k: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    return (
        F.scaled_dot_product_attention(q, k, k),
        F.scaled_dot_product_attention(q, k, k, attn_mask=m),
        F.scaled_dot_product_attention(q, q, q, is_causal=True),
        F.scaled_dot_product_attention(q, k, k, scale=0.3),
        F.scaled_dot_product_attention(q, k, k, attn_mask=m.float()),
    )


def chosen(x: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    """As many as the data says."""
    return (x[m], torch.nonzero(m), torch.masked_select(x, m) * 2)


def chosen_alike(x: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    """What one mask chooses of several tensors is of one size."""
    both = x[m] + x.flip(0)[m] - torch.masked_select(x * 2, m)
    rows, columns = torch.where(m)
    y = x.clone()
    y[m] = both * x[rows, columns]
    return both, y


def masked(x: Tensor, m: Tensor) -> Tensor:
    return x.masked_scatter(m, torch.arange(24.0).reshape(2, 3, 4))


def folded(x: Tensor) -> tuple[Tensor, ...]:
    y = F.unfold(x, (2, 3), dilation=(1, 1), padding=1, stride=(2, 1))
    return (
        y,
        F.fold(y, x.shape[-2:], (2, 3), padding=1, stride=(2, 1)),
        F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2),
        F.pixel_unshuffle(x[..., :4, :4], 2),
        F.channel_shuffle(x.repeat(1, 2, 1, 1), 2),
    )


def opened(x: Tensor) -> tuple[Tensor, ...]:
    """What computes with sizes."""
    n, t, c = x.shape
    places = torch.arange(t, device=x.device)
    mask = places[None, :] <= places[:, None]
    scores = (x @ x.mT / math.sqrt(c)).masked_fill(~mask, -torch.inf)
    return (
        torch.softmax(scores, -1) @ x,
        x.reshape(n * t, c).sum(0) / (n * t),
        torch.cat([x, x.new_zeros(n, 1, c)], 1)[:, 1:],
        x[:, : t // 2].mean(1),
        x.view(n, t, 2, c // 2).transpose(1, 2),
        F.pad(x, (0, 0, 1, t - 1)),
    )


def direct(x: Tensor) -> tuple[Tensor, ...]:
    """Core operators that modules reach by way of others."""
    a, y = torch.ops.aten, x[0]
    return (
        a._log_softmax(y, 1, False),
        a._softmax(y, 0, False),
        a._native_batch_norm_legit.no_stats(y, None, None, True, 0.1, 1e-5)[0],
        a.alias(y),
        a.avg_pool1d(y, [2]),
        a.constant_pad_nd(y, [1, -1], 2.0),
        a.fill(y, 3),
        a.mm(y[0], y[1].T),
        a.native_dropout(y, 0.5, False)[0],
        a.reflection_pad1d(y, [1, 2]),
        a.reflection_pad2d(x, [1, 1, 2, 0]),
        a.reflection_pad3d(x, [1, 1, 2, 0, 1, 0]),
        a.replication_pad2d(x, [1, 1, 2, 0]),
        a.replication_pad3d(x, [1, 1, 2, 0, 1, 0]),
        a.select_scatter(y, y[:, 0] * 2, 1, 1),
        y.reshape(y.numel() // 4, 4),
        a.copy(y, y[0]),
        a.squeeze.dims(y[:1], [0]),
        a.sum.dim_IntList(y, [0]),
        a.pow.Scalar(2.0, y),
        a.bitwise_and.Scalar(y > 0, True),
        a.fmod.Scalar(y * 5, 2),
        a.var.correction(y, [1], correction=0, keepdim=True),
    )


def sequential(*layers: nn.Module) -> Callable[[], nn.Module]:
    return lambda: Normalised(*layers)


X = (floats(2, 3, 4),)
PAIR = (floats(2, 3, 4), floats(2, 3, 4, seed=1, low=0.1, high=3.0))
IMAGE = (floats(1, 2, 6, 7),)
STEPS = (floats(2, 5, 4),)
TIME = {0: {0: 3, 1: 7}}
BATCH = {0: {0: 3}}
LATE = "the number of results is data, which only wasm and js count"

MODULES: dict[str, ModuleCase] = {
    "linear": ModuleCase(
        lambda: nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2, bias=False)),
        (floats(2, 4),),
        BATCH,
    ),
    "mixed dtypes": ModuleCase(of(mixed), (floats(2, 3), whole(2, 3, low=-4, high=5), truth(2, 3))),
    "core operators": ModuleCase(of(direct), (floats(2, 2, 4, 4),), {0: {0: 3}}),
    "activations": ModuleCase(of(activations), (floats(2, 3, 4),)),
    "functions": ModuleCase(of(functions), PAIR),
    "comparisons": ModuleCase(of(compared), PAIR),
    "reductions": ModuleCase(of(reductions), X),
    "views": ModuleCase(of(views), X),
    "indices": ModuleCase(of(indexed), (floats(3, 3, 4), whole(3, 2, high=3), truth(3, 3, 4))),
    "scatters": ModuleCase(
        of(scattered), (floats(2, 5), whole(2, 3, high=4), floats(2, 3, seed=3))
    ),
    "orders": ModuleCase(of(ordered), (floats(4, 6),)),
    "products": ModuleCase(of(products), (floats(2, 3, 4), floats(2, 4, 3, seed=1))),
    "pools": ModuleCase(of(pooled), IMAGE),
    "pools of sequences": ModuleCase(
        of(
            lambda x: (
                F.max_pool1d(x, 2),
                F.avg_pool1d(x, 3, 1, 1),
                F.adaptive_avg_pool1d(x, 3),
                F.adaptive_max_pool1d(x, 2),
            )
        ),
        (floats(2, 3, 8),),
    ),
    "pools of volumes": ModuleCase(
        of(lambda x: (F.max_pool3d(x, 2), F.avg_pool3d(x, 2, 1), F.adaptive_avg_pool3d(x, 2))),
        (floats(1, 2, 4, 5, 6),),
    ),
    "open adaptive pool": ModuleCase(
        of(lambda x: F.adaptive_avg_pool2d(x, (2, 3))), IMAGE, {0: {2: 9, 3: 8}}
    ),
    "paddings": ModuleCase(of(padded), IMAGE),
    "conv1d": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv1d(2, 4, 3, padding=2, dilation=2),
            nn.ReLU(),
            nn.ConvTranspose1d(4, 2, 3, stride=2, output_padding=1),
        ),
        (floats(2, 2, 8),),
        {0: {0: 1, 2: 11}},
    ),
    "conv2d": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv2d(2, 4, 3, stride=2, padding=1),
            nn.Conv2d(4, 4, (3, 1), groups=4, padding="same"),
            nn.Conv2d(4, 6, 1, groups=2),
        ),
        IMAGE,
        {0: {2: 9}},
    ),
    "conv3d": ModuleCase(
        lambda: nn.Sequential(nn.Conv3d(2, 3, 2), nn.ConvTranspose3d(3, 2, 2, stride=2, groups=1)),
        (floats(1, 2, 3, 4, 5),),
    ),
    "transposed conv": ModuleCase(
        lambda: nn.ConvTranspose2d(
            4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=1
        ),
        (floats(1, 4, 3, 4),),
    ),
    "conv without batch": ModuleCase(
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2)), (floats(2, 6, 7),)
    ),
    "conv paddings": ModuleCase(
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"),
            nn.Conv2d(3, 2, 3, padding=1, padding_mode="circular"),
            nn.ZeroPad2d(1),
        ),
        IMAGE,
    ),
    "residual": ModuleCase(Residual, (floats(2, 3, 5, 5),), BATCH),
    "batch norms": ModuleCase(
        sequential(nn.Conv1d(4, 3, 2), nn.BatchNorm1d(3)), (floats(2, 4, 5),)
    ),
    "norms": ModuleCase(
        of(
            lambda x: (
                F.layer_norm(x, (5,)),
                F.group_norm(x, 2),
                F.instance_norm(x),
                F.normalize(x, dim=1),
                F.rms_norm(x, (5,)),
                F.batch_norm(x, torch.zeros(4), torch.ones(4)),
            )
        ),
        (floats(2, 4, 5),),
    ),
    "norm layers": ModuleCase(
        lambda: nn.Sequential(
            nn.LayerNorm(6), nn.GroupNorm(2, 4), nn.InstanceNorm1d(4, affine=True), nn.RMSNorm(6)
        ),
        (floats(2, 4, 6),),
        BATCH,
    ),
    "lstm": ModuleCase(lambda: Recurrent(nn.LSTM(4, 5, batch_first=True)), STEPS, BATCH),
    "deep lstm": ModuleCase(
        lambda: Recurrent(nn.LSTM(4, 5, num_layers=2, bidirectional=True)), (floats(5, 2, 4),)
    ),
    "projected lstm": ModuleCase(
        lambda: Recurrent(nn.LSTM(4, 6, num_layers=2, proj_size=3, bias=False)), (floats(5, 2, 4),)
    ),
    "gru": ModuleCase(lambda: Recurrent(nn.GRU(4, 5, bidirectional=True, batch_first=True)), STEPS),
    "rnn": ModuleCase(lambda: Recurrent(nn.RNN(4, 5, num_layers=2, nonlinearity="relu")), STEPS),
    "rnn without batch": ModuleCase(lambda: Recurrent(nn.GRU(4, 5)), (floats(5, 4),)),
    "cells": ModuleCase(Cells, (floats(3, 2, 4),)),
    "attention": ModuleCase(Attention, (floats(2, 5, 8), floats(2, 6, 8, seed=1))),
    "products of attention": ModuleCase(
        of(attended), (floats(1, 2, 5, 4), floats(1, 2, 6, 4, seed=1), truth(5, 6))
    ),
    "encoder": ModuleCase(
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"),
            2,
            enable_nested_tensor=False,
        ),
        (floats(2, 5, 8),),
        {0: {0: 3}},
    ),
    "decoder": ModuleCase(
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, norm_first=True),
        (floats(2, 5, 8), floats(2, 6, 8, seed=1)),
    ),
    "embeddings": ModuleCase(Tables, (whole(3, 4, high=7),), BATCH),
    "sums of bags": ModuleCase(lambda: Bags("sum"), (whole(6, high=7), torch.tensor([0, 2, 2, 5]))),
    "largest of bags": ModuleCase(lambda: Bags("max"), (whole(6, high=7), torch.tensor([0, 2, 5]))),
    "written views": ModuleCase(Written, X),
    "states": ModuleCase(Counting, (floats(2, 3),)),
    "states of what is given": ModuleCase(Handing, (floats(3),)),
    "cache": ModuleCase(Cache, (floats(1, 4),)),
    "cond": ModuleCase(Branching, (floats(2, 3),)),
    "while": ModuleCase(Looping, (floats(2, 3),)),
    "nearest": ModuleCase(of(resized("nearest", 2)), IMAGE),
    "nearest-exact": ModuleCase(of(resized("nearest-exact", 2)), IMAGE),
    "bilinear": ModuleCase(of(resized("bilinear", 2, corners=False)), IMAGE),
    "bilinear corners": ModuleCase(of(resized("bilinear", 2, corners=True)), IMAGE),
    "bicubic": ModuleCase(of(resized("bicubic", 2, corners=False)), IMAGE),
    "bicubic corners": ModuleCase(of(resized("bicubic", 2, corners=True)), IMAGE),
    "linear resize": ModuleCase(of(resized("linear", 1, corners=False)), IMAGE),
    "trilinear": ModuleCase(of(resized("trilinear", 3, corners=False)), IMAGE),
    "antialias": ModuleCase(
        of(
            lambda x: (
                F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
                F.interpolate(x, size=(3, 9), mode="bicubic", antialias=True),
            )
        ),
        IMAGE,
    ),
    "open resize": ModuleCase(
        of(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")), IMAGE, {0: {2: 5, 3: 9}}
    ),
    "grid sample": ModuleCase(
        of(sampled), (*IMAGE, floats(1, 4, 5, 2, seed=2, low=-1.3, high=1.3))
    ),
    "affine grid": ModuleCase(
        of(lambda t: F.affine_grid(t, [2, 1, 3, 4], align_corners=False)), (floats(2, 2, 3),)
    ),
    "spectra": ModuleCase(of(spectra), (floats(3, 8),)),
    "spectrogram": ModuleCase(of(spectrogram), (floats(1, 40),)),
    "windows": ModuleCase(of(folded), IMAGE),
    "chosen": ModuleCase(of(chosen), (floats(3, 4), truth(3, 4)), gpu=LATE),
    "chosen alike": ModuleCase(of(chosen_alike), (floats(3, 4), truth(3, 4)), gpu=LATE),
    "masked scatter": ModuleCase(of(masked), (floats(2, 3, 4), truth(2, 3, 4))),
    "sizes": ModuleCase(of(opened), (floats(2, 5, 4),), TIME),
    "named outputs": ModuleCase(
        of(lambda x: {"first": x * 2, "rest": [x + 1, x.sum(0)]}), (floats(2, 3),), BATCH
    ),
    "bits": ModuleCase(
        of(lambda a, b: (a & b, a | 3, a ^ b, ~a, a << 2, a >> 1)),
        (whole(3, 4, high=200), whole(3, 4, seed=1, high=99)),
    ),
}
