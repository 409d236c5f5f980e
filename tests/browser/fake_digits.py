"""A stand-in for the digits model: it scores a picture by its distance from one example of each digit."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tests.runtime import fake_bundle
from webkiln import canonical

HERE = Path(__file__).resolve().parent
WEIGHTS, SCORES, STAGING, MEMORY = 256, 2816, 2880, 5440

JS = f"""
const f = new Float32Array({MEMORY // 4});
export const create = () => ({{
  buffer: f.buffer, base: 0,
  init() {{ f.copyWithin({WEIGHTS // 4}, {STAGING // 4}, {STAGING // 4 + 640}); }},
  run() {{
    let sum = 0;
    for (let k = 0; k < 10; k++) {{
      let distance = 0;
      for (let i = 0; i < 64; i++) distance += (f[i] - f[{WEIGHTS // 4} + k * 64 + i]) ** 2;
      sum += f[{SCORES // 4} + k] = Math.exp(-distance);
    }}
    for (let k = 0; k < 10; k++) f[{SCORES // 4} + k] /= sum;
  }},
}});
"""


def examples() -> list[dict[str, Any]]:
    """Strokes of the ten digits, and the pictures that the demo makes of them."""
    done = subprocess.run(["node", str(HERE / "strokes.js")], capture_output=True, text=True, timeout=30, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def build(work: Path) -> Path:
    described = {
        "memory": MEMORY,
        "inputs": [{"name": "image", "dtype": "float32", "shape": [1, 8, 8, 1], "order": "NHWC", "offset": 0}],
        "outputs": [{"name": "scores", "dtype": "float32", "shape": [1, 10], "order": "NC", "offset": SCORES}],
        "states": [],
        "staging": {"offset": STAGING, "bytes": 2560},
        "layers": [],
        "init": [[0, 0, 2560]],
    }
    data = np.array([example["picture"] for example in examples()], np.float32).tobytes()
    digest = canonical.digest(data)
    shard = {"file": f"weights-{digest[:8]}.bin", "bytes": len(data), "sha256": digest}
    inputs = {
        "shards/": work / "shards",
        "shards.json": work / "shards.json",
        "code.js/": work / "code",
        "program.js.json": work / "p.json",
    }
    inputs["shards/"].mkdir(parents=True)
    inputs["code.js/"].mkdir()
    (inputs["shards/"] / str(shard["file"])).write_bytes(data)
    (inputs["code.js/"] / "js.js").write_text(f"export const program = {canonical.dumps(described).decode()};\n{JS}")
    canonical.write(inputs["program.js.json"], described)
    canonical.write(inputs["shards.json"], {"schema": "webkiln.shards/1", "encoding": "float32", "shards": [shard]})
    params = {"name": "digits", "backends": ["js"], "variants": [], "encoding": "float32", "labels": [str(k) for k in range(10)]}
    fake_bundle.stage("bundle").run(inputs, {"bundle/": work / "digits"}, params)
    return work / "digits"
