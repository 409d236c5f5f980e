"""Matrix products, attention, spectra and core operators."""

import torch
import torch.nn.functional as F
from torch import Tensor


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


def attention_products(q: Tensor, k: Tensor, m: Tensor) -> tuple[Tensor, ...]:
    return (
        F.scaled_dot_product_attention(q, k, k),
        F.scaled_dot_product_attention(q, k, k, attn_mask=m),
        F.scaled_dot_product_attention(q, q, q, is_causal=True),
        F.scaled_dot_product_attention(q, k, k, scale=0.3),
        F.scaled_dot_product_attention(q, k, k, attn_mask=m.float()),
    )


def core_operators(x: Tensor) -> tuple[Tensor, ...]:
    """Core operators that no module of torch.nn calls directly."""
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
        a._int_mm((9 * y[0]).to(torch.int8), (9 * y[1].T).to(torch.int8)),
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
