"""Caffe's layers in numpy, in float64, written from what its documentation and its layers'
definitions
say they compute, window by window: the oracle of the tests where OpenCV lacks a layer or computes
it otherwise. Layers without weights are given seeded ones, so that it also makes weight files.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import ceil, floor, prod, sqrt
from typing import Any

import numpy as np

from webkiln.frontends.caffe.reference import weights_of
from webkiln.frontends.caffe.text import read_text

Blob = np.ndarray


class Net:
    """A definition in the words of the newest Caffe, with its weights by layer."""

    def __init__(self, text: str, seed: int = 0) -> None:
        self.message = read_text(text.encode(), "net").net
        self.rng = np.random.default_rng(seed)
        self.weights: dict[str, list[Blob]] = {}
        self.types = {layer.name: layer.type for layer in self.message.layer}

    def run(self, inputs: Mapping[str, Blob]) -> dict[str, Blob]:
        """Every blob as the last layer that makes it leaves it."""
        blobs = {name: value.astype(np.float64) for name, value in inputs.items()}
        for layer in self.message.layer:
            if layer.type == "Input":
                continue
            results = LAYERS[layer.type](Call(self, layer), *(blobs[name] for name in layer.bottom))
            results = results if isinstance(results, list) else [results]
            blobs |= zip(
                layer.top, (np.asarray(item, np.float64) for item in results), strict=False
            )
        return blobs

    def outputs(self, inputs: Mapping[str, Blob]) -> dict[str, Blob]:
        blobs = self.run(inputs)
        left: dict[str, None] = {}
        for layer in self.message.layer:
            for name in layer.bottom:
                left.pop(name, None)
            left |= dict.fromkeys(() if layer.type == "Input" else layer.top)
        return {name: blobs[name].astype(np.float32) for name in left}

    def weight_file(self) -> bytes:
        from webkiln.frontends.caffe.net import NetLayer

        return weights_of(
            tuple(
                NetLayer(
                    name,
                    self.types[name],
                    (),
                    (),
                    None,
                    tuple(blob.astype(np.float32) for blob in blobs),
                )
                for name, blobs in self.weights.items()
            )
        )


class Call:
    def __init__(self, net: Net, layer: Any) -> None:
        self.net, self.layer = net, layer

    def weight(
        self, place: int, shape: Sequence[int], low: float = -1.0, high: float = 1.0
    ) -> Blob:
        held = self.net.weights.setdefault(self.layer.name, [])
        if place == len(held):
            held.append(
                self.net.rng.uniform(low, high, tuple(shape)).astype(np.float32).astype(np.float64)
            )
        return held[place]


def pair(message: Any, stem: str, name: str, default: int, count: int = 2) -> list[int]:
    fields = message.DESCRIPTOR.fields_by_name
    if f"{stem}_h" in fields and (message.HasField(f"{stem}_h") or message.HasField(f"{stem}_w")):
        return [getattr(message, f"{stem}_h"), getattr(message, f"{stem}_w")]
    value = getattr(message, name)
    listed = list(value) if not isinstance(value, int) else [value]
    listed = listed or [default]
    return listed * count if len(listed) == 1 else listed


def convolution(call: Call, *xs: Blob, groups: int | None = None) -> list[Blob]:
    param, found = call.layer.convolution_param, []
    for x in xs:
        count = x.ndim - 2
        kernel = pair(param, "kernel", "kernel_size", 0, count)
        stride, pad, gap = (
            pair(param, "stride", "stride", 1, count),
            pair(param, "pad", "pad", 0, count),
            pair(param, "", "dilation", 1, count),
        )
        parts = groups or param.group
        parts = x.shape[1] if parts == -1 else parts
        inside, outside = x.shape[1] // parts, param.num_output // parts
        w = call.weight(0, (param.num_output, inside, *kernel))
        bias = (
            call.weight(1, (param.num_output,)) if param.bias_term else np.zeros(param.num_output)
        )
        wide = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
        sizes = [
            (n - (k - 1) * d - 1) // s + 1
            for n, k, d, s in zip(wide.shape[2:], kernel, gap, stride, strict=True)
        ]
        y = np.zeros((x.shape[0], param.num_output, *sizes))
        for place in product(*map(range, sizes)):
            window = wide[
                (
                    slice(None),
                    slice(None),
                    *(
                        slice(o * s, o * s + (k - 1) * d + 1, d)
                        for o, s, k, d in zip(place, stride, kernel, gap, strict=True)
                    ),
                )
            ]
            for g in range(parts):
                left, right = (
                    window[:, g * inside : (g + 1) * inside],
                    w[g * outside : (g + 1) * outside],
                )
                y[(slice(None), slice(g * outside, (g + 1) * outside), *place)] = (
                    left.reshape(len(x), -1) @ right.reshape(outside, -1).T
                )
        found.append(y + bias.reshape(1, -1, *[1] * count))
    return found


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
    groups, outside = param.group, param.num_output // param.group
    w = call.weight(0, (x.shape[1], outside, *kernel))
    bias = call.weight(1, (param.num_output,)) if param.bias_term else np.zeros(param.num_output)
    sizes = [
        (n - 1) * s + (k - 1) * d + 1
        for n, s, k, d in zip(x.shape[2:], stride, kernel, gap, strict=True)
    ]
    y = np.zeros((x.shape[0], param.num_output, *sizes))
    inside = x.shape[1] // groups
    for n, c, i, j in np.ndindex(*x.shape):
        for o, a, b in product(range(outside), range(kernel[0]), range(kernel[1])):
            y[
                n, c // inside * outside + o, i * stride[0] + a * gap[0], j * stride[1] + b * gap[1]
            ] += x[n, c, i, j] * w[c, o, a, b]
    return y[:, :, pad[0] : sizes[0] - pad[0], pad[1] : sizes[1] - pad[1]] + bias.reshape(
        1, -1, 1, 1
    )


def inner_product(call: Call, x: Blob) -> Blob:
    param = call.layer.inner_product_param
    axis = param.axis % x.ndim
    flat = x.reshape(prod(x.shape[:axis]), -1)
    w = call.weight(
        0,
        (flat.shape[1], param.num_output) if param.transpose else (param.num_output, flat.shape[1]),
    )
    y = flat @ (w if param.transpose else w.T)
    y = y + call.weight(1, (param.num_output,)) if param.bias_term else y
    return y.reshape(*x.shape[:axis], param.num_output)


def windows(
    x: Blob,
    kernel: Sequence[int],
    stride: Sequence[int],
    pad: Sequence[int],
    method: int,
    *,
    up: bool,
) -> tuple[Blob, Blob]:
    """Pooled, and the places of the largest elements; methods are MAX and AVE."""
    sizes = []
    for n, k, s, p in zip(x.shape[2:], kernel, stride, pad, strict=True):
        count = (ceil if up else floor)((n + 2 * p - k) / s) + 1
        if any(pad) and (count - 1) * s >= n + p:
            count -= 1
        sizes.append(count)
    y, places = np.zeros((*x.shape[:2], *sizes)), np.zeros((*x.shape[:2], *sizes))
    for i, j in np.ndindex(*sizes):
        begin = [place * s - p for place, s, p in zip((i, j), stride, pad, strict=True)]
        end = [
            min(b + k, n + p) for b, k, n, p in zip(begin, kernel, x.shape[2:], pad, strict=True)
        ]
        area = prod(e - b for b, e in zip(begin, end, strict=True))
        (top, left), (bottom, right) = (
            [max(b, 0) for b in begin],
            [min(e, n) for e, n in zip(end, x.shape[2:], strict=True)],
        )
        window = x[:, :, top:bottom, left:right]
        if method == 1:
            y[:, :, i, j] = window.sum((2, 3)) / area
        else:
            flat = window.reshape(*x.shape[:2], -1)
            y[:, :, i, j] = flat.max(-1)
            best = flat.argmax(-1)
            places[:, :, i, j] = (
                (top + best // (right - left)) * x.shape[3] + left + best % (right - left)
            )
    return y, places


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
    param, found = call.layer.spp_param, []
    for level in range(param.pyramid_height):
        bins = 2**level
        kernel = [ceil(n / bins) for n in x.shape[2:]]
        pad = [(k * bins - n + 1) // 2 for k, n in zip(kernel, x.shape[2:], strict=True)]
        found.append(windows(x, kernel, kernel, pad, param.pool, up=True)[0])
    return (
        found[0]
        if len(found) == 1
        else np.concatenate([item.reshape(len(x), -1) for item in found], 1)
    )


def lrn(call: Call, x: Blob) -> Blob:
    param = call.layer.lrn_param
    half = param.local_size // 2
    if param.norm_region == 0:
        wide = np.pad(x * x, [(0, 0), (half, half), (0, 0), (0, 0)])
        total = sum(wide[:, place : place + x.shape[1]] for place in range(param.local_size))
        return x * (param.k + param.alpha / param.local_size * total) ** -param.beta
    mean, _ = windows(x * x, (param.local_size,) * 2, (1, 1), (half, half), 1, up=True)
    return x * (1 + param.alpha * mean) ** -param.beta


def batch_norm(call: Call, x: Blob) -> Blob:
    shape = (1, -1, *[1] * (x.ndim - 2))
    if (
        call.layer.batch_norm_param.HasField("use_global_stats")
        and not call.layer.batch_norm_param.use_global_stats
    ):
        axes = tuple(axis for axis in range(x.ndim) if axis != 1)
        mean, variance = x.mean(axes), x.var(axes)
    else:
        mean, variance, factor = (
            call.weight(place, (size,), 0.5, 2.0)
            for place, size in enumerate((x.shape[1], x.shape[1], 1))
        )
        mean, variance = mean / factor, variance / factor
    return (x - mean.reshape(shape)) / np.sqrt(
        variance.reshape(shape) + call.layer.batch_norm_param.eps
    )


def placed(x: Blob, factor: Blob, axis: int) -> Blob:
    axis = axis % x.ndim if factor.ndim else 0
    return factor.reshape((1,) * axis + factor.shape + (1,) * (x.ndim - axis - factor.ndim))


def scale(call: Call, x: Blob, *given: Blob) -> Blob:
    param = call.layer.scale_param
    axis = param.axis % x.ndim
    shape = x.shape[axis:] if param.num_axes < 0 else x.shape[axis : axis + param.num_axes]
    factor = given[0] if given else call.weight(0, shape)
    y = x * placed(x, factor, axis)
    return (
        y + placed(x, call.weight(0 if given else 1, factor.shape), axis) if param.bias_term else y
    )


def bias(call: Call, x: Blob, *given: Blob) -> Blob:
    param = call.layer.bias_param
    axis = param.axis % x.ndim
    shape = x.shape[axis:] if param.num_axes < 0 else x.shape[axis : axis + param.num_axes]
    return x + placed(x, given[0] if given else call.weight(0, shape), axis)


def eltwise(call: Call, *xs: Blob) -> Blob:
    param = call.layer.eltwise_param
    if param.operation == 1:
        return sum(c * x for c, x in zip(param.coeff or [1] * len(xs), xs, strict=True))
    return np.prod(xs, 0) if param.operation == 0 else np.max(xs, 0)


def slice_(call: Call, x: Blob) -> list[Blob]:
    param = call.layer.slice_param
    axis = param.slice_dim if param.HasField("slice_dim") else param.axis
    return np.split(x, list(param.slice_point) or len(call.layer.top), axis)


def reshape(call: Call, x: Blob) -> Blob:
    param = call.layer.reshape_param
    first = param.axis if param.axis >= 0 else x.ndim + param.axis + 1
    last = x.ndim if param.num_axes < 0 else first + param.num_axes
    middle = [
        x.shape[first + place] if size == 0 else size for place, size in enumerate(param.shape.dim)
    ]
    return x.reshape(*x.shape[:first], *middle, *x.shape[last:])


def flatten(call: Call, x: Blob) -> Blob:
    first, last = call.layer.flatten_param.axis % x.ndim, call.layer.flatten_param.end_axis % x.ndim
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])


def reduction(call: Call, x: Blob) -> Blob:
    param = call.layer.reduction_param
    flat = x.reshape(*x.shape[: param.axis % x.ndim], -1)
    return param.coeff * {1: flat, 2: abs(flat), 3: flat**2, 4: flat / flat.shape[-1]}[
        param.operation
    ].sum(-1)


def argmax(call: Call, x: Blob) -> Blob:
    param = call.layer.argmax_param
    flat = x if param.HasField("axis") else x.reshape(len(x), -1)
    axis = param.axis if param.HasField("axis") else 1
    moved = np.moveaxis(flat, axis, -1)
    y = np.zeros((*moved.shape[:-1], param.top_k)), np.zeros((*moved.shape[:-1], param.top_k))
    for place in np.ndindex(*moved.shape[:-1]):
        order = sorted(
            ((value, number) for number, value in enumerate(moved[place])), reverse=True
        )[: param.top_k]
        y[0][place], y[1][place] = [number for _, number in order], [value for value, _ in order]
    places, values = (np.moveaxis(item, -1, axis) for item in y)
    if param.HasField("axis"):
        return values if param.out_max_val else places
    both = np.stack([places, values], 1) if param.out_max_val else places[:, None]
    return both.reshape(*both.shape, *[1] * (x.ndim - 3))


def mvn(call: Call, x: Blob) -> Blob:
    param = call.layer.mvn_param
    flat = (
        x.reshape(x.shape[0], -1)
        if param.across_channels
        else x.reshape(x.shape[0] * x.shape[1], -1)
    )
    y = flat - flat.mean(1, keepdims=True)
    if param.normalize_variance:
        y = y / (np.sqrt((y**2).mean(1, keepdims=True)) + param.eps)
    return y.reshape(x.shape)


def embed(call: Call, x: Blob) -> Blob:
    param = call.layer.embed_param
    y = call.weight(0, (param.input_dim, param.num_output))[x.astype(int)]
    return y + call.weight(1, (param.num_output,)) if param.bias_term else y


def crop(call: Call, x: Blob, like: Blob) -> Blob:
    param = call.layer.crop_param
    axis = param.axis % x.ndim
    for place in range(axis, x.ndim):
        start = (
            (param.offset[0] if len(param.offset) == 1 else param.offset[place - axis])
            if param.offset
            else 0
        )
        x = x.take(range(start, start + like.shape[place]), place)
    return x


def power(call: Call, x: Blob) -> Blob:
    param = call.layer.power_param
    return (param.shift + param.scale * x) ** param.power


def exponential(call: Call, x: Blob) -> Blob:
    param = call.layer.exp_param
    return (np.e if param.base == -1 else param.base) ** (param.shift + param.scale * x)


def logarithm(call: Call, x: Blob) -> Blob:
    param = call.layer.log_param
    return np.log(param.shift + param.scale * x) / (1 if param.base == -1 else np.log(param.base))


def softmax_of(x: Blob, axis: int) -> Blob:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


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
    wide = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    sizes = [
        (n - (k - 1) * d - 1) // s + 1
        for n, k, d, s in zip(wide.shape[2:], kernel, gap, stride, strict=True)
    ]
    y = np.zeros((len(x), x.shape[1] * prod(kernel), *sizes))
    for row, (c, a, b) in enumerate(product(range(x.shape[1]), *map(range, kernel))):
        for i, j in np.ndindex(*sizes):
            y[:, row, i, j] = wide[:, c, i * stride[0] + a * gap[0], j * stride[1] + b * gap[1]]
    return y


def sigmoid(x: Blob) -> Blob:
    return 1 / (1 + np.exp(-x))


def recurrent(call: Call, x: Blob, going: Blob, *more: Blob) -> list[Blob]:
    param, is_lstm = call.layer.recurrent_param, call.layer.type == "LSTM"
    size, names = param.num_output, 2 if is_lstm else 1
    width, states = size * (4 if is_lstm else 1), names if param.expose_hidden else 0
    flat = x.reshape(*x.shape[:2], -1)
    place = 2
    inputs = flat @ call.weight(0, (width, flat.shape[2])).T + call.weight(1, (width,))
    if len(more) > states:
        inputs = (
            inputs
            + more[0].reshape(len(more[0]), -1) @ call.weight(2, (width, prod(more[0].shape[1:]))).T
        )
        place = 3
    w = call.weight(place, (width, size))
    held = (
        [item[0] for item in more[len(more) - states :]]
        if states
        else [np.zeros((x.shape[1], size))] * names
    )
    shown = []
    for step in range(len(x)):
        mark = going[step][:, None]
        total = inputs[step] + (mark * held[0]) @ w.T
        if is_lstm:
            i, f, o, g = np.split(total, 4, 1)
            c = mark * sigmoid(f) * held[1] + sigmoid(i) * np.tanh(g)
            held = [sigmoid(o) * np.tanh(c), c]
            shown.append(held[0])
        else:
            held = [np.tanh(total)]
            shown.append(
                np.tanh(
                    held[0] @ call.weight(place + 1, (size, size)).T
                    + call.weight(place + 2, (size,))
                )
            )
    return [np.stack(shown), *(item[None] for item in held[:states])]


def interpolate(call: Call, x: Blob, *like: Blob) -> Blob:
    param = call.layer.interp_param
    for axis, asked in ((2, param.height), (3, param.width)):
        x = x.take(range(-param.pad_beg, x.shape[axis] + param.pad_end), axis)
        small = (x.shape[axis] - 1) // param.shrink_factor + 1
        size = (
            like[0].shape[axis] if like else asked or small + (small - 1) * (param.zoom_factor - 1)
        )
        at = np.arange(size) * ((x.shape[axis] - 1) / (size - 1) if size > 1 else 0)
        low = np.minimum(at.astype(int), x.shape[axis] - 1)
        part = (at - low).reshape([-1 if d == axis else 1 for d in range(4)])
        x = (
            x.take(low, axis) * (1 - part)
            + x.take(np.minimum(low + 1, x.shape[axis] - 1), axis) * part
        )
    return x


def upsample(call: Call, x: Blob, *places: Blob) -> Blob:
    param = call.layer.upsample_param
    if not places:
        return x.repeat(param.scale, 2).repeat(param.scale, 3)
    height = param.upsample_h or x.shape[2] * (param.scale_h or param.scale) - param.pad_out_h
    width = param.upsample_w or x.shape[3] * (param.scale_w or param.scale) - param.pad_out_w
    y = np.zeros((*x.shape[:2], height * width))
    for n, c, i, j in np.ndindex(*x.shape):
        y[n, c, int(places[0][n, c, i, j])] = x[n, c, i, j]
    return y.reshape(*x.shape[:2], height, width)


def shuffle(call: Call, x: Blob) -> Blob:
    groups = call.layer.shuffle_channel_param.group
    return x.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


def permute(call: Call, x: Blob) -> Blob:
    order = list(call.layer.permute_param.order)
    return x.transpose(order + [axis for axis in range(x.ndim) if axis not in order])


def normalize(call: Call, x: Blob) -> Blob:
    param = call.layer.norm_param
    axes = (1, 2, 3) if param.across_spatial else 1
    factor = call.weight(0, () if param.channel_shared else (x.shape[1],), 1.0, 20.0)
    return (
        x
        / np.sqrt((x**2).sum(axes, keepdims=True) + param.eps)
        * (factor if param.channel_shared else factor.reshape(1, -1, 1, 1))
    )


def prior_box(call: Call, grid: Blob, image: Blob) -> Blob:
    param = call.layer.prior_box_param
    ratios = [1.0]
    for ratio in param.aspect_ratio:
        if all(abs(ratio - other) >= 1e-6 for other in ratios):
            ratios += [ratio] + [1 / ratio] * param.flip
    height, width = (
        param.img_h or param.img_size or image.shape[2],
        param.img_w or param.img_size or image.shape[3],
    )
    down, along = (
        param.step_h or param.step or height / grid.shape[2],
        param.step_w or param.step or width / grid.shape[3],
    )
    boxes = []
    for row, column in np.ndindex(*grid.shape[2:]):
        x, y = (column + param.offset) * along, (row + param.offset) * down
        for number, smallest in enumerate(map(int, param.min_size)):
            sizes = [(smallest, smallest)]
            if param.max_size:
                sizes.append((sqrt(smallest * int(param.max_size[number])),) * 2)
            sizes += [
                (smallest * sqrt(ratio), smallest / sqrt(ratio))
                for ratio in ratios
                if abs(ratio - 1) >= 1e-6
            ]
            boxes += [
                (
                    (x - w / 2) / width,
                    (y - h / 2) / height,
                    (x + w / 2) / width,
                    (y + h / 2) / height,
                )
                for w, h in sizes
            ]
    flat = np.array(boxes).ravel()
    variances = list(param.variance) or [0.1]
    return np.stack([flat.clip(0, 1) if param.clip else flat, np.resize(variances, flat.size)])[
        None
    ]


def overlap(a: Blob, b: Blob) -> float:
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = prod(sides) if (sides > 0).all() else 0.0
    areas = [prod(box[2:] - box[:2]) if (box[2:] >= box[:2]).all() else 0.0 for box in (a, b)]
    return common / (sum(areas) - common) if common else 0.0


def detection_output(call: Call, location: Blob, confidence: Blob, priors: Blob) -> Blob:
    param = call.layer.detection_output_param
    labels, boxes = param.num_classes, priors[0, 0].reshape(-1, 4)
    spread = (
        np.ones_like(boxes) if param.variance_encoded_in_target else priors[0, 1].reshape(-1, 4)
    )
    location = location.reshape(len(location), len(boxes), -1, 4)
    scores = confidence.reshape(len(location), len(boxes), labels)
    rows = []
    for image in range(len(location)):
        found = []
        for label in range(labels):
            if label == param.background_label_id:
                continue
            delta = location[image, :, 0 if param.share_location else label] * spread
            size = boxes[:, 2:] - boxes[:, :2]
            if param.code_type == 2:
                centre = (boxes[:, :2] + boxes[:, 2:]) / 2 + delta[:, :2] * size
                half = np.exp(delta[:, 2:]) * size / 2
                made = np.concatenate([centre - half, centre + half], 1)
            else:
                made = boxes + delta * (np.tile(size, 2) if param.code_type == 3 else 1)
            row = scores[image, :, label]
            order = [
                n
                for n in np.argsort(-row, kind="stable")
                if not param.HasField("confidence_threshold") or row[n] > param.confidence_threshold
            ]
            if param.nms_param.HasField("top_k") and param.nms_param.top_k > -1:
                order = order[: param.nms_param.top_k]
            kept: list[int] = []
            for n in order:
                if all(
                    overlap(made[n], made[other]) <= param.nms_param.nms_threshold for other in kept
                ):
                    kept.append(n)
            found += [(image, label, row[n], *made[n]) for n in kept]
        if -1 < param.keep_top_k < len(found):
            best = sorted(range(len(found)), key=lambda n: -found[n][2])[: param.keep_top_k]
            found = [found[n] for n in sorted(best, key=lambda n: (found[n][1], -found[n][2]))]
        rows += found
    rows = rows or [(image, *[-1] * 6) for image in range(len(location))]
    return np.array(rows)[None, None]


def prelu(call: Call, x: Blob) -> Blob:
    shared = call.layer.prelu_param.channel_shared
    slope = call.weight(0, () if shared else (x.shape[1],))
    return np.maximum(x, 0) + placed(x, slope, 1) * np.minimum(x, 0)


def relu(call: Call, x: Blob) -> Blob:
    return np.maximum(x, 0) + call.layer.relu_param.negative_slope * np.minimum(x, 0)


def concat(call: Call, *xs: Blob) -> Blob:
    param = call.layer.concat_param
    return np.concatenate(xs, param.concat_dim if param.HasField("concat_dim") else param.axis)


LAYERS: dict[str, Callable[..., Blob | list[Blob]]] = {
    "Convolution": convolution,
    "Deconvolution": deconvolution,
    "InnerProduct": inner_product,
    "Pooling": pooling,
    "SPP": pyramid,
    "ConvolutionDepthwise": lambda call, *xs: convolution(call, *xs, groups=-1),
    "LRN": lrn,
    "BatchNorm": batch_norm,
    "Scale": scale,
    "DepthwiseConvolution": lambda call, *xs: convolution(call, *xs, groups=-1),
    "Bias": bias,
    "Eltwise": eltwise,
    "Concat": concat,
    "Slice": slice_,
    "Reshape": reshape,
    "Flatten": flatten,
    "Reduction": reduction,
    "ArgMax": argmax,
    "MVN": mvn,
    "Embed": embed,
    "Crop": crop,
    "Tile": lambda call, x: np.concatenate(
        [x] * call.layer.tile_param.tiles, call.layer.tile_param.axis
    ),
    "Power": power,
    "Exp": exponential,
    "Log": logarithm,
    "AbsVal": lambda call, x: abs(x),
    "BNLL": lambda call, x: np.logaddexp(x, 0),
    "PReLU": prelu,
    "ELU": lambda call, x: (
        np.maximum(x, 0) + call.layer.elu_param.alpha * np.expm1(np.minimum(x, 0))
    ),
    "ReLU": relu,
    "Sigmoid": lambda call, x: sigmoid(x),
    "TanH": lambda call, x: np.tanh(x),
    "ReLU6": lambda call, x: x.clip(0, 6),
    "Threshold": lambda call, x: x > call.layer.threshold_param.threshold,
    "Swish": lambda call, x: x * sigmoid(call.layer.swish_param.beta * x),
    "Clip": lambda call, x: x.clip(call.layer.clip_param.min, call.layer.clip_param.max),
    "Softmax": lambda call, x: softmax_of(x, call.layer.softmax_param.axis),
    "Im2col": im2col,
    "LSTM": recurrent,
    "RNN": recurrent,
    "BatchReindex": lambda call, x, places: x[places.ravel().astype(int)],
    "Dropout": lambda call, x: x,
    "Split": lambda call, x: [x] * len(call.layer.top),
    "Parameter": lambda call: call.weight(0, call.layer.parameter_param.shape.dim),
    "Interp": interpolate,
    "Upsample": upsample,
    "ShuffleChannel": shuffle,
    "Permute": permute,
    "Normalize": normalize,
    "PriorBox": prior_box,
    "DetectionOutput": detection_output,
    "Axpy": lambda call, a, x, y: a.reshape(*x.shape[:2], 1, 1) * x + y,
    "Silence": lambda call, *xs: [],
}
