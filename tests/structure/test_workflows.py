"""actionlint finds nothing in the workflows of GitHub Actions."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINTER = Path(__file__).with_name("workflows.mjs")


def lint(*files: Path) -> str:
    return subprocess.run(
        ["node", LINTER, *files], capture_output=True, text=True, check=True
    ).stdout


def test_workflows_are_valid() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert len(files) >= 2
    assert lint(*files) == ""


def test_the_linter_finds_an_error(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    wrong.write_text("on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    step: []\n")
    assert "wrong.yml:" in lint(wrong)
