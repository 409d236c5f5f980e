"""Bundles with states, run in Node."""

import json
import subprocess
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).with_name("states.mjs")
PROGRAM = f"""
const [{{ load }}, {{ values }}] = await Promise.all([import(process.argv[1]),
  import({json.dumps(SCRIPT.as_uri())})]);
console.log(JSON.stringify(await values(load, process.argv[2])));
"""


def runs_and_reset(bundle: Path, backend: str) -> np.ndarray:
    """The first output for two ones, in two runs and in one more after a reset."""
    command = [
        "node",
        "--input-type=module",
        "-e",
        PROGRAM,
        (bundle / "index.js").as_uri(),
        backend,
    ]
    return np.array(
        json.loads(
            subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
        )
    )
