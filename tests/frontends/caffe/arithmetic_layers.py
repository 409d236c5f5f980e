"""Layers of the oracle that compute with elements, matrices and states."""

from math import prod

import numpy as np

from tests.frontends.caffe.layer_calls import Blob, Call, aligned, sigmoid


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
            call.weight(index, (size,), 0.5, 2.0)
            for index, size in enumerate((x.shape[1], x.shape[1], 1))
        )
        mean, variance = mean / factor, variance / factor
    return (x - mean.reshape(shape)) / np.sqrt(
        variance.reshape(shape) + call.layer.batch_norm_param.eps
    )


def scale(call: Call, x: Blob, *factors: Blob) -> Blob:
    param = call.layer.scale_param
    axis = param.axis % x.ndim
    shape = x.shape[axis:] if param.num_axes < 0 else x.shape[axis : axis + param.num_axes]
    factor = factors[0] if factors else call.weight(0, shape)
    y = x * aligned(x, factor, axis)
    return (
        y + aligned(x, call.weight(0 if factors else 1, factor.shape), axis)
        if param.bias_term
        else y
    )


def bias(call: Call, x: Blob, *offsets: Blob) -> Blob:
    param = call.layer.bias_param
    axis = param.axis % x.ndim
    shape = x.shape[axis:] if param.num_axes < 0 else x.shape[axis : axis + param.num_axes]
    return x + aligned(x, offsets[0] if offsets else call.weight(0, shape), axis)


def eltwise(call: Call, *xs: Blob) -> Blob:
    param = call.layer.eltwise_param
    if param.operation == 1:
        return sum(c * x for c, x in zip(param.coeff or [1] * len(xs), xs, strict=True))
    return np.prod(xs, 0) if param.operation == 0 else np.max(xs, 0)


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


def recurrent(call: Call, x: Blob, continues: Blob, *more: Blob) -> list[Blob]:
    param, is_lstm = call.layer.recurrent_param, call.layer.type == "LSTM"
    size, names = param.num_output, 2 if is_lstm else 1
    width, state_count = size * (4 if is_lstm else 1), names if param.expose_hidden else 0
    flat = x.reshape(*x.shape[:2], -1)
    index = 2
    inputs = flat @ call.weight(0, (width, flat.shape[2])).T + call.weight(1, (width,))
    if len(more) > state_count:
        inputs = (
            inputs
            + more[0].reshape(len(more[0]), -1) @ call.weight(2, (width, prod(more[0].shape[1:]))).T
        )
        index = 3
    w = call.weight(index, (width, size))
    states = (
        [item[0] for item in more[len(more) - state_count :]]
        if state_count
        else [np.zeros((x.shape[1], size))] * names
    )
    outputs = []
    for step in range(len(x)):
        mask = continues[step][:, None]
        total = inputs[step] + (mask * states[0]) @ w.T
        if is_lstm:
            i, f, o, g = np.split(total, 4, 1)
            c = mask * sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
            states = [sigmoid(o) * np.tanh(c), c]
            outputs.append(states[0])
        else:
            states = [np.tanh(total)]
            outputs.append(
                np.tanh(
                    states[0] @ call.weight(index + 1, (size, size)).T
                    + call.weight(index + 2, (size,))
                )
            )
    return [np.stack(outputs), *(item[None] for item in states[:state_count])]


def normalize(call: Call, x: Blob) -> Blob:
    param = call.layer.norm_param
    axes = (1, 2, 3) if param.across_spatial else 1
    factor = call.weight(0, () if param.channel_shared else (x.shape[1],), 1.0, 20.0)
    return (
        x
        / np.sqrt((x**2).sum(axes, keepdims=True) + param.eps)
        * (factor if param.channel_shared else factor.reshape(1, -1, 1, 1))
    )


def prelu(call: Call, x: Blob) -> Blob:
    shared = call.layer.prelu_param.channel_shared
    slope = call.weight(0, () if shared else (x.shape[1],))
    return np.maximum(x, 0) + aligned(x, slope, 1) * np.minimum(x, 0)


def relu(call: Call, x: Blob) -> Blob:
    return np.maximum(x, 0) + call.layer.relu_param.negative_slope * np.minimum(x, 0)
