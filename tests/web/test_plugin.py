"""What the plugin does while files change under it, and for whom it builds."""

import subprocess
from pathlib import Path

import pytest

from tests.web import project


@pytest.mark.parametrize("name", ["plugin", "imports"])
def test_plugin(name: str) -> None:
    project.need_packages()
    script = Path(__file__).with_name(f"{name}.test.js")
    done = subprocess.run(
        ["node", "--test", str(script)], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout
