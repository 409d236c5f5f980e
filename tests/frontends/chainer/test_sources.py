"""Bundles from a function and a snapshot, with the command line and with recipes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.commands.conftest import Command, cache, webkiln  # noqa: F401 - fixtures
from tests.frontends.chainer.reading import CORPUS, HERE
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.errors import RecipeError, SourceError, ToolError
from webkiln.frontends.chainer.recording import read
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import Recipe

pytestmark = pytest.mark.probes

NET = ("--weights", "snapshot.npz", "--source-format", "chainer")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a script, a trainer's snapshot, and an input."""
    shutil.copyfile(HERE / "nets.py", tmp_path / "mynets.py")
    shutil.copyfile(CORPUS / "classifier.weights.npz", tmp_path / "snapshot.npz")
    with np.load(CORPUS / "classifier.npz") as arrays:
        np.savez(tmp_path / "in.npz", x=arrays["in/x"])
    return tmp_path


def expected() -> np.ndarray:
    with np.load(CORPUS / "classifier.npz") as arrays:
        return arrays["out/output"]


def test_the_command_line_builds_a_snapshot(webkiln: Command, project: Path) -> None:  # noqa: F811
    done = webkiln(
        "build",
        "mynets:classifier",
        *NET,
        "-o",
        "out",
        "--backend",
        "js",
        "--input-shape",
        "x=N,3,9,8",
    )
    assert done.returncode == 0, done.stderr
    done = webkiln("run", "out", "--backend", "js", "--inputs", "in.npz", "--outputs", "out.npz")
    assert done.returncode == 0, done.stderr
    with np.load(project / "out.npz") as arrays:
        assert np.allclose(arrays["output"], expected(), atol=1e-5)


def test_a_snapshot_alone_is_rejected_with_advice(webkiln: Command, project: Path) -> None:  # noqa: F811
    done = webkiln("build", "snapshot.npz", "-o", "out")
    assert done.returncode == 2
    assert "pass a function that builds the chain, and this file as its weights" in done.stderr
    assert "--source-format chainer" in done.stderr


def test_errors_of_scripts_have_no_traceback(webkiln: Command, project: Path) -> None:  # noqa: F811
    (project / "mine.py").write_text(
        "import chainer.functions as F\n\n\ndef make():\n    return lambda x: F.softmax(x) if"
        " x.array[0, 0] > 0 else x\n"
    )
    done = webkiln(
        "build", "mine:make", "--source-format", "chainer", "--input-shape", "x=1,3", "-o", "out"
    )
    assert done.returncode == 2
    assert "mine:make: mine.py, line 5: the code needs the truth of a value" in done.stderr
    assert "Traceback" not in done.stderr


def recipe(project: Path, **replaced: str) -> Recipe:
    """A recipe with some lines replaced."""
    lines = {
        "source": '{module = "mynets:classifier", weights = "snapshot.npz"}',
        "source_format": '"chainer"',
        "backends": '["js"]',
        **replaced,
    }
    folder = project / "models" / "net"
    folder.mkdir(parents=True)
    for name in ("mynets.py", "snapshot.npz"):
        shutil.copyfile(project / name, folder / name)
    text = "".join(f"{key} = {value}\n" for key, value in lines.items() if value)
    (folder / "recipe.toml").write_text(text + '[input_shapes]\nx = ["N", 3, 9, 8]\n')
    return read_recipe(folder / "recipe.toml")


def test_a_second_build_has_the_same_outputs(project: Path) -> None:
    model = recipe(project)
    with Engine(project / ".webkiln") as engine:
        choice = Selection(model.backends, "float32")
        first = engine.run(ModelGraph(model, share()).bundle(choice))
        again = engine.run(ModelGraph(model, share()).bundle(choice))
    assert first.outputs == again.outputs


def test_a_reference_needs_recorded_outputs(project: Path) -> None:
    model = recipe(project)
    with (
        Engine(project / ".webkiln") as engine,
        pytest.raises(ToolError, match=r"need Chainer, which runs on Python 3.9 or less"),
    ):
        engine.run(ModelGraph(model, share()).reference())


def test_a_recorded_reference_verifies_a_chain(project: Path) -> None:
    model = recipe(project, reference='"expected.npz"')
    with np.load(CORPUS / "classifier.npz") as arrays:
        np.savez(
            project / "models" / "net" / "expected.npz",
            x=arrays["in/x"],
            output=arrays["out/output"],
        )
    with Engine(project / ".webkiln") as engine:
        (action,) = ModelGraph(model, share()).verify(Selection(model.backends), "node")
        result = canonical.read(
            engine.cache.store.path(engine.run(action).outputs["result.json"].sha256)
        )
    assert [row["output"] for row in result["outputs"]] == ["output"]
    assert all(row["relative"] <= 1e-4 for row in result["outputs"])


def test_a_script_as_source_is_rejected(project: Path) -> None:
    (project / "models" / "net").mkdir(parents=True)
    (project / "models" / "net" / "make.py").write_text("def export(path):\n    pass\n")
    (project / "models" / "net" / "recipe.toml").write_text(
        'source = {script = "make.py", function = "export"}\nsource_format = "chainer"\n'
    )
    model = read_recipe(project / "models" / "net" / "recipe.toml")
    with (
        Engine(project / ".webkiln") as engine,
        pytest.raises(RecipeError, match="chains are returned by functions"),
    ):
        engine.run(ModelGraph(model, share()).bundle(Selection(model.backends, "float32")))


def test_a_damaged_recording_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "net.chainer").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(SourceError, match=r"net.chainer: is not a recording that webkiln wrote"):
        read(tmp_path / "net.chainer")
