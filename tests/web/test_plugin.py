"""What the plugin does while files change under it."""

import subprocess
from pathlib import Path

from tests.web import project


def test_plugin() -> None:
    project.need_packages()
    script = Path(__file__).with_name("plugin.test.js")
    done = subprocess.run(["node", "--test", str(script)], capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout
