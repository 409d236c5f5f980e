"""Views, indices, orders and data-dependent sizes."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


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


def indices(x: Tensor, i: Tensor, m: Tensor) -> tuple[Tensor, ...]:
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


def scatters(x: Tensor, i: Tensor, s: Tensor) -> tuple[Tensor, ...]:
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


def orders(x: Tensor) -> tuple[Tensor, ...]:
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


def selections(x: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    """Outputs of data-dependent size."""
    return (x[m], torch.nonzero(m), torch.masked_select(x, m) * 2)


def equal_selections(x: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    """Selections of several tensors by one mask have the same size."""
    both = x[m] + x.flip(0)[m] - torch.masked_select(x * 2, m)
    rows, columns = torch.where(m)
    y = x.clone()
    y[m] = both * x[rows, columns]
    return both, y


def masked_scatter(x: Tensor, m: Tensor) -> Tensor:
    return x.masked_scatter(m, torch.arange(24.0).reshape(2, 3, 4))


def dynamic(x: Tensor) -> tuple[Tensor, ...]:
    """Computations with dynamic sizes."""
    n, t, c = x.shape
    positions = torch.arange(t, device=x.device)
    mask = positions[None, :] <= positions[:, None]
    scores = (x @ x.mT / math.sqrt(c)).masked_fill(~mask, -torch.inf)
    return (
        torch.softmax(scores, -1) @ x,
        x.reshape(n * t, c).sum(0) / (n * t),
        torch.cat([x, x.new_zeros(n, 1, c)], 1)[:, 1:],
        x[:, : t // 2].mean(1),
        x.view(n, t, 2, c // 2).transpose(1, 2),
        F.pad(x, (0, 0, 1, t - 1)),
    )
