"""Options of elementwise functions, reductions, norms, orders and indices."""

from collections.abc import Iterator
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.torch.cases import floats, integers, weights


def joins(x: Tensor) -> Iterator[Tensor]:
    """Concatenations of each rank, grids, and indices of several ranks."""
    row, table = x[0, 0, 0], x[0, 0]
    for join in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack):
        yield join([row, row + 1.0])
        yield join([table, table * 2.0])
        yield join([x[0], x[0] - 1.0])
    yield torch.hstack([row[0], row[1]])
    yield torch.vstack([row[0], row[1]])
    for indexing in ("ij", "xy"):
        yield from torch.meshgrid(row[:2], row[:3], row[:4], indexing=indexing)
    first, last = torch.tensor([[0], [1]]), torch.tensor([2, 0, 1])
    yield x[first, last]
    yield x[:, first, last]
    yield x[first, :, last]
    yield x[..., last, :][:, first]
    yield x[:, torch.tensor([True, False, True, False])]
    for steps in (1, 2, 5):
        yield torch.linspace(-1.0, 3.0, steps) + row[0]


def reductions(x: Tensor) -> Iterator[Tensor]:
    for keepdim in (False, True):
        for dim in (0, 1, -1, (0, 2), (-3, 3)):
            yield x.sum(dim, keepdim)
            yield x.mean(dim, keepdim)
            yield x.amax(dim, keepdim)
            yield x.amin(dim, keepdim)
            yield x.logsumexp(dim, keepdim)
            for correction in (0, 1, 2):
                yield torch.var(x, dim, correction=correction, keepdim=keepdim)
                yield torch.std(x, dim, correction=correction, keepdim=keepdim)
            for order in (1, 3, 0, float("inf"), -float("inf")):
                yield torch.linalg.vector_norm(x, order, dim, keepdim)
        for dim in (0, 2, -1):
            yield x.prod(dim, keepdim)
            yield from x.max(dim, keepdim)
            yield from x.min(dim, keepdim)
            yield x.argmax(dim, keepdim)
            yield x.argmin(dim, keepdim)
            yield (x > 0).any(dim, keepdim)
            yield (x > 0).all(dim, keepdim)
            yield from x.median(dim, keepdim)
    yield x.sum()
    yield x.argmax()
    yield x.std()


def orders(x: Tensor) -> Iterator[Tensor]:
    for dim, descending in product((0, 1, -1), (False, True)):
        yield from x.sort(dim, descending)
        yield x.argsort(dim, descending)
    for dim, largest in product((1, 2, -1), (False, True)):
        yield from x.topk(2, dim, largest)
        yield from x.kthvalue(2, dim, largest)
    for dim in (0, 1, 2, -1):
        yield x.cumsum(dim)
        yield x.cumprod(dim)
        yield x.flip(dim)
        yield x.roll(3, dim)
        yield x.softmax(dim)
        yield x.log_softmax(dim)
        yield torch.diff(x, dim=dim)
    yield x.roll((1, -2), (0, 3))
    for k, part in product((-2, 0, 3), (torch.tril, torch.triu)):
        yield part(x, k)
    for offset, (a, b) in product((-1, 0, 2), ((2, 3), (3, 1), (0, -1))):
        yield torch.diagonal(x, offset, a, b)


def norms(x: Tensor) -> Iterator[Tensor]:
    for groups, epsilon in product((1, 2, 4), (1e-5, 0.3)):
        yield F.group_norm(x, groups, weights(4, seed=1), weights(4, seed=2), epsilon)
    for shape, epsilon in product(((8,), (7, 8), (4, 7, 8)), (1e-5, 0.3)):
        yield F.layer_norm(x, shape, weights(*shape, seed=1), None, epsilon)
    for order, dim, epsilon in product((1, 2, 3), (0, 1, -1), (1e-12, 3.0)):
        yield F.normalize(x, order, dim, epsilon)
    for epsilon in (1e-5, 0.3):
        yield F.batch_norm(
            x,
            weights(4, seed=1),
            weights(4, seed=2).abs(),
            weights(4, seed=3),
            weights(4, seed=4),
            False,
            0.1,
            epsilon,
        )
        yield F.instance_norm(
            x, None, None, weights(4, seed=3), weights(4, seed=4), True, 0.1, epsilon
        )
    for size, alpha, beta, k in (
        (1, 0.5, 0.75, 1.0),
        (2, 0.5, 1.5, 2.0),
        (3, 1e-4, 0.75, 2.0),
        (5, 0.5, 0.5, 1.0),
    ):
        yield F.local_response_norm(x, size, alpha, beta, k)


def activations(x: Tensor) -> Iterator[Tensor]:
    x = x * 4
    for value in (0.1, 1.0, 2.5):
        yield F.elu(x, value)
        yield F.celu(x, value)
        yield F.leaky_relu(x, value)
        yield F.hardshrink(x, value)
        yield F.softshrink(x, value)
        yield F.threshold(x, value, -3.0)
        yield F.hardtanh(x, -value, value * 2)
        yield F.softplus(x, value, 3.0)
        yield torch.clamp(x, max=value)
        yield torch.clamp(x, -value)
        yield torch.logit(x.sigmoid(), eps=value / 10)
    for form in ("none", "tanh"):
        yield F.gelu(x, approximate=form)
    for dim in (1, 2, 3, -1):
        if x.shape[dim] % 2 == 0:
            yield F.glu(x, dim)
    yield F.prelu(x, weights(4, seed=3))
    yield F.prelu(x, weights(1, seed=3))


def arithmetic(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    """Also on integers of both signs, since rounding has a direction."""
    m = torch.tensor([3, -2, 4, -5])
    for mode in (None, "trunc", "floor"):
        yield torch.div(n, m, rounding_mode=mode)
        yield torch.div(x, weights(4, seed=2, low=0.2), rounding_mode=mode)
    for alpha in (1, 2, -3):
        yield torch.add(n, m, alpha=alpha)
        yield torch.sub(n, m, alpha=alpha)
        yield torch.rsub(n, m, alpha=alpha)
    yield torch.remainder(n, m)
    yield torch.fmod(n, m)
    yield n // m
    yield n % 3
    yield n >> 1
    yield n << 2
    yield n.to(torch.int8) * 37
    yield n.to(torch.uint8)
    for decimals in (0, 1, 2, -1):
        yield torch.round(x * 30, decimals=decimals)
    for dtype in (torch.int32, torch.int8, torch.float16, torch.bool, torch.float64):
        yield (x * 3).to(dtype)
    for value in (0.5, 2.0, -1.0):
        yield torch.addcmul(x, x, x, value=value)
        yield torch.addcdiv(x, x, x.abs() + 1, value=value)
        yield torch.lerp(x, x * x, value)
        yield torch.heaviside(x, torch.tensor(value))
    for beta, alpha in ((1, 1), (0, 2), (0.5, -1)):
        yield torch.addmm(x, x, x, beta=beta, alpha=alpha)
        yield torch.baddbmm(x[None], x[None], x[None], beta=beta, alpha=alpha)
    yield torch.nan_to_num(x / x.round(), 0.5, 3.0, -4.0)


def indices(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    for dim in (0, 1, -1):
        selected = torch.tensor([2, 0, 1, 2])
        yield x.index_select(dim, selected)
        yield x.gather(dim, n.abs() % 4)
        yield x.scatter(dim, n.abs() % 4, x * 2 if dim else x)
        yield x.scatter_add(dim, n.abs() % 4, x)
        for alpha in (1, -2):
            yield x.index_add(dim, selected, x, alpha=alpha)
        for reduce, own in product(("sum", "prod", "amax", "amin", "mean"), (True, False)):
            yield x.scatter_reduce(dim, n.abs() % 4, x, reduce, include_self=own)
        yield x.unfold(dim, 2, 1)
        yield x.narrow(dim, 1, 2)
        yield x.repeat_interleave(3, dim)
        yield from x.split([1, 3], dim)
        yield from x.chunk(3, dim)
        yield from x.unbind(dim)
        yield torch.cat([x, x * 2], dim)
        yield torch.stack([x, x * 2], dim)
    for right, side in product((False, True), (torch.tensor([0.0, 0.25, 0.5]),)):
        yield torch.bucketize(x, side, right=right)
    yield x[1:, ::2]
    yield x[..., -1]
    yield x[:, None, 2]


MATRIX = (floats(4, 4), integers(4, 4, low=-9, high=9))
