"""docs/web-projects.md matches the examples, and the rows that tests/web checks."""

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


def test_the_table_is_current() -> None:
    assert table.PAGE.read_text("utf-8") == table.page(), "run: make web"


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.marks[0])
def test_a_shown_block_is_part_of_the_example(block: Block) -> None:
    assert block.text in (ROOT / block.marks[0]).read_text("utf-8")


def test_files_of_several_examples_are_equal() -> None:
    """Only the import of the model may differ."""
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
    dependencies = {**package.get("dependencies", {}), **package.get("devDependencies", {})}
    assert dependencies
    assert all(
        version[0].isdigit() or version == "file:../../runtime/unplugin"
        for version in dependencies.values()
    )
    assert (folder / "README.md").exists()
