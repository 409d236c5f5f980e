"""Sources of PyTorch models: programs, functions with weight files, and the checks of files before
torch reads them.
"""

import io
import json
import pickle
import shutil
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.commands.conftest import Command, cache, webkiln  # noqa: F401 - fixtures
from tests.frontends.corpus import Sample, reference_mismatch
from tests.frontends.torch.nets import SOURCE, net
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.torch.archive import check_archive
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.probe import check_file
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.source import program_of
from webkiln.frontends.torch.weights import read_state
from webkiln.recipe.read import parse_recipe
from webkiln.recipe.recipe import Recipe, UserCode
from webkiln.recipe.sources import ModuleSource, PathSource

pytestmark = pytest.mark.probes


def save_program(path: Path) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.export(
            net(), (torch.rand(2, 3, 8, 8),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
        )
        torch.export.save(program, path)
    return path


def save_safetensors(path: Path) -> Path:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, value in net().state_dict().items():
        raw = value.numpy().tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": list(value.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def save_state(path: Path) -> Path:
    torch.save(net().state_dict(), path)
    return path


@pytest.mark.long
def test_the_command_line_builds_a_program(webkiln: Command, tmp_path: Path) -> None:  # noqa: F811
    save_program(tmp_path / "net.pt2")
    process = webkiln("build", "net.pt2", "-o", "out", "--backend", "js", "--dim", "image_0=N")
    assert process.returncode == 0, process.stderr
    x = np.random.default_rng(0).random((3, 3, 8, 8), np.float32)
    np.savez(tmp_path / "in.npz", image=x)
    process = webkiln("run", "out", "--backend", "js", "--inputs", "in.npz", "--outputs", "out.npz")
    assert process.returncode == 0, process.stderr
    with np.load(tmp_path / "out.npz") as arrays:
        assert np.allclose(arrays["output"], net()(torch.from_numpy(x)).detach(), atol=1e-5)


def test_a_program_is_verified_against_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    recipe = Recipe(
        "net",
        PathSource(save_program(tmp_path / "net.pt2")),
        backends=("js",),
        user_code=UserCode(project=tmp_path),
    )
    with Engine(tmp_path / "state") as engine:
        actions = ModelGraph(recipe, engine.share).verify(Selection(("js",), layers=True), "node")
        for action in actions:
            result = json.loads(
                engine.cache.store.path(
                    engine.run(action).outputs["result.json"].sha256
                ).read_text()
            )
            assert max(row["relative"] for row in result["outputs"]) < 1e-4


@pytest.mark.parametrize("save", [save_state, save_safetensors])
def test_a_function_loads_its_weights(save: Callable[[Path], Path], tmp_path: Path) -> None:
    with quiet():
        program = factory_program(SOURCE, {"image": ["N", 3, 8, 8]}, save(tmp_path / "weights"))
        x = torch.rand(4, 3, 8, 8)
        assert torch.allclose(program.module()(x), net()(x), atol=1e-6)


def test_example_inputs_come_from_the_function() -> None:
    with quiet():
        program = factory_program({**SOURCE, "function": "with_inputs"}, {})
    assert [
        spec.arg.name
        for spec in program.graph_signature.input_specs
        if spec.kind.name == "USER_INPUT"
    ] == ["image"]


def test_a_recipe_names_function_and_weights(tmp_path: Path) -> None:
    (tmp_path / "models" / "net").mkdir(parents=True)
    (tmp_path / "models" / "net" / "mine.py").write_text("def make():\n    pass\n")
    data = {
        "source": {"module": "mine:make", "weights": "net.safetensors"},
        "source_format": "torch",
    }
    recipe = parse_recipe("net", data, tmp_path / "models" / "net" / "recipe.toml")
    folder = tmp_path / "models" / "net"
    assert recipe.source == ModuleSource(folder, "mine", "make", weights=folder / "net.safetensors")
    with pytest.raises(RecipeError, match=r"source.module is 'mine', expected module:function"):
        parse_recipe(
            "net", {"source": {"module": "mine", "weights": "w"}}, tmp_path / "recipe.toml"
        )


class CodeRunner:
    """A pickle that creates a file when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


def with_code(path: Path) -> None:
    torch.save({"w": CodeRunner()}, path)


def plain_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"w": CodeRunner()}))


def oversized(path: Path) -> None:
    text = json.dumps({"w": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (with_code, "weights: contains more than weights, or is damaged"),
        (plain_pickle, "weights: contains more than weights, or is damaged"),
        (oversized, "weights: w is at bytes 0 to 8 of 8"),
        (
            lambda path: torch.save({"conv.weight": torch.zeros(1)}, path),
            "weights: lacks 3 of 4 weights of .*bare: conv.bias, head.bias, head.weight; define",
        ),
        (
            lambda path: torch.save({**net().state_dict(), "head.bias": torch.zeros(5)}, path),
            r"weights: head.bias is \[5\], .*:bare has \[2\] there",
        ),
        (
            lambda path: torch.save({**net().state_dict(), "conv.scale": torch.zeros(1)}, path),
            (
                r"weights: has unknown weights \(1\): conv.scale; define .*factories a function"
                r" state_dict\(tensors\)"
            ),
        ),
        (lambda path: torch.save([1, 2], path), "weights: contains no state dict"),
    ],
)
def test_unusable_weights_are_rejected(
    write: Callable[[Path], None], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "weights")
    with quiet(), pytest.raises(SourceError, match=message):
        factory_program(SOURCE, {"image": [1, 3, 8, 8]}, tmp_path / "weights")
    assert not (tmp_path / "executed").exists()


def test_a_state_dict_inside_a_checkpoint_is_found(tmp_path: Path) -> None:
    torch.save({"state_dict": net().state_dict(), "epoch": 3}, tmp_path / "checkpoint.pth")
    assert read_state(tmp_path / "checkpoint.pth").keys() == net().state_dict().keys()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"function": "not_a_module"},
            "bare|not_a_module: returned int, expected a torch.nn.Module",
        ),
        ({"function": "missing"}, "the module has no function 'missing'"),
        ({"parameters": {"depth": 2}}, "does not accept the recipe's parameters"),
    ],
)
def test_unusable_functions_are_rejected(changes: dict[str, Any], message: str) -> None:
    with quiet(), pytest.raises((SourceError, RecipeError), match=message):
        factory_program({**SOURCE, **changes}, {"image": [1, 3, 8, 8]})


def rewrite_archive(
    source: Path,
    target: Path,
    change: Callable[[str, bytes], tuple[str, bytes] | None],
    more: dict[str, bytes] | None = None,
) -> None:
    """Copy an archive with changed and additional members."""
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for info in before.infolist():
            if (member := change(info.filename, before.read(info))) is not None:
                after.writestr(*member)
        for name, data in (more or {}).items():
            after.writestr(name, data)


def replace_in_json(old: bytes, new: bytes) -> Callable[[str, bytes], tuple[str, bytes]]:
    return lambda name, data: (name, data.replace(old, new) if name.endswith(".json") else data)


def unchanged(name: str, data: bytes) -> tuple[str, bytes]:
    return name, data


def unsafe_pickle() -> bytes:
    file = io.BytesIO()
    torch.save(((CodeRunner(),), {}), file)
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (unchanged, {"net/../../evil": b"x"}, "is outside of the archive"),
        (unchanged, {"/etc/evil": b"x"}, "is outside of the archive"),
        (unchanged, {"net/models/other.json": b"{}"}, "contains 2 programs, expected one"),
        (unchanged, {"net/data/aotinductor/model/x.so": b"x"}, "contains compiled code"),
        (replace_in_json(b'"use_pickle": false', b'"use_pickle": true'), {}, "names a pickle"),
        (
            replace_in_json(b"Symbol('", b"__import__('os').system('"),
            {},
            "which torch does not write",
        ),
        (
            lambda name, data: (name, b"[" * 5000 if name.endswith("model.json") else data),
            {},
            "the archive is damaged|nested more than",
        ),
        (
            lambda name, data: (
                name,
                unsafe_pickle() if name.endswith("sample_inputs/model.pt") else data,
            ),
            {},
            "cannot read the program",
        ),
        (
            lambda name, data: None if "weight_0" in name else (name, data),
            {},
            "cannot read the program",
        ),
        (
            lambda name, data: (name, data[:-4] if name.endswith("weight_0") else data),
            {},
            "cannot read the program",
        ),
    ],
)
@pytest.mark.sample(6)
def test_damaged_and_unsafe_programs_are_rejected(
    change: Callable[..., Any],
    more: dict[str, bytes],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    rewrite_archive(save_program(tmp_path / "net.pt2"), tmp_path / "bad.pt2", change, more)
    with pytest.raises(SourceError, match=f"bad.pt2: .*({message})"):
        check_file(tmp_path / "bad.pt2")
    assert not list(tmp_path.glob("**/executed"))


def test_sizes_may_be_multiples_of_dimensions(tmp_path: Path) -> None:
    """A program that torch.export restricted to even sizes can be read from its file."""
    path = tmp_path / "net.pt2"
    with quiet():
        even = 2 * torch.export.Dim("half")
        net = torch.nn.Sequential(torch.nn.MaxPool2d(2), torch.nn.Upsample(scale_factor=2))
        torch.export.save(
            torch.export.export(net, (torch.rand(1, 3, 8, 6),), dynamic_shapes=({2: even},)), path
        )
        spec, blobs = read_program(program_of(path, {}, trust_source=False).program, "net")
    graph = TorchConverter().convert(spec, blobs)
    x = torch.rand(1, 3, 12, 6)
    (variable,) = graph.inputs
    (output,) = graph.outputs
    assert (
        reference_mismatch(Sample("net", graph, {variable: x.numpy()}, {output: net(x).numpy()}))
        is None
    )


def test_truncated_archives_are_rejected(tmp_path: Path) -> None:
    data = save_program(tmp_path / "net.pt2").read_bytes()
    check_archive(tmp_path / "net.pt2")
    for length in (10, 1000, len(data) // 2):
        (tmp_path / "cut.pt2").write_bytes(data[:length])
        with pytest.raises(SourceError, match=r"cut\.pt2: the archive is damaged"):
            check_archive(tmp_path / "cut.pt2")


def test_checking_a_file_leaves_no_files(tmp_path: Path) -> None:
    shutil.copy(save_program(tmp_path / "net.pt2"), tmp_path / "copy.pt2")
    check_file(tmp_path / "copy.pt2")
    assert {path.name for path in tmp_path.iterdir()} == {"net.pt2", "copy.pt2"}
