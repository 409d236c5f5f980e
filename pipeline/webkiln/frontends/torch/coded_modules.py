"""Modules whose weights stay quantized: they have codes and scales as parameters, and compute a
weight whenever it is read.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor, nn

from webkiln.frontends.torch.block_weights import BYTE, BlockWeights, Plane, steps
from webkiln.ir.types import Array

LIBRARY = torch.library.Library("webkiln", "DEF")
"""Operators of exported programs that ATen lacks."""
COPIED = (nn.RNNBase,)
"""Modules that read their weights in other ways than as attributes."""
Read = Callable[[nn.Module], Tensor]


def unpack_bits(x: Tensor, bits: int) -> Tensor:
    """The numbers of `bits` bits in bytes, lowest first: uint8 [..., n] to [..., 8 n / bits]."""
    shifts = torch.arange(0, BYTE, bits, dtype=torch.uint8)
    parts = (x.unsqueeze(-1) >> shifts) & ((1 << bits) - 1)
    return parts.reshape(*x.shape[:-1], x.shape[-1] * (BYTE // bits))


def repeat_blocks(x: Tensor, times: int, size: int) -> Tensor:
    """Each element `times` times along the last axis, up to `size` elements."""
    return x.repeat_interleave(times, -1)[..., :size].contiguous()


def take(x: Tensor, numbers: Tensor) -> Tensor:
    """The elements of x at indices of its last axis, by which `numbers` of any shape replace it."""
    return x[..., numbers.long()]


def _resized(x: Tensor, *sizes: int) -> Tensor:
    return x.new_empty(*x.shape[:-1], *sizes)


LIBRARY.define("unpack_bits(Tensor x, int bits) -> Tensor")
LIBRARY.define("repeat_blocks(Tensor x, int times, int size) -> Tensor")
LIBRARY.define("take(Tensor x, Tensor numbers) -> Tensor")
LIBRARY.impl("unpack_bits", unpack_bits, "CPU")
LIBRARY.impl("repeat_blocks", repeat_blocks, "CPU")
LIBRARY.impl("take", take, "CPU")
torch.library.register_fake(
    "webkiln::unpack_bits",
    lambda x, bits: _resized(x, x.shape[-1] * (BYTE // bits)),
    lib=LIBRARY,
)
torch.library.register_fake(
    "webkiln::repeat_blocks", lambda x, times, size: _resized(x, size), lib=LIBRARY
)
torch.library.register_fake(
    "webkiln::take", lambda x, numbers: _resized(x, *numbers.shape), lib=LIBRARY
)


def keep_codes(module: nn.Module, weights: Mapping[str, BlockWeights]) -> None:
    """Replace parameters by codes and scales. `weights`: by the name of the parameter; equal values
    are stored once.
    """
    first: dict[int, tuple[nn.Module, str]] = {}
    for name, item in weights.items():
        path, _, leaf = name.rpartition(".")
        owner = module.get_submodule(path)
        if isinstance(getattr(owner, leaf), nn.Parameter) and not isinstance(owner, COPIED):
            source = first.setdefault(id(item), (owner, leaf))
            _replace(owner, leaf, item, *source)


def _replace(
    owner: nn.Module, leaf: str, weights: BlockWeights, source: nn.Module, stored: str
) -> None:
    """Make a parameter a property of its module. Its codes are parameters of `source`, with names
    that begin with `stored`.
    """
    delattr(owner, leaf)

    def reader(part: str, planes: Sequence[Plane]) -> list[Read]:
        return [_plane(source, f"{stored}_{part}{n or ''}", item) for n, item in enumerate(planes)]

    codes = reader("codes", weights.codes)
    low = weights.codes[0].bits
    groups = (
        None if weights.groups is None else _parameter(source, f"{stored}_groups", weights.groups)
    )

    def spread_of(part: str, planes: Sequence[Plane], offset: float) -> Read:
        widths = [*(plane.width for plane in planes[1:]), weights.width]
        return _spread(reader(part, planes), steps(planes, weights.width), widths, offset, groups)

    spread = {
        part: spread_of(part, planes, offset)
        for part, planes, offset in (
            ("scales", weights.scales, weights.offset),
            ("points", weights.points, 0.0),
            ("minima", weights.minima, 0.0),
        )
        if planes
    }

    def value(_: nn.Module) -> Tensor:
        number = codes[0](source)
        for part in codes[1:]:
            number = number | (part(source) << low)
        real = number.float() - weights.center if weights.center else number.float()
        if "points" in spread:
            real = real - spread["points"](source)
        result = real * spread["scales"](source)
        if "minima" in spread:
            result = result + spread["minima"](source)
        if weights.padded:
            result = result.reshape(-1)[: prod(weights.shape)]
        return result.reshape(weights.shape)

    kind = type(owner)
    owner.__class__ = type(kind.__name__, (kind,), {leaf: property(value)})


def _parameter(owner: nn.Module, name: str, data: Array) -> Read:
    """How to read an array, which is a parameter of a module."""
    if not hasattr(owner, name):
        tensor = torch.from_numpy(np.array(data))
        owner.register_parameter(name, nn.Parameter(tensor, requires_grad=False))
    return lambda module: getattr(module, name)


def _plane(owner: nn.Module, name: str, plane: Plane) -> Read:
    """How to read the numbers of a plane, which is a parameter of a module."""
    data = _parameter(owner, name, plane.data)
    table = None if plane.table is None else _parameter(owner, f"{name}_table", plane.table)

    def read(module: nn.Module) -> Tensor:
        codes = data(module)
        if plane.bits < BYTE:
            codes = torch.ops.webkiln.unpack_bits(codes, plane.bits)
        return codes if table is None else torch.ops.webkiln.take(table(module), codes)

    return read


def _spread(
    readers: Sequence[Read],
    repeats: Sequence[int],
    widths: Sequence[int],
    offset: float,
    groups: Read | None,
) -> Read:
    """How to read the product of planes, plus an offset, for each column. `repeats` are the `steps`
    of the planes, and `widths` the numbers in a row of each but the first, and the columns.
    """

    def longer(x: Tensor, number: int) -> Tensor:
        result: Tensor = torch.ops.webkiln.repeat_blocks(x, repeats[number], widths[number])
        return result

    def read(module: nn.Module) -> Tensor:
        result = readers[0](module).float()
        for number, part in enumerate(readers[1:]):
            result = longer(result, number) * part(module).float()
        result = result + offset if offset else result
        if groups is not None:
            return torch.ops.webkiln.take(result, groups(module))
        return longer(result, len(readers) - 1)

    return read
