"""docs/web-projects.md says what the examples do, and what tests/web tries."""

import json
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.web import table

EXAMPLES = ROOT / "examples"
SHOWN = [
    block
    for block in blocks("docs/web-projects.md")
    if block.marks and block.marks[0].startswith("examples/")
]
MAINS = sorted(
    path
    for path in EXAMPLES.glob("*/**/main.js")
    if "node_modules" not in path.parts and "build" not in path.parts
)


def test_the_table_is_that_of_the_rows() -> None:
    assert table.PAGE.read_text("utf-8") == table.page(), "write it anew: make web"


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.marks[0])
def test_what_is_shown_stands_in_the_example(block: Block) -> None:
    assert block.text in (ROOT / block.marks[0]).read_text("utf-8")


def test_a_file_of_several_examples_is_the_same_in_all() -> None:
    """But for what it imports the model from."""
    assert len(MAINS) == 6
    assert len({path.read_text("utf-8").partition("\n")[2] for path in MAINS}) == 1
    for name in ("style.css", "useModel.js"):
        copies = [path for path in EXAMPLES.glob(f"*/*/{name}") if "node_modules" not in path.parts]
        assert len(copies) > 1
        assert len({path.read_text("utf-8") for path in copies}) == 1


@pytest.mark.parametrize(
    "folder",
    sorted(path.parent for path in EXAMPLES.glob("*/package.json")),
    ids=lambda folder: folder.name,
)
def test_examples_name_exact_versions(folder: Path) -> None:
    package = json.loads((folder / "package.json").read_text("utf-8"))
    wanted = {**package.get("dependencies", {}), **package.get("devDependencies", {})}
    assert wanted
    assert all(
        version[0].isdigit() or version == "file:../../runtime/unplugin"
        for version in wanted.values()
    )
    assert (folder / "README.md").exists()
