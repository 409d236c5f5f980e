"""Validate fragment shaders with the reference compiler (glslang), compute shaders with that of the
browser.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from webkiln.backends import frame, pages

HERE = Path(__file__).resolve().parent


def validate(shaders: Mapping[str, str], folder: Path) -> None:
    """Compile every shader (name -> text); fail with all diagnostics."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in shaders.items():
        (folder / f"{name}.frag").write_text(
            text.replace("\n", "\n#define WK_SHIFT 12\n#define WK_ROWS 13\n", 1)
        )
    command = ["glslangValidator", *(f"{name}.frag" for name in shaders)]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
    except FileNotFoundError:
        pytest.fail(
            "glslangValidator is missing (on Debian and Ubuntu: apt-get install glslang-tools)"
        )
    assert done.returncode == 0, "\n".join(
        line for line in done.stdout.splitlines() if "ERROR" in line
    )


def validate_wgsl(shaders: Sequence[str], browser: str = "chromium") -> None:
    """Compile every shader; fail with all diagnostics."""
    frames = [frame.encode({"text": np.frombuffer(text.encode(), np.uint8)}) for text in shaders]
    request = {"script": "/tests/validate.mjs", "count": len(frames)}
    answers = pages.run_page(
        "the validation of shaders", {"/tests/": HERE}, request, frames, 60, browser
    )
    complaints = [frame.decode(answer).outputs["text"].tobytes().decode() for answer in answers]
    assert not any(complaints), "\n".join(filter(None, complaints))
