"""Modules whose weights stay quantized: they have codes and scales as parameters, and compute a
weight whenever it is read.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from webkiln.frontends.torch.block_weights import BYTE, BlockWeights, Plane

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


def repeat_blocks(x: Tensor, times: int) -> Tensor:
    """Each element `times` times along the last axis."""
    return x.repeat_interleave(times, -1)


def _longer(x: Tensor, times: int) -> Tensor:
    return x.new_empty(*x.shape[:-1], x.shape[-1] * times)


LIBRARY.define("unpack_bits(Tensor x, int bits) -> Tensor")
LIBRARY.define("repeat_blocks(Tensor x, int times) -> Tensor")
LIBRARY.impl("unpack_bits", unpack_bits, "CPU")
LIBRARY.impl("repeat_blocks", repeat_blocks, "CPU")
torch.library.register_fake(
    "webkiln::unpack_bits", lambda x, bits: _longer(x, BYTE // bits), lib=LIBRARY
)
torch.library.register_fake("webkiln::repeat_blocks", _longer, lib=LIBRARY)


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
    scales, minima = reader("scales", weights.scales), reader("minima", weights.minima)
    widths = [[plane.width for plane in planes] for planes in (weights.scales, weights.minima)]
    columns, low = weights.codes[0].width, weights.codes[0].bits

    def value(_: nn.Module) -> Tensor:
        number = codes[0](source)
        for part in codes[1:]:
            number = number | (part(source) << low)
        real = number.float() - weights.center if weights.center else number.float()
        result = real * _factor([part(source) for part in scales], widths[0], columns)
        if minima:
            result = result + _factor([part(source) for part in minima], widths[1], columns)
        return result.reshape(weights.shape)

    kind = type(owner)
    owner.__class__ = type(kind.__name__, (kind,), {leaf: property(value)})


def _plane(owner: nn.Module, name: str, plane: Plane) -> Read:
    """How to read the numbers of a plane, which is a parameter of a module."""
    if not hasattr(owner, name):
        data = torch.from_numpy(np.array(plane.data))
        owner.register_parameter(name, nn.Parameter(data, requires_grad=False))

    def read(module: nn.Module) -> Tensor:
        data: Tensor = getattr(module, name)
        return torch.ops.webkiln.unpack_bits(data, plane.bits) if plane.bits < BYTE else data

    return read


def _factor(planes: Sequence[Tensor], widths: Sequence[int], columns: int) -> Tensor:
    """The product of planes, from the one with the longest blocks on, for each column."""
    result = planes[0].float()
    for plane, width, before in zip(planes[1:], widths[1:], widths, strict=False):
        result = torch.ops.webkiln.repeat_blocks(result, width // before) * plane.float()
    return torch.ops.webkiln.repeat_blocks(result, columns // widths[-1])
