"""Layers of the oracle over windows and positions of images."""

from collections.abc import Sequence
from itertools import product
from math import ceil, floor, prod

import numpy as np

from tests.frontends.caffe.layer_calls import Blob, Call, pair


def convolution(call: Call, *xs: Blob, groups: int | None = None) -> list[Blob]:
    param, outputs = call.layer.convolution_param, []
    for x in xs:
        count = x.ndim - 2
        kernel = pair(param, "kernel", "kernel_size", 0, count)
        stride, pad, gap = (
            pair(param, "stride", "stride", 1, count),
            pair(param, "pad", "pad", 0, count),
            pair(param, "", "dilation", 1, count),
        )
        group_count = groups or param.group
        group_count = x.shape[1] if group_count == -1 else group_count
        in_features, out_features = x.shape[1] // group_count, param.num_output // group_count
        w = call.weight(0, (param.num_output, in_features, *kernel))
        bias = (
            call.weight(1, (param.num_output,)) if param.bias_term else np.zeros(param.num_output)
        )
        padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
        sizes = [
            (n - (k - 1) * d - 1) // s + 1
            for n, k, d, s in zip(padded.shape[2:], kernel, gap, stride, strict=True)
        ]
        y = np.zeros((x.shape[0], param.num_output, *sizes))
        for position in product(*map(range, sizes)):
            window = padded[
                (
                    slice(None),
                    slice(None),
                    *(
                        slice(o * s, o * s + (k - 1) * d + 1, d)
                        for o, s, k, d in zip(position, stride, kernel, gap, strict=True)
                    ),
                )
            ]
            for g in range(group_count):
                left, right = (
                    window[:, g * in_features : (g + 1) * in_features],
                    w[g * out_features : (g + 1) * out_features],
                )
                y[(slice(None), slice(g * out_features, (g + 1) * out_features), *position)] = (
                    left.reshape(len(x), -1) @ right.reshape(out_features, -1).T
                )
        outputs.append(y + bias.reshape(1, -1, *[1] * count))
    return outputs


def deconvolution(call: Call, x: Blob) -> Blob:
    param = call.layer.convolution_param
    kernel, stride, pad, gap = (
        pair(param, *names)
        for names in (
            ("kernel", "kernel_size", 0),
            ("stride", "stride", 1),
            ("pad", "pad", 0),
            ("", "dilation", 1),
        )
    )
    groups, out_features = param.group, param.num_output // param.group
    w = call.weight(0, (x.shape[1], out_features, *kernel))
    bias = call.weight(1, (param.num_output,)) if param.bias_term else np.zeros(param.num_output)
    sizes = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(x.shape[2:], stride, kernel, gap, strict=True)
    ]
    y = np.zeros((x.shape[0], param.num_output, *sizes))
    in_features = x.shape[1] // groups
    for n, c, i, j in np.ndindex(*x.shape):
        for o, a, b in product(range(out_features), range(kernel[0]), range(kernel[1])):
            y[
                n,
                c // in_features * out_features + o,
                i * stride[0] + a * gap[0],
                j * stride[1] + b * gap[1],
            ] += x[n, c, i, j] * w[c, o, a, b]
    return y[:, :, pad[0] : sizes[0] - pad[0], pad[1] : sizes[1] - pad[1]] + bias.reshape(
        1, -1, 1, 1
    )


def windows(
    x: Blob,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    method: int,
    *,
    up: bool,
) -> tuple[Blob, Blob]:
    """The pooled elements, and the indices of the maxima. `method`: 0 is MAX, 1 is AVE."""
    sizes = []
    for n, k, s, p in zip(x.shape[2:], kernel, stride, pad, strict=True):
        count = (ceil if up else floor)((n + 2 * p - k) / s) + 1
        if any(pad) and (count - 1) * s >= n + p:
            count -= 1
        sizes.append(count)
    y, indices = np.zeros((*x.shape[:2], *sizes)), np.zeros((*x.shape[:2], *sizes))
    for i, j in np.ndindex(*sizes):
        start = [position * s - p for position, s, p in zip((i, j), stride, pad, strict=True)]
        end = [
            min(b + k, n + p) for b, k, n, p in zip(start, kernel, x.shape[2:], pad, strict=True)
        ]
        area = prod(e - b for b, e in zip(start, end, strict=True))
        (top, left), (bottom, right) = (
            [max(b, 0) for b in start],
            [min(e, n) for e, n in zip(end, x.shape[2:], strict=True)],
        )
        window = x[:, :, top:bottom, left:right]
        if method == 1:
            y[:, :, i, j] = window.sum((2, 3)) / area
        else:
            flat = window.reshape(*x.shape[:2], -1)
            y[:, :, i, j] = flat.max(-1)
            best = flat.argmax(-1)
            indices[:, :, i, j] = (
                (top + best // (right - left)) * x.shape[3] + left + best % (right - left)
            )
    return y, indices


def pooling(call: Call, x: Blob) -> list[Blob]:
    param = call.layer.pooling_param
    if param.global_pooling:
        return [x.mean((2, 3), keepdims=True) if param.pool == 1 else x.max((2, 3), keepdims=True)]
    kernel, stride, pad = (
        pair(param, *names)
        for names in (("kernel", "kernel_size", 0), ("stride", "stride", 1), ("pad", "pad", 0))
    )
    return list(
        windows(x, kernel, stride, pad, param.pool, up=param.round_mode == 0 and param.ceil_mode)
    )


def pyramid(call: Call, x: Blob) -> Blob:
    param, levels = call.layer.spp_param, []
    for level in range(param.pyramid_height):
        bins = 2**level
        kernel = [ceil(n / bins) for n in x.shape[2:]]
        pad = [(k * bins - n + 1) // 2 for k, n in zip(kernel, x.shape[2:], strict=True)]
        levels.append(windows(x, kernel, kernel, pad, param.pool, up=True)[0])
    return (
        levels[0]
        if len(levels) == 1
        else np.concatenate([item.reshape(len(x), -1) for item in levels], 1)
    )


def lrn(call: Call, x: Blob) -> Blob:
    param = call.layer.lrn_param
    half = param.local_size // 2
    if param.norm_region == 0:
        padded = np.pad(x * x, [(0, 0), (half, half), (0, 0), (0, 0)])
        total = sum(padded[:, offset : offset + x.shape[1]] for offset in range(param.local_size))
        return x * (param.k + param.alpha / param.local_size * total) ** -param.beta
    mean, _ = windows(x * x, (param.local_size,) * 2, (1, 1), (half, half), 1, up=True)
    return x * (1 + param.alpha * mean) ** -param.beta


def im2col(call: Call, x: Blob) -> Blob:
    param = call.layer.convolution_param
    kernel, stride, pad, gap = (
        pair(param, *names)
        for names in (
            ("kernel", "kernel_size", 0),
            ("stride", "stride", 1),
            ("pad", "pad", 0),
            ("", "dilation", 1),
        )
    )
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(padded.shape[2:], kernel, gap, stride, strict=True)
    ]
    y = np.zeros((len(x), x.shape[1] * prod(kernel), *sizes))
    for row, (c, a, b) in enumerate(product(range(x.shape[1]), *map(range, kernel))):
        for i, j in np.ndindex(*sizes):
            y[:, row, i, j] = padded[:, c, i * stride[0] + a * gap[0], j * stride[1] + b * gap[1]]
    return y


def interpolate(call: Call, x: Blob, *like: Blob) -> Blob:
    param = call.layer.interp_param
    for axis, requested in ((2, param.height), (3, param.width)):
        x = x.take(range(-param.pad_beg, x.shape[axis] + param.pad_end), axis)
        small = (x.shape[axis] - 1) // param.shrink_factor + 1
        size = (
            like[0].shape[axis]
            if like
            else requested or small + (small - 1) * (param.zoom_factor - 1)
        )
        at = np.arange(size) * ((x.shape[axis] - 1) / (size - 1) if size > 1 else 0)
        low = np.minimum(at.astype(int), x.shape[axis] - 1)
        part = (at - low).reshape([-1 if d == axis else 1 for d in range(4)])
        x = (
            x.take(low, axis) * (1 - part)
            + x.take(np.minimum(low + 1, x.shape[axis] - 1), axis) * part
        )
    return x


def upsample(call: Call, x: Blob, *indices: Blob) -> Blob:
    param = call.layer.upsample_param
    if not indices:
        return x.repeat(param.scale, 2).repeat(param.scale, 3)
    height = param.upsample_h or x.shape[2] * (param.scale_h or param.scale) - param.pad_out_h
    width = param.upsample_w or x.shape[3] * (param.scale_w or param.scale) - param.pad_out_w
    y = np.zeros((*x.shape[:2], height * width))
    for n, c, i, j in np.ndindex(*x.shape):
        y[n, c, int(indices[0][n, c, i, j])] = x[n, c, i, j]
    return y.reshape(*x.shape[:2], height, width)
