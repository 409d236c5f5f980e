"""Holds fragment shaders to the language's reference compiler (glslang)."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def validate(shaders: Mapping[str, str], folder: Path) -> None:
    """Compile every shader (name -> text); the test fails with all complaints."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in shaders.items():
        (folder / f"{name}.frag").write_text(text.replace("\n", "\n#define WK_SHIFT 12\n", 1))
    command = ["glslangValidator", *(f"{name}.frag" for name in shaders)]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    except FileNotFoundError:
        pytest.fail("glslangValidator is missing (on Debian and Ubuntu: apt-get install glslang-tools)")
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "ERROR" in line)
