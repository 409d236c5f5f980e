"""Compile shaders with Tint, the shader compiler of Chromium, on a device of Dawn that runs nothing
but has every feature.
"""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent


def validate(shaders: Mapping[str, str], folder: Path) -> None:
    """Compile every shader (name -> text); fail with all diagnostics, also warnings."""
    if not (HERE / "node_modules").exists():
        raise FileNotFoundError(
            "Dawn is missing: run `make setup`, or `npm install --no-save` in tests/dawn/ (npm"
            " comes with Node.js; on Debian it is the package npm)"
        )
    files = [folder / f"{name}.wgsl" for name in shaders]
    for file, text in zip(files, shaders.values(), strict=True):
        file.write_text(text)
    answer = folder / "diagnostics.json"
    command = ["node", str(HERE / "validate.mjs"), str(answer), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(answer.read_text())
    assert found.keys() == set(map(str, files))
    assert not any(found.values()), {name: item for name, item in found.items() if item}
