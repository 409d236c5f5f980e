"""Options of powers, partial writes, spectra and attention."""

from collections.abc import Iterator
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.torch.cases import floats

EXPONENTS = (0, 1, 2, 3, 4, 5, -1, -2, 0.5, -0.5, 1.5, 2.0, 3.0)


def powers(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    """Some exponents have operators of their own, in which integers and booleans differ."""
    for exponent in EXPONENTS:
        yield (x.abs() + 0.25) ** exponent
        if exponent == int(exponent):
            yield x**exponent
    for exponent in (0, 1, 2, 3):
        yield n**exponent
        yield n.to(torch.int32) ** exponent
        yield (x > 0) ** exponent
    for base in (0.5, 1.0, 2.0, -2.0):
        yield torch.pow(base, n)
    yield torch.pow(x.abs(), x)
    yield torch.pow(n, n.abs() % 4)
    for alpha in (0, 1, 0.5):
        yield torch.add(x, x * x, alpha=alpha)
        yield torch.sub(x, x * x, alpha=alpha)
    yield x.sum().flatten()
    yield (x.sum() * 2).reshape(1, 1).flatten(1, 1)


def partial_writes(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    for dim, index in product((0, 1, -1), (0, 1, -1, -3)):
        yield x.select_scatter(x.select(dim, 0) * 2, dim, index)
        yield x.select(dim, index)
    for dim, (start, end, step) in product(
        (0, 1), ((0, 2, 1), (1, 4, 2), (-3, -1, 1), (-2, 99, 1), (None, None, 3))
    ):
        yield x.slice_scatter(torch.slice_copy(x, dim, start, end, step) * 3, dim, start, end, step)
    for value in (0.0, -1.5):
        yield x.masked_fill(n > 0, value)
        yield x.index_fill(0, torch.tensor([0, 3]), value)
        yield torch.fill(x, value)


def spectra(x: Tensor, n: Tensor) -> Iterator[Tensor]:
    """All normalizations, forward and inverse, of even and odd lengths."""
    del n
    for norm, length in product(("forward", "backward", "ortho"), (4, 6, 7)):
        spectrum = torch.fft.rfft(x, length, norm=norm)
        yield torch.view_as_real(spectrum)
        yield torch.fft.irfft(spectrum * 2, length, norm=norm)
        yield torch.view_as_real(torch.fft.fft(x, length, norm=norm))
        yield torch.view_as_real(torch.fft.ifft(spectrum, norm=norm))
    for norm in ("forward", "backward", "ortho"):
        yield torch.view_as_real(torch.fft.rfft2(x, norm=norm))
        yield torch.fft.irfft2(torch.fft.rfft2(x, norm=norm) * 2, norm=norm)


def attention(q: Tensor, k: Tensor) -> Iterator[Tensor]:
    """q [N, heads, T, D] and k [N, groups, S, D]."""
    few = k[:, :1]
    for scale in (None, 0.25, 2.0):
        for keys in (k, few):
            yield F.scaled_dot_product_attention(q, keys, keys, scale=scale, enable_gqa=True)
    for causal in (False, True):
        yield F.scaled_dot_product_attention(q, q, q, is_causal=causal)
        yield F.scaled_dot_product_attention(
            q, q[:, :2], q[:, :2], is_causal=causal, enable_gqa=True
        )
    mask = torch.arange(3)[:, None] >= torch.arange(5) - 1
    for rows in (mask, mask.float()):
        yield F.scaled_dot_product_attention(q, k, k, attn_mask=rows, enable_gqa=True)
        yield F.scaled_dot_product_attention(q[:, :2], k, k * 2, attn_mask=rows)
    yield F.scaled_dot_product_attention(q[:, :2], k, k)
    yield F.scaled_dot_product_attention(q[0, :2], k[0], k[0])


HEADS = (floats(2, 4, 3, 8), floats(2, 2, 5, 8, seed=1))
