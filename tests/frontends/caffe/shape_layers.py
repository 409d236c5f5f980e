"""Layers of the oracle that move, select and reduce elements."""

import numpy as np

from tests.frontends.caffe.layer_calls import Blob, Call


def slice_(call: Call, x: Blob) -> list[Blob]:
    param = call.layer.slice_param
    axis = param.slice_dim if param.HasField("slice_dim") else param.axis
    return np.split(x, list(param.slice_point) or len(call.layer.top), axis)


def reshape(call: Call, x: Blob) -> Blob:
    param = call.layer.reshape_param
    first = param.axis if param.axis >= 0 else x.ndim + param.axis + 1
    last = x.ndim if param.num_axes < 0 else first + param.num_axes
    middle = [
        x.shape[first + index] if size == 0 else size for index, size in enumerate(param.shape.dim)
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
    for position in np.ndindex(*moved.shape[:-1]):
        order = sorted(
            ((value, number) for number, value in enumerate(moved[position])), reverse=True
        )[: param.top_k]
        y[0][position], y[1][position] = (
            [number for _, number in order],
            [value for value, _ in order],
        )
    indices, values = (np.moveaxis(item, -1, axis) for item in y)
    if param.HasField("axis"):
        return values if param.out_max_val else indices
    both = np.stack([indices, values], 1) if param.out_max_val else indices[:, None]
    return both.reshape(*both.shape, *[1] * (x.ndim - 3))


def crop(call: Call, x: Blob, like: Blob) -> Blob:
    param = call.layer.crop_param
    axis = param.axis % x.ndim
    for dim in range(axis, x.ndim):
        start = (
            (param.offset[0] if len(param.offset) == 1 else param.offset[dim - axis])
            if param.offset
            else 0
        )
        x = x.take(range(start, start + like.shape[dim]), dim)
    return x


def shuffle(call: Call, x: Blob) -> Blob:
    groups = call.layer.shuffle_channel_param.group
    return x.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape)


def permute(call: Call, x: Blob) -> Blob:
    order = list(call.layer.permute_param.order)
    return x.transpose(order + [axis for axis in range(x.ndim) if axis not in order])


def concat(call: Call, *xs: Blob) -> Blob:
    param = call.layer.concat_param
    return np.concatenate(xs, param.concat_dim if param.HasField("concat_dim") else param.axis)
