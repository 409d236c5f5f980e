"""Complex parameters, buffers, constants and padding, compared with torch."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.torch.cases import floats
from tests.frontends.torch.running import input_arrays, output_arrays
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import exported
from webkiln.ops.evaluate import next_states, run_graph


def numbers(*shape: int, seed: int = 3) -> Tensor:
    return torch.complex(floats(*shape, seed=seed), floats(*shape, seed=seed + 1))


class Complex(nn.Module):
    """A parameter [5], a filter [1, 3], a matrix [5, 2], a number, and a function of them."""

    def __init__(self, function: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.factors = nn.Parameter(numbers(5))
        self.filter = nn.Parameter(numbers(1, 3))
        self.register_buffer("matrix", numbers(5, 2))
        self.register_buffer("number", torch.tensor(1 + 2j))
        self.register_buffer("wide", numbers(5).to(torch.complex128))

    def forward(self, x: Tensor) -> Tensor:
        y = self.function(self, x)
        return torch.view_as_real(y) if y.is_complex() else y


fft = torch.fft.fft
FUNCTIONS: Mapping[str, Callable[[Any, Tensor], Tensor]] = {
    "parameter": lambda m, x: torch.fft.ifft(fft(x) * m.factors).real,
    "parameter times real": lambda m, x: m.factors * x,
    "conjugate": lambda m, x: fft(x) * m.factors.conj(),
    "filter": lambda m, x: torch.fft.irfft(torch.fft.rfft(x) * m.filter),
    "scalar buffer": lambda m, x: fft(x) * m.number,
    "complex128": lambda m, x: (fft(x) * m.wide).abs(),
    "constant": lambda m, x: fft(x) * torch.tensor([1 + 2j, 3, 1j, -2, 0.5]),
    "numbers": lambda m, x: fft(x) * 1j + (2 - 1j),
    "a real tensor times a number": lambda m, x: x * (0.5 + 1j),
    "matrix": lambda m, x: fft(x) @ m.matrix,
    "matrix of a real tensor": lambda m, x: torch.view_as_complex(torch.stack([x, -x], -1)).mm(
        m.matrix
    ),
    "padding": lambda m, x: F.pad(fft(x), (1, 2)),
    "padding, cut": lambda m, x: F.pad(fft(x), (2, -1, 1, 0), value=2.0),
    "padding, reflected": lambda m, x: F.pad(fft(x)[None], (1, 2), mode="reflect"),
    "padding, replicated": lambda m, x: F.pad(fft(x)[None], (3, 2), mode="replicate"),
    "padding, circular": lambda m, x: F.pad(fft(x)[None], (1, 2), mode="circular"),
    "slices": lambda m, x: torch.cat([fft(x)[:, 1:4], -fft(x)[:, ::2]], 1),
    "elements": lambda m, x: torch.stack([fft(x)[:, -1], fft(x)[:, 1]], -1),
    "sums": lambda m, x: fft(x).sum(-1) + fft(x).mean(1),
    "moved": lambda m, x: torch.roll(fft(x).flip(-1), 1, -1).cumsum(0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_numbers_match_torch(name: str) -> None:
    module, x = Complex(FUNCTIONS[name]).eval(), floats(3, 5)
    with quiet():
        program = exported(module, (x,), None, name)
        spec, blobs = read_program(program, name)
        graph = TorchConverter().convert(spec, blobs)
        expected = output_arrays(program, module(x))
    assert reference_mismatch(Sample(name, graph, input_arrays(spec, (x,)), expected)) is None


class Filter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", numbers(5))

    def forward(self, x: Tensor) -> Tensor:
        self.state.mul_(0.5 + 0.5j).add_(fft(x))
        return self.state.abs()


def test_complex_states_match_torch() -> None:
    with quiet():
        program = exported(Filter(), (floats(5),), None, "filter")
        spec, blobs = read_program(program, "filter")
        graph, module, states = TorchConverter().convert(spec, blobs), Filter(), None
        for run in range(3):
            x = floats(5, seed=run)
            outputs, values = run_graph(graph, {"x": x.numpy()}, states=states)
            states = next_states(graph, values)
            torch.testing.assert_close(torch.from_numpy(outputs["output"]), module(x))
