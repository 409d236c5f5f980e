"""The runtime's own tests and types."""

import re
import subprocess

import pytest

from tests.runtime.fake_bundle import ROOT

RUNTIME = ROOT / "runtime"


def test_node_tests() -> None:
    process = subprocess.run(
        ["node", "--test", "--test-concurrency=3"],
        cwd=RUNTIME,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stdout


@pytest.mark.long
@pytest.mark.parametrize("project", ["tsconfig.json", "unplugin"])
def test_types(project: str) -> None:
    """`make check` runs the same command."""
    tsc = RUNTIME / "node_modules" / ".bin" / "tsc"
    if not tsc.exists():
        pytest.fail(
            "TypeScript is missing: run `make setup`, or `npm ci` in runtime/ (npm comes with"
            " Node.js; on Debian it is the package npm)"
        )
    process = subprocess.run(
        [str(tsc), "--project", project],
        cwd=RUNTIME,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stdout


@pytest.mark.parametrize("folder", ["runtime", "examples", "tests/environments", "tests/dawn"])
def test_lock_file_names_no_host(folder: str) -> None:
    assert "://" not in "".join(
        re.findall(r'"resolved": "[^"]*"', (ROOT / folder / "package-lock.json").read_text())
    )
