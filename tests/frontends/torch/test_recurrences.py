"""LSTM, GRU and RNN of open length and batch, compared with torch."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches, reference_mismatch
from tests.frontends.torch.cases import floats
from tests.frontends.torch.running import input_arrays, output_arrays
from webkiln.errors import SourceError
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import exported, program_of

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: nn.LSTM(3, 4),
    "lstm, batch first": lambda: nn.LSTM(3, 4, batch_first=True),
    "lstm, both directions": lambda: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True),
    "lstm, projected": lambda: nn.LSTM(3, 5, 2, proj_size=2, bias=False),
    "lstm, both projected": lambda: nn.LSTM(3, 5, proj_size=2, bidirectional=True),
    "gru": lambda: nn.GRU(3, 4, batch_first=True),
    "gru, both directions": lambda: nn.GRU(3, 4, 2, bias=False, bidirectional=True, dropout=0.3),
    "rnn": lambda: nn.RNN(3, 4, 2),
    "rnn, relu": lambda: nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, batch_first=True),
}


class Final(nn.Module):
    """All results of a layer, flat. `seeded`: with initial states, computed from the first step."""

    def __init__(self, layer: nn.Module, *, seeded: bool) -> None:
        super().__init__()
        self.layer, self.seeded = layer, seeded

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        layer: Any = self.layer
        if not self.seeded:
            y, last = layer(x)
        else:
            batch = x.shape[0 if layer.batch_first else 1]
            count = layer.num_layers * (2 if layer.bidirectional else 1)
            first = x[:, 0] if layer.batch_first else x[0]
            width = getattr(layer, "proj_size", 0) or layer.hidden_size
            h = first.sum(1)[None, :, None].expand(count, batch, width) * 0.2
            memory = first.sum(1)[None, :, None].expand(count, batch, layer.hidden_size) * 0.1
            y, last = layer(x, (h, memory) if isinstance(layer, nn.LSTM) else h)
        return (y, *last) if isinstance(last, tuple) else (y, last)


class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(8, 3, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.lstm(x)
        z, h = self.gru(y)
        return z + h.transpose(0, 1)


def samples(name: str, *, seeded: bool = False) -> list[Sample]:
    """A layer with two lengths and batches."""
    torch.manual_seed(0)
    module = Final(LAYERS[name](), seeded=seeded).eval()
    open_axes = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = exported(module, (floats(5, 7, 3),), (open_axes,), name)
        spec, blobs = read_program(program, name)
        graph = TorchConverter().convert(spec, blobs)
        return [
            Sample(name, graph, input_arrays(spec, (x,)), output_arrays(program, module(x)))
            for x in (floats(4, 6, 3), floats(1, 11, 3, seed=1), floats(9, 2, 3, seed=2))
        ]


@pytest.mark.parametrize("seeded", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_open_lengths_and_batches_match_torch(name: str, seeded: bool) -> None:
    for sample in samples(name, seeded=seeded):
        assert reference_mismatch(sample) is None


@pytest.mark.long
@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_backends_match_torch(backend: str, every: int, tmp_path: Path) -> None:
    for number in range(2):
        chosen = [samples(name)[number] for name in list(LAYERS)[::every]]
        assert mismatches(chosen, backend, tmp_path / str(number)) == {}


def test_a_script_of_open_length_matches_torch(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.jit.script(Scripted().eval()).save(path)
    with quiet():
        program = program_of(path, {"x": ["N", "T", 3]}, trust_source=True)
        spec, blobs = read_program(program.program, "net", program.inputs)
        graph = TorchConverter(input_shapes={"x": ["N", "T", 3]}).convert(spec, blobs)
        for x in (floats(2, 5, 3), floats(1, 9, 3)):
            expected = output_arrays(program.program, torch.jit.load(path)(x))
            assert reference_mismatch(Sample("net", graph, {"x": x.numpy()}, expected)) is None


class Packed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, _ = self.lstm(packed)
        return nn.utils.rnn.pad_packed_sequence(y)[0]


def test_packed_sequences_are_rejected(tmp_path: Path) -> None:
    inputs = (floats(5, 2, 3), torch.tensor([5, 3]))
    message = "net.*: packs sequences of several lengths; pass a padded tensor"
    with quiet():
        with pytest.raises(SourceError, match=message):
            exported(Packed().eval(), inputs, None, "net")
        torch.jit.script(Packed()).save(tmp_path / "net.pt")
        with pytest.raises(SourceError, match=message):
            program_of(tmp_path / "net.pt", {"x": [5, 2, 3], "lengths": [2]}, trust_source=True)
