"""Quantised weights of PyTorch: a bundle contains the integers and scales of the program."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from tests.frontends.bundle_weights import bundle_bytes, bundle_weights
from tests.frontends.torch.running import input_arrays, output_arrays
from tests.passes.running import optimised
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.program import read_program
from webkiln.ops.evaluate import run_graph
from webkiln.weights.encoding import BY_NAME
from webkiln.weights.shards import pieces, stored

ROWS, COLUMNS, BLOCK = 192, 256, 32
TORCHAO = sorted((Path(__file__).parent / "torchao").glob("*.pt2"))
FLOATS = (
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
    torch.float8_e8m0fnu,
)


class Codes(torch.nn.Module):
    """Codes of 8 bits with a scale per row, as weights and as a table."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 127, (ROWS, COLUMNS)).to(torch.int8))
        self.register_buffer("table", torch.randint(-128, 127, (ROWS, COLUMNS)).to(torch.int8))
        self.register_buffer("scale", torch.rand(ROWS, 1))
        self.register_buffer("factor", torch.rand(ROWS, 1))

    def forward(self, x: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        rows = functional.embedding(ids, self.table) * functional.embedding(ids, self.factor)
        return functional.linear(x, self.weight * self.scale), rows


class Halves(torch.nn.Module):
    """Two codes in a byte, with a scale and a zero point per block of columns."""

    def __init__(self) -> None:
        super().__init__()
        blocks = (ROWS, COLUMNS // BLOCK, 1)
        self.register_buffer("packed", torch.randint(0, 255, (ROWS, COLUMNS // 2)).byte())
        self.register_buffer("scale", torch.rand(blocks))
        self.register_buffer("zero", torch.randint(0, 15, blocks).to(torch.int8))

    def forward(self, x: Tensor) -> Tensor:
        codes = torch.stack([self.packed & 15, self.packed >> 4], -1).to(torch.int8)
        moved = codes.reshape(ROWS, -1, BLOCK) - self.zero
        return functional.linear(x, (moved.float() * self.scale).reshape(ROWS, COLUMNS))


class Eighths(torch.nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.register_buffer("weight", (torch.rand(ROWS, COLUMNS) + 0.25).to(dtype))

    def forward(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight.float())


X, IDS = torch.linspace(-1, 1, 3 * COLUMNS).reshape(3, COLUMNS), torch.tensor([0, 5, ROWS - 1])


def check(program: torch.export.ExportedProgram, *inputs: Tensor) -> dict[str, tuple[str, int]]:
    """Compare results with torch, and bytes with those of the program. Returns the weights of the
    bundle.
    """
    spec, blobs = read_program(program, "net")
    source = TorchConverter().convert(spec, blobs)
    graph = optimised(source)
    expected = output_arrays(program, program.module()(*inputs))
    results, _ = run_graph(graph, input_arrays(spec, inputs), source.weights)
    for name, values in expected.items():
        tolerance = 1e-5 * np.abs(values).max()
        np.testing.assert_allclose(results[name], values, rtol=0, atol=tolerance)
    sizes = [tensor.numel() * tensor.element_size() for tensor in program.state_dict.values()]
    assert bundle_bytes(source) <= 1.05 * sum(sizes)
    for encoding in BY_NAME:
        assert {piece.encoding for piece in pieces(stored(graph), encoding)} == {"raw"}
    return bundle_weights(source)


def test_codes_of_8_bits() -> None:
    torch.manual_seed(0)
    found = check(torch.export.export(Codes(), (X, IDS)), X, IDS)
    assert list(found.values()).count(("int8", ROWS * COLUMNS)) == 2


def test_packed_codes_of_4_bits() -> None:
    torch.manual_seed(0)
    found = check(torch.export.export(Halves(), (X,)), X)
    assert ("uint8", ROWS * COLUMNS // 2) in found.values()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_of_8_bits(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    found = check(torch.export.export(Eighths(dtype), (X,)), X)
    assert ("uint8", ROWS * COLUMNS) in found.values()


@pytest.mark.parametrize("path", TORCHAO, ids=lambda path: path.stem)
def test_programs_of_torchao(path: Path) -> None:
    found = check(torch.export.load(path), torch.linspace(-2, 2, 3 * 128).reshape(3, 128))
    assert {("int8", 128 * 96), ("int8", 96 * 64)} <= set(found.values())


def test_programs_of_torchao_are_of_both_kinds() -> None:
    assert {path.stem for path in TORCHAO} == {"int4", "int8"}
