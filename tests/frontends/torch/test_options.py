"""Every option of torch's functions with every value, at sizes that differ in each axis, against
what
torch computes itself.

Each module gives the results of many calls at once, since an export costs more than they do.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.corpus import reference_mismatch
from tests.frontends.torch.modules import ModuleCase, floats, of, whole
from tests.frontends.torch.running import exported, sample
from tests.sampling import representative
from webkiln.frontends.torch.framework import quiet

Calls = Callable[..., Iterator[Tensor]]
IMAGE = (floats(2, 4, 7, 8),)
FUNCTIONS = {
    1: (F.conv1d, F.conv_transpose1d),
    2: (F.conv2d, F.conv_transpose2d),
    3: (F.conv3d, F.conv_transpose3d),
}
TAPS, STRIDES, GAPS = (2, 3, 4), (2, 1, 3), (1, 3, 2)
"""Of each axis, all of them different from those of the others."""


@cache
def weights(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Tensor:
    """Made before a module is exported, which takes no generators of random numbers."""
    return floats(*shape, seed=seed, low=low, high=high)


def volume(count: int) -> tuple[Tensor]:
    return (floats(2, 4, *(7, 8, 9)[:count]),)


def convolutions(count: int) -> Calls:
    """Padding by number and by word, with kernels of even and odd sizes, dilated, in groups, with
    strides and a bias.
    """

    def calls(x: Tensor) -> Iterator[Tensor]:
        conv = FUNCTIONS[count][0]
        for groups, taps, gaps in product((1, 2, 4), (TAPS, TAPS[::-1]), ((1, 1, 1), GAPS)):
            w = weights(4, 4 // groups, *taps[:count], seed=groups)
            bias = weights(4, seed=9) if groups == 2 else None
            if all((tap - 1) * gap < 7 for tap, gap in zip(taps[:count], gaps, strict=False)):
                yield conv(
                    x,
                    w,
                    bias,
                    stride=STRIDES[:count],
                    padding="valid",
                    dilation=gaps[:count],
                    groups=groups,
                )
            yield conv(x, w, bias, padding="same", dilation=gaps[:count], groups=groups)
            yield conv(
                x,
                w,
                bias,
                stride=STRIDES[:count],
                padding=(3, 4, 2)[:count],
                dilation=gaps[:count],
                groups=groups,
            )
            yield conv(x[0], w, bias, padding="same", dilation=2, groups=groups)

    return calls


def transposed(count: int) -> Calls:
    def calls(x: Tensor) -> Iterator[Tensor]:
        conv = FUNCTIONS[count][1]
        for groups, gaps in product((1, 2, 4), ((1, 1, 1), GAPS)):
            w = weights(4, 2, *TAPS[:count], seed=groups)
            for padding, more in product(((0, 0, 0), (1, 0, 1)), ((0, 0, 0), (1, 0, 2))):
                bias = weights(2 * groups, seed=9) if any(padding) else None
                yield conv(
                    x, w, bias, STRIDES[:count], padding[:count], more[:count], groups, gaps[:count]
                )

    return calls


def pools(x: Tensor) -> Iterator[Tensor]:
    for ceil, padding in product((False, True), ((0, 0), (1, 0), (0, 1))):
        for stride in (None, (2, 3), (3, 1)):
            yield F.max_pool2d(x, (3, 2), stride, padding, 1, ceil_mode=ceil)
            yield F.max_pool2d(x, (3, 2), stride, padding, (1, 2), ceil_mode=ceil)
            for counted in (False, True):
                yield F.avg_pool2d(x, (3, 2), stride, padding, ceil, counted)
        yield from F.max_pool2d(x, (3, 2), (2, 1), padding, ceil_mode=ceil, return_indices=True)
    for divisor in (1, 3, 7):
        yield F.avg_pool2d(x, (3, 2), (2, 1), (1, 1), divisor_override=divisor)
    for size in ((1, 1), (3, 5), (7, 2), (None, 3), (4, None), (9, 11)):
        yield F.adaptive_avg_pool2d(x, size)
        yield F.adaptive_max_pool2d(x, size)


def pools_of_lines(x: Tensor) -> Iterator[Tensor]:
    flat = x.flatten(2)
    for ceil, stride, padding in product((False, True), (None, 2, 5), (0, 1)):
        yield F.max_pool1d(flat, 4, stride, padding, ceil_mode=ceil)
        yield F.avg_pool1d(flat, 4, stride, padding, ceil, count_include_pad=bool(padding))
    for size in (1, 3, 9):
        yield F.adaptive_avg_pool1d(flat, size)


def paddings(x: Tensor) -> Iterator[Tensor]:
    for mode in ("reflect", "replicate", "circular"):
        yield F.pad(x, (1, 2, 3, 0), mode)
        yield F.pad(x[0], (2, 3), mode)
        yield F.pad(x[:, :, None], (1, 0, 2, 1, 0, 0), mode)
    for value in (0.0, -1.5, float("inf")):
        yield F.pad(x, (1, 0, -2, 3, 0, 1), "constant", value)


def resizings(x: Tensor) -> Iterator[Tensor]:
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        aligned = (False, True) if mode.startswith("bi") else (None,)
        for corners in aligned:
            for size in ((3, 5), (14, 9)):
                yield F.interpolate(x, size=size, mode=mode, align_corners=corners)
            for factor, again in product(((2.0, 0.5), (1.3, 2.7)), (False, True)):
                yield F.interpolate(
                    x,
                    scale_factor=factor,
                    mode=mode,
                    align_corners=corners,
                    recompute_scale_factor=again,
                )
    for mode, corners in product(("bilinear", "bicubic"), (False, True)):
        yield F.interpolate(x, size=(4, 11), mode=mode, align_corners=corners, antialias=True)


def joined(x: Tensor) -> Iterator[Tensor]:
    """Joins of each rank, grids, and indices of several ranks."""
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


def samplings(x: Tensor) -> Iterator[Tensor]:
    grid = weights(2, 3, 5, 2, seed=4, low=-1.4, high=1.4)
    for mode, padding, corners in product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    ):
        yield F.grid_sample(x, grid, mode, padding, corners)
    theta = weights(2, 2, 3, seed=5)
    for corners in (False, True):
        yield F.affine_grid(theta + x.sum() * 0, [2, 1, 4, 3], align_corners=corners)


def reductions(x: Tensor) -> Iterator[Tensor]:
    for keep in (False, True):
        for dim in (0, 1, -1, (0, 2), (-3, 3)):
            yield x.sum(dim, keep)
            yield x.mean(dim, keep)
            yield x.amax(dim, keep)
            yield x.amin(dim, keep)
            yield x.logsumexp(dim, keep)
            for correction in (0, 1, 2):
                yield torch.var(x, dim, correction=correction, keepdim=keep)
                yield torch.std(x, dim, correction=correction, keepdim=keep)
            for order in (1, 3, 0, float("inf"), -float("inf")):
                yield torch.linalg.vector_norm(x, order, dim, keep)
        for dim in (0, 2, -1):
            yield x.prod(dim, keep)
            yield from x.max(dim, keep)
            yield from x.min(dim, keep)
            yield x.argmax(dim, keep)
            yield x.argmin(dim, keep)
            yield (x > 0).any(dim, keep)
            yield (x > 0).all(dim, keep)
            yield from x.median(dim, keep)
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


def losses_and_norms(x: Tensor) -> Iterator[Tensor]:
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
    """Of whole numbers of both signs, too, where rounding has a direction."""
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


def indexed(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    for dim in (0, 1, -1):
        picked = torch.tensor([2, 0, 1, 2])
        yield x.index_select(dim, picked)
        yield x.gather(dim, n.abs() % 4)
        yield x.scatter(dim, n.abs() % 4, x * 2 if dim else x)
        yield x.scatter_add(dim, n.abs() % 4, x)
        for alpha in (1, -2):
            yield x.index_add(dim, picked, x, alpha=alpha)
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


def blocks(x: Tensor) -> Iterator[Tensor]:
    for gap, padding, stride in product(((1, 1), (2, 1)), ((0, 0), (1, 2)), ((1, 1), (2, 3))):
        columns = F.unfold(x, (2, 3), gap, padding, stride)
        yield columns
        yield F.fold(columns, (7, 8), (2, 3), gap, padding, stride)
    for factor in (1, 2):
        yield F.pixel_shuffle(x, factor)
        yield F.pixel_unshuffle(x[:, :, :6], factor)
    for groups in (1, 2, 4):
        yield F.channel_shuffle(x, groups)


MATRIX = (floats(4, 4), whole(4, 4, low=-9, high=9))
MODULES: dict[str, tuple[Calls, tuple[Tensor, ...]]] = {
    **{f"convolutions {count}": (convolutions(count), volume(count)) for count in (1, 2, 3)},
    **{f"transposed {count}": (transposed(count), volume(count)) for count in (1, 2, 3)},
    "pools": (pools, IMAGE),
    "pools of lines": (pools_of_lines, IMAGE),
    "paddings": (paddings, IMAGE),
    "resizings": (resizings, IMAGE),
    "joined": (joined, IMAGE),
    "samplings": (samplings, IMAGE),
    "reductions": (reductions, IMAGE),
    "orders": (orders, IMAGE),
    "norms": (losses_and_norms, IMAGE),
    "activations": (activations, IMAGE),
    "arithmetic": (arithmetic, MATRIX),
    "indexed": (indexed, MATRIX),
    "blocks": (blocks, IMAGE),
}


OFTEN = (
    "convolutions 2",
    "transposed 2",
    "pools",
    "paddings",
    "resizings",
    "joined",
    "norms",
    "reductions",
    "orders",
    "activations",
    "arithmetic",
    "indexed",
    "blocks",
)


@pytest.mark.parametrize("name", representative(MODULES, *OFTEN))
def test_options(name: str) -> None:
    calls, inputs = MODULES[name]
    case = ModuleCase(of(lambda *args: tuple(calls(*args))), inputs)
    assert tuple(calls(*inputs))
    with quiet():
        found = sample(name, case, exported(case), inputs)
    assert len(found.outputs) >= 12
    assert reference_mismatch(found) is None


@pytest.mark.parametrize("width", [2, 4])
def test_same_padding_puts_the_odd_one_behind(width: int) -> None:
    case = ModuleCase(
        of(lambda x: F.conv1d(x, torch.ones(1, 1, width), padding="same")),
        (torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]),),
    )
    with quiet():
        found = sample("same", case, exported(case), case.inputs)
    ((_, y),) = found.outputs.items()
    assert y[0, 0].tolist() == {2: [3, 5, 7, 4], 4: [6, 10, 9, 7]}[width]
    assert reference_mismatch(found) is None
