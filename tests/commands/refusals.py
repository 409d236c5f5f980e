"""Check a command that rejects its input."""

import subprocess
from pathlib import Path


def check(done: "subprocess.CompletedProcess[str]", part: str, folder: Path) -> None:
    """Check for exit status 2, a single error that contains `part`, and an empty folder."""
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    first, *rest = done.stderr.splitlines()
    assert first.startswith("error: ")
    assert all(line.startswith("  ") for line in rest), (
        "only indented lines of the same error may follow"
    )
    assert part in done.stderr
    assert [path.name for path in folder.iterdir()] == []
