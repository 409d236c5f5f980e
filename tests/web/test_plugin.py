"""The plugin while files change, and the modules that it builds for."""

import subprocess
from pathlib import Path

import pytest

from tests.web import project


@pytest.mark.parametrize("name", ["plugin", "imports"])
def test_plugin(name: str) -> None:
    project.need_packages()
    script = Path(__file__).with_name(f"{name}.test.js")
    process = subprocess.run(
        ["node", "--test", str(script)], capture_output=True, text=True, timeout=180, check=False
    )
    assert process.returncode == 0, process.stdout
