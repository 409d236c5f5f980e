"""LocallyConnected1D and 2D of Keras 1 and 2: convolutions with a separate kernel for each output
position.
"""

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from webkiln.frontends.keras.layer import Converter, Layer
from webkiln.frontends.keras.layers.activations import activate
from webkiln.frontends.keras.windows import sizes
from webkiln.ir.dim import is_symbolic
from webkiln.ir.types import Array
from webkiln.ops.builder import Tensor


@dataclass(frozen=True, slots=True)
class Places:
    """The elements that each output position reads: `seen` [places, window] are their indices, -1
    outside.
    """

    given: tuple[int, ...]
    out: tuple[int, ...]
    seen: Array


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
    batch, *given, channels = x.shape
    places = _places(layer, tuple(given))
    kernel = _kernel(converter, layer, places, channels, first=first)
    count, window = places.seen.shape
    filters = kernel.shape[-1]
    flat = b.op("Reshape", [x], {"shape": (batch, prod(given), channels)})
    patches = b.op(
        "Gather",
        [flat, b.constant(np.maximum(places.seen, 0).ravel().astype("int32"))],
        {"axis": 1},
    )
    patches = b.op("Reshape", [patches], {"shape": (batch, count, window, channels)})
    y = b.op("Einsum", [patches, kernel], {"equation": "npkc,pkcf->npf"})
    y = b.op(
        "Reshape",
        [y],
        {"shape": (batch, *places.out, filters)},
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
        # With channels first, Keras reads the bias [places, filters] as [filters, places], without
        # a transposition.
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


def _places(layer: Layer, given: tuple[int, ...]) -> Places:
    """Windows start at multiples of the strides; with padding `same`, half a window earlier."""
    window, steps = (
        sizes(layer.config.get(name, 1), len(given)) for name in ("kernel_size", "strides")
    )
    padding = layer.config.get("padding", "valid")
    if padding not in {"valid", "same"}:
        raise layer.unsupported(f"padding {padding!r}", "There are valid and same")
    whole = [
        size if padding == "same" else size - span + 1
        for size, span in zip(given, window, strict=True)
    ]
    out = tuple(-(-size // step) for size, step in zip(whole, steps, strict=True))
    if min(out) < 1:
        raise layer.error(f"its window {list(window)} is larger than x, {list(given)}")
    seen = []
    for place in product(*map(range, out)):
        starts = [
            at * step - (span // 2 if padding == "same" else 0)
            for at, step, span in zip(place, steps, window, strict=True)
        ]
        axes = [np.arange(start, start + span) for start, span in zip(starts, window, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(given))
        inside = ((grid >= 0) & (grid < given)).all(-1)
        seen.append(
            np.where(
                inside, np.ravel_multi_index(tuple(np.maximum(grid, 0).T), given, mode="clip"), -1
            )
        )
    return Places(given, out, np.stack(seen))


def _kernel(
    converter: Converter, layer: Layer, places: Places, channels: int, *, first: bool
) -> Tensor:
    """The kernel [places, window, channels, filters]: as stored by implementation 1; from the full
    matrix of input and output elements, which implementation 2 stores; or from the used elements of
    this matrix, which implementation 3 stores.
    """
    weight, b = layer.weight("kernel"), converter.builder
    kernel, filters = converter.convert_to_constant_variable(weight), layer.config["filters"]
    count, window = places.seen.shape
    kind = layer.config.get("implementation", 1)
    wanted: dict[int, tuple[int, ...]] = {
        1: (count, window * channels, filters),
        2: (
            (channels, *places.given, filters, *places.out)
            if first
            else (*places.given, channels, *places.out, filters)
        ),
        3: (int((places.seen >= 0).sum()) * channels * filters,),
    }
    if weight.shape != wanted.get(kind):
        raise layer.error(
            f"the kernel is {list(weight.shape)}, implementation {kind} needs"
            f" {list(wanted.get(kind, ()))}"
        )
    if kind == 1:
        split = (count, channels, window, filters) if first else (count, window, channels, filters)
        kernel = b.op("Reshape", [kernel], {"shape": split})
        return b.op("Transpose", [kernel], {"perm": (0, 2, 1, 3)}) if first else kernel
    rows, columns = _rows_and_columns(places, channels, filters, first=first)
    total = prod(places.given) * channels
    unseen = np.broadcast_to((places.seen < 0)[:, :, None, None], rows.shape)
    if kind == 2:
        at = rows * (count * filters) + columns
    else:
        at = np.zeros(rows.shape, np.int64)
        at[~unseen] = np.argsort(np.argsort((columns * total + rows)[~unseen]))
    used = b.op("Reshape", [kernel], {"shape": (prod(weight.shape),)})
    used = b.op("Gather", [used, b.constant(np.where(unseen, 0, at).astype("int32"))], {"axis": 0})
    return b.op("Mul", [used, b.constant((~unseen).astype(kernel.dtype))]) if unseen.any() else used


def _rows_and_columns(
    places: Places, channels: int, filters: int, *, first: bool
) -> tuple[Array, Array]:
    """The indices of the input and output elements, in row-major order, that each kernel element
    [place, window, channel, filter] connects.
    """
    count = len(places.seen)
    seen, place = (
        places.seen[:, :, None, None].astype(np.int64),
        np.arange(count)[:, None, None, None],
    )
    channel, filter_ = np.arange(channels)[:, None], np.arange(filters)
    rows = channel * prod(places.given) + seen if first else seen * channels + channel
    columns = filter_ * count + place if first else place * filters + filter_
    shape = (*places.seen.shape, channels, filters)
    return np.broadcast_to(rows, shape), np.broadcast_to(columns, shape)
