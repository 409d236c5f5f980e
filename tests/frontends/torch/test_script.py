"""TorchScript files, compared with torch. Attributes that change are states."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.frontends.corpus import BACKEND_STRIDES, Sample, mismatches, reference_mismatch
from tests.frontends.torch import scripts
from tests.frontends.torch.cases import floats, integers
from tests.frontends.torch.modules.table import MODULES
from tests.frontends.torch.running import build, input_arrays, output_arrays
from webkiln.errors import SourceError
from webkiln.frontends.torch import script_arguments
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.script import ScriptProgram
from webkiln.frontends.torch.script_arguments import Arguments
from webkiln.frontends.torch.source import TracedProgram, program_of, read_script, script_exported

SCRIPTS: Mapping[str, tuple[type[torch.nn.Module], torch.Tensor]] = {
    "recurring": (scripts.Recurring, floats(2, 3, 6, 5)),
    "deciding": (scripts.Deciding, floats(2, 3, low=-3)),
    "growing": (scripts.Growing, floats(2, 3)),
    "collecting": (scripts.Collecting, floats(2, 4)),
    "remembering": (scripts.Remembering, floats(2, 4)),
    "reading": (scripts.WordReading, integers(2, 3, high=9)),
    "beginning": (scripts.Beginning, floats(2, 4)),
}
STATES = {"recurring": ["sums"], "remembering": ["state"], "beginning": ["hidden", "memory"]}
UNTRACED = {"cond", "while", "named outputs", "core operators"}
"""Modules that torch.jit.trace does not accept."""


def as_sample(
    name: str, path: Path, program: TracedProgram, inputs: tuple[torch.Tensor, ...]
) -> Sample:
    spec, blobs = read_program(program.program, name, program.inputs)
    graph = TorchConverter().convert(spec, blobs)
    return Sample(
        name,
        graph,
        input_arrays(spec, inputs),
        output_arrays(program.program, torch.jit.load(path)(*(x.clone() for x in inputs))),
    )


def scripted(name: str, folder: Path) -> Sample:
    kind, x = SCRIPTS[name]
    torch.manual_seed(0)
    path = folder / f"{name}.pt"
    with quiet():
        torch.jit.script(kind().eval()).save(path)
        return as_sample(name, path, script_exported(path, {"x": list(x.shape)}), (x,))


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.sample(3)
def test_a_script_matches_torch(name: str, tmp_path: Path) -> None:
    sample = scripted(name, tmp_path)
    assert reference_mismatch(sample) is None
    assert [state.name for state in sample.graph.states] == STATES.get(name, [])


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_backends_match_torch(backend: str, every: int, tmp_path: Path) -> None:
    assert (
        mismatches(
            [scripted(name, tmp_path) for name in list(SCRIPTS)[::every]],
            backend,
            tmp_path / backend,
        )
        == {}
    )


@pytest.mark.parametrize("name", [name for name in MODULES if name not in UNTRACED])
@pytest.mark.sample(6)
def test_a_trace_matches_torch(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each module, traced with torch.jit.trace."""
    case, path = MODULES[name], tmp_path / "traced.pt"
    monkeypatch.setattr(torch.backends.mha, "get_fastpath_enabled", lambda: False)
    dtypes = iter([x.dtype for x in case.inputs])
    monkeypatch.setattr(script_arguments, "_dtype", lambda value: next(dtypes))
    with quiet():
        torch.jit.trace(build(case), case.inputs, strict=False, check_trace=False).save(path)
        graph = torch.jit.load(path).forward.graph
        names = [
            value.debugName().rpartition(".")[0] or value.debugName()
            for value in list(graph.inputs())[1:]
        ]
        program = script_exported(
            path, {name: list(x.shape) for name, x in zip(names, case.inputs, strict=True)}
        )
        assert reference_mismatch(as_sample(name, path, program, case.inputs)) is None


def test_input_shapes_may_be_symbolic(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    with quiet():
        torch.jit.script(scripts.Collecting().eval()).save(path)
        program = program_of(path, {"x": ["N", 4]}, trust_source=True)
        spec, blobs = read_program(program.program, "net", program.inputs)
        graph = TorchConverter(input_shapes={"x": ["N", 4]}).convert(spec, blobs)
        for count in (1, 5):
            x = floats(count, 4)
            assert (
                reference_mismatch(
                    Sample(
                        "net",
                        graph,
                        {"x": x.numpy()},
                        output_arrays(program.program, torch.jit.load(path)(x)),
                    )
                )
                is None
            )


@pytest.mark.parametrize(
    ("shapes", "trust", "message"),
    [
        (
            {"x": [2, 4]},
            False,
            (
                "net.pt: is a TorchScript file, which can run code; if you trust it, pass"
                " --trust-source"
            ),
        ),
        (
            {},
            True,
            (
                "net.pt: the file does not record the shape of the input x; pass --input-shape"
                " x=1,3,224,224"
            ),
        ),
        ({"x": [2, 5]}, True, "net.pt: torch.export cannot trace it: .*"),
    ],
)
def test_unusable_scripts_are_rejected(
    shapes: dict[str, list[int]], trust: bool, message: str, tmp_path: Path
) -> None:
    torch.jit.script(scripts.Collecting().eval()).save(tmp_path / "net.pt")
    with quiet(), pytest.raises(SourceError, match=message):
        program_of(tmp_path / "net.pt", shapes, trust_source=trust)


@pytest.mark.parametrize(
    ("script_of", "message"),
    [
        (
            lambda x: torch.jit.script(scripts.Overlapping()),
            "net.pt: part and table share memory that is changed in place; give",
        ),
        (
            lambda x: torch.jit.trace(scripts.Overlapping(), x),
            "net.pt: part and table share memory that is changed in place; give",
        ),
        (
            lambda x: torch.jit.trace(scripts.Fixed(), x),
            "net.pt: add_ changes a constant in place; make it a buffer",
        ),
    ],
)
def test_changes_of_shared_memory_are_rejected(
    script_of: Callable[[torch.Tensor], Any], message: str, tmp_path: Path
) -> None:
    with quiet(), pytest.raises(SourceError, match=message):
        script_of(floats(2, 4)).save(tmp_path / "net.pt")
        program_of(tmp_path / "net.pt", {"x": [2, 4]}, trust_source=True)


def test_weights_are_not_copied(tmp_path: Path) -> None:
    """The program's buffers are the tensors that torch loaded."""
    with quiet():
        torch.jit.script(scripts.Collecting().eval()).save(tmp_path / "net.pt")
        script = read_script(tmp_path / "net.pt")
        arguments = Arguments(script, {"x": [2, 4]}, {}, "net.pt")
        read = {value.data_ptr() for value in script.parameters()}
        assert {value.data_ptr() for value in ScriptProgram(script, arguments).buffers()} == read


def test_ambiguous_floor_division_is_rejected(tmp_path: Path) -> None:
    new, old = tmp_path / "new.pt", tmp_path / "old.pt"
    x = floats(2, 4, low=-3)
    with quiet():
        torch.jit.script(scripts.Dividing()).save(new)
        with zipfile.ZipFile(new) as before, zipfile.ZipFile(old, "w") as after:
            for name in before.namelist():
                if not name.endswith("/byteorder"):
                    after.writestr(name, before.read(name))
        assert (
            reference_mismatch(as_sample("new", new, script_exported(new, {"x": [2, 4]}), (x,)))
            is None
        )
        with pytest.raises(
            SourceError,
            match=r"old.pt: divides tensors with //, which rounded towards zero before torch 1.13",
        ):
            script_exported(old, {"x": [2, 4]})
