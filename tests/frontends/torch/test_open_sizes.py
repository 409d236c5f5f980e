"""Padding, resizing and splitting by computed sizes in programs with open sizes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.torch.cases import FunctionModule, floats
from tests.frontends.torch.running import input_arrays, output_arrays
from webkiln.errors import UnsupportedError
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import exported

IMAGES = [(1, 2, 6, 8), (1, 2, 9, 7), (1, 2, 5, 10), (1, 2, 16, 16)]
STEPS = [(2, 7, 3), (2, 10, 3), (2, 3, 3), (2, 12, 3)]


def resized(**options: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: F.interpolate(x, recompute_scale_factor=True, **options)


def rounded_up(size: int, multiple: int) -> int:
    return (multiple - size % multiple) % multiple


FUNCTIONS: Mapping[str, tuple[Callable[[Tensor], Tensor], Sequence[tuple[int, ...]]]] = {
    "padding to a multiple": (lambda x: F.pad(x, (0, 0, 0, rounded_up(x.shape[1], 4))), STEPS),
    "padding to a size": (lambda x: F.pad(x, (0, 0, 0, 16 - x.shape[1])), STEPS),
    "padding or cropping": (
        lambda x: (
            F.pad(x, (0, 0, 0, 8 - x.shape[1])) * F.pad(x, (0, 0, 8 - x.shape[1], 0), value=2.0)
        ),
        STEPS,
    ),
    "padding by halves": (
        lambda x: F.pad(x, (0, 0, x.shape[1] // 2, x.shape[1] - x.shape[1] // 2), value=3.0),
        STEPS,
    ),
    "padding, reflected": (
        lambda x: F.pad(x.mT, (x.shape[1] // 2, x.shape[1] // 3), mode="reflect"),
        STEPS,
    ),
    "padding, circular": (
        lambda x: F.pad(x.mT, (x.shape[1] // 2, x.shape[1] // 3), mode="circular"),
        STEPS,
    ),
    "padding to a square": (
        lambda x: F.pad(
            x,
            (
                0,
                max(x.shape[2], x.shape[3]) - x.shape[3],
                0,
                max(x.shape[2], x.shape[3]) - x.shape[2],
            ),
        ),
        IMAGES,
    ),
    "recomputed factor": (resized(scale_factor=1.7, mode="bilinear"), IMAGES),
    "recomputed factor below one": (resized(scale_factor=0.6, mode="nearest"), IMAGES),
    "recomputed factors, corners": (
        resized(scale_factor=(0.6, 1.3), mode="bicubic", align_corners=True),
        IMAGES,
    ),
    "recomputed factor, areas": (resized(scale_factor=0.5, mode="area"), IMAGES),
    "a factor from a size": (
        lambda x: x * (x.shape[2] * 0.3) + x / (0.5 * x.shape[3]) + x.sum(3, keepdim=True) / 3,
        IMAGES,
    ),
    "unbound": (lambda x: torch.stack([a * i for i, a in enumerate(x.unbind(2))]), STEPS),
    "chunks, flipped": (lambda x: torch.cat([c.flip(1) for c in x.chunk(3, 2)], 2), STEPS),
    "chunks of an open axis": (lambda x: torch.cat([c.flip(1) for c in x.chunk(2, 1)], 1), STEPS),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_computed_sizes_match_torch(name: str) -> None:
    function, shapes = FUNCTIONS[name]
    module = FunctionModule(function)
    axes = dict.fromkeys(range(2, 4) if len(shapes[0]) == 4 else (1,), torch.export.Dim.DYNAMIC)
    with quiet():
        program = exported(module, (floats(*shapes[0]),), [(axes,)], name)
        spec, blobs = read_program(program, name)
        graph = TorchConverter().convert(spec, blobs)
        for shape in shapes:
            x = floats(*shape, seed=1)
            arrays = input_arrays(spec, (x,))
            expected = output_arrays(program, module(x))
            assert reference_mismatch(Sample(name, graph, arrays, expected)) is None, shape


def test_sizes_that_depend_on_rounding_of_floats_are_rejected() -> None:
    """int(100 * 0.29) is 28."""
    module = FunctionModule(resized(scale_factor=0.29, mode="nearest"))
    axes = {2: torch.export.Dim.DYNAMIC}
    with quiet():
        program = exported(module, (floats(1, 2, 60, 60),), [(axes,)], "net")
        with pytest.raises(UnsupportedError, match="rounds a size times a float"):
            read_program(program, "net")
