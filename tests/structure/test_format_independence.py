"""An edit of one format's code reruns no stage of another format."""

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.structure.modules import PACKAGE, REPOSITORY
from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.share import Share
from webkiln.frontends.core.formats import FORMATS

NAMES = tuple(sorted(item.name for item in FORMATS))
STAGES = ("load", "convert", "reference")
HANDLERS = ("operators/elementwise.py", "operators/conv.py", "operators/control.py")


@pytest.fixture
def tree(tmp_path: Path) -> Share:
    """A copy of the package and of the stages."""
    shutil.copytree(REPOSITORY / "stages", tmp_path / "stages")
    package = tmp_path / "pipeline" / "webkiln"
    shutil.copytree(
        PACKAGE,
        package,
        ignore=lambda _, names: [n for n in names if n in ("__pycache__", "_share")],
    )
    return Share(tmp_path, package)


def code(tree: Share, stages: Iterable[str]) -> dict[tuple[str, str], Mapping[str, str]]:
    """The files that are part of the keys of stages, by stage and format."""
    nowhere = Path("/nonexistent")
    closures = Closures(tree, FileDigests(nowhere), Derived(nowhere))
    return {
        (stage, name): closures.of((tree.stage(stage), program))[0]
        for stage in stages
        for name in NAMES
        if (program := tree.package / "frontends" / name / f"stage_{stage}.py").exists()
    }


def edit(path: Path, text: str) -> None:
    path.write_text(path.read_text() + text)


def changed(before: Mapping[tuple[str, str], object], after: object) -> set[tuple[str, str]]:
    assert isinstance(after, dict)
    return {key for key in before if before[key] != after[key]}


def test_an_edit_of_an_onnx_handler_converts_only_onnx_again(tree: Share) -> None:
    before = code(tree, ["convert"])
    assert len(before) == len(NAMES)
    for handler in HANDLERS:
        edit(tree.package / "frontends" / "onnx" / handler, "\nEDITED = 1\n")
        assert changed(before, code(tree, ["convert"])) == {("convert", "onnx")}


def test_an_import_of_a_handler_of_another_format_would_be_noticed(tree: Share) -> None:
    frontends = tree.package / "frontends"
    edit(
        frontends / "torch" / "operators" / "conv.py",
        "\nfrom webkiln.frontends.onnx.operators import conv as conv_of_nodes\n",
    )
    before = code(tree, ["convert"])
    edit(frontends / "onnx" / HANDLERS[1], "\nEDITED = 1\n")
    assert ("convert", "torch") in changed(before, code(tree, ["convert"]))


@pytest.mark.parametrize("name", NAMES)
def test_an_edit_of_all_code_of_a_format_reruns_only_its_own_stages(tree: Share, name: str) -> None:
    """What tells formats apart is excluded: the record of the format, and what it imports. Package
    files are empty.
    """
    before = code(tree, STAGES)
    own = tree.package / "frontends" / name
    recognition = recognised(tree, name)
    for path in own.rglob("*.py"):
        if path not in recognition and path.name != "__init__.py":
            edit(path, "\nEDITED = 1\n")
    assert {key for _, key in changed(before, code(tree, STAGES))} == {name}


def recognised(tree: Share, name: str) -> set[Path]:
    nowhere = Path("/nonexistent")
    files, _ = Closures(tree, FileDigests(nowhere), Derived(nowhere)).of(
        (tree.package / "frontends" / name / "format.py",)
    )
    return {tree.file(item) for item in files}
