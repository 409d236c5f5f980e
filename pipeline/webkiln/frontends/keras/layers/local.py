"""LocallyConnected1D and 2D of Keras 1 and 2: convolutions with a separate kernel for each output
position.
"""

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.ir.dim import is_symbolic, known_shape
from webkiln.ir.types import Array
from webkiln.ops.builder import Tensor
from webkiln.ops.functional.windows import sizes


@dataclass(frozen=True, slots=True)
class Windows:
    """The elements that each output position reads: `indices` [positions, window], -1 outside."""

    spatial: tuple[int, ...]
    out: tuple[int, ...]
    indices: Array


def locally_connected(converter: Converter, layer: Layer) -> None:
    x = converter.get_variable(converter.get_input_tensor(layer)[0])
    b, rank, first = (
        converter.builder,
        x.type.rank,
        layer.config.get("data_format") == "channels_first",
    )
    if any(is_symbolic(size) for size in x.shape[1:]):
        raise layer.error(
            f"has a kernel for each position, so the sizes of x, {list(x.shape)}, must be numbers"
        )
    if first:
        x = b.op("Transpose", [x], {"perm": (0, *range(2, rank), 1)})
    batch, *rest = x.shape
    *spatial, channels = known_shape(rest, "x")
    windows = _windows(layer, tuple(spatial))
    kernel = _kernel(converter, layer, windows, channels, first=first)
    count, window = windows.indices.shape
    filters = kernel.shape[-1]
    flat = b.op("Reshape", [x], {"shape": (batch, prod(spatial), channels)})
    patches = b.op(
        "Gather",
        [flat, b.constant(np.maximum(windows.indices, 0).ravel().astype("int32"))],
        {"axis": 1},
    )
    patches = b.op("Reshape", [patches], {"shape": (batch, count, window, channels)})
    y = b.op("Einsum", [patches, kernel], {"equation": "npkc,pkcf->npf"})
    y = b.op(
        "Reshape",
        [y],
        {"shape": (batch, *windows.out, filters)},
        None if first else converter.order(rank),
    )
    if first:
        y = b.op(
            "Transpose", [y], {"perm": (0, rank - 1, *range(1, rank - 1))}, converter.order(rank)
        )
    if layer.config.get("use_bias", True):
        bias = layer.weight("bias")
        if prod(bias.shape) != prod(y.shape[1:]):
            raise layer.error(f"the bias is {list(bias.shape)}, the output {list(y.shape)}")
        # With channels first, Keras reads the bias [positions, filters] as [filters, positions],
        # without a transposition.
        y = b.op(
            "Add",
            [
                y,
                b.op(
                    "Reshape",
                    [converter.convert_to_constant_variable(bias)],
                    {"shape": y.shape[1:]},
                ),
            ],
        )
    converter.set_variable(converter.get_output_tensor(layer)[0], activate(b, layer, y))


def _windows(layer: Layer, spatial: tuple[int, ...]) -> Windows:
    """Windows start at multiples of the strides; with padding `same`, half a window earlier."""
    window, steps = (
        sizes(layer.config.get(name, 1), len(spatial)) for name in ("kernel_size", "strides")
    )
    padding = layer.config.get("padding", "valid")
    if padding not in {"valid", "same"}:
        raise layer.unsupported(f"padding {padding!r}", "There are valid and same")
    extents = [
        size if padding == "same" else size - span + 1
        for size, span in zip(spatial, window, strict=True)
    ]
    out = tuple(-(-size // step) for size, step in zip(extents, steps, strict=True))
    if min(out) < 1:
        raise layer.error(f"its window {list(window)} is larger than x, {list(spatial)}")
    indices = []
    for position in product(*map(range, out)):
        starts = [
            at * step - (span // 2 if padding == "same" else 0)
            for at, step, span in zip(position, steps, window, strict=True)
        ]
        axes = [np.arange(start, start + span) for start, span in zip(starts, window, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(spatial))
        inside = ((grid >= 0) & (grid < spatial)).all(-1)
        indices.append(
            np.where(
                inside, np.ravel_multi_index(tuple(np.maximum(grid, 0).T), spatial, mode="clip"), -1
            )
        )
    return Windows(spatial, out, np.stack(indices))


def _kernel(
    converter: Converter, layer: Layer, windows: Windows, channels: int, *, first: bool
) -> Tensor:
    """The kernel [positions, window, channels, filters]: as stored by implementation 1; from the
    full matrix of input and output elements, which implementation 2 stores; or from the used
    elements of this matrix, which implementation 3 stores.
    """
    weight, b = layer.weight("kernel"), converter.builder
    kernel, filters = converter.convert_to_constant_variable(weight), layer.config["filters"]
    count, window = windows.indices.shape
    kind = layer.config.get("implementation", 1)
    shapes: dict[int, tuple[int, ...]] = {
        1: (count, window * channels, filters),
        2: (
            (channels, *windows.spatial, filters, *windows.out)
            if first
            else (*windows.spatial, channels, *windows.out, filters)
        ),
        3: (int((windows.indices >= 0).sum()) * channels * filters,),
    }
    if weight.shape != shapes.get(kind):
        raise layer.error(
            f"the kernel is {list(weight.shape)}, implementation {kind} needs"
            f" {list(shapes.get(kind, ()))}"
        )
    if kind == 1:
        split = (count, channels, window, filters) if first else (count, window, channels, filters)
        kernel = b.op("Reshape", [kernel], {"shape": split})
        return b.op("Transpose", [kernel], {"perm": (0, 2, 1, 3)}) if first else kernel
    rows, columns = _rows_and_columns(windows, channels, filters, first=first)
    total = prod(windows.spatial) * channels
    outside = np.broadcast_to((windows.indices < 0)[:, :, None, None], rows.shape)
    if kind == 2:
        at = rows * (count * filters) + columns
    else:
        at = np.zeros(rows.shape, np.int64)
        at[~outside] = np.argsort(np.argsort((columns * total + rows)[~outside]))
    used = b.op("Reshape", [kernel], {"shape": (prod(weight.shape),)})
    used = b.op("Gather", [used, b.constant(np.where(outside, 0, at).astype("int32"))], {"axis": 0})
    return (
        b.op("Mul", [used, b.constant((~outside).astype(kernel.dtype))]) if outside.any() else used
    )


def _rows_and_columns(
    windows: Windows, channels: int, filters: int, *, first: bool
) -> tuple[Array, Array]:
    """The indices of the input and output elements, in row-major order, that each kernel element
    [position, window, channel, filter] connects.
    """
    count = len(windows.indices)
    index, position = (
        windows.indices[:, :, None, None].astype(np.int64),
        np.arange(count)[:, None, None, None],
    )
    channel, filter_ = np.arange(channels)[:, None], np.arange(filters)
    rows = channel * prod(windows.spatial) + index if first else index * channels + channel
    columns = filter_ * count + position if first else position * filters + filter_
    shape = (*windows.indices.shape, channels, filters)
    return np.broadcast_to(rows, shape), np.broadcast_to(columns, shape)
