"""Bundles in Node, Deno and Bun."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.environments import models

SCENARIO = Path(__file__).with_name("scenario.mjs")
COMMANDS = {
    "node": ["node"],
    "deno": ["deno", "run", "--no-prompt", "--allow-read"],
    "bun": ["bun", "run"],
}


def execute(host: str, script: Path, *arguments: str, home: Path) -> subprocess.CompletedProcess:
    program, *flags = COMMANDS[host]
    return subprocess.run(
        [program if host == "node" else models.need(program), *flags, str(script), *arguments],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("host", COMMANDS)
@pytest.mark.parametrize("form", ["folder", "single"])
def test_a_bundle_runs(host: str, form: str, bundles: Path) -> None:
    done = execute(host, SCENARIO, str(bundles / form), json.dumps(models.X.tolist()), home=bundles)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["messages"] == []
    ways = [(run["backend"], run["worker"]) for run in answer["runs"]]
    assert ways == [("wasm", True), ("wasm", False), ("js", True), ("js", False)]
    for run in answer["runs"]:
        np.testing.assert_allclose(
            np.reshape(run["y"], models.X.shape), models.expected(), atol=1e-5
        )
        assert run["same"]
        assert run["threads"] == (2 if run["backend"] == "wasm" else 1)


@pytest.mark.parametrize("host", COMMANDS)
def test_the_synchronous_api(host: str, bundles: Path, tmp_path: Path) -> None:
    script = tmp_path / "sync.mjs"
    module = (bundles / "folder" / "sync.js").as_uri()
    script.write_text(
        f"import {{ fetchParts, loadSync }} from {json.dumps(module)};"
        f"\nconst model = loadSync(await fetchParts());\nconst {{ y }} = model.run({{ x:"
        f" {json.dumps(models.X.tolist())} }});\nconsole.log(JSON.stringify([model.shapes.y,"
        " [...y]]));\n"
    )
    done = execute(host, script, home=bundles)
    assert done.returncode == 0, done.stderr
    shape, y = json.loads(done.stdout)
    np.testing.assert_allclose(np.reshape(y, shape), models.expected(), atol=1e-5)


def test_deno_names_the_permission(bundles: Path, tmp_path: Path) -> None:
    script = tmp_path / "denied.mjs"
    index = (bundles / "folder" / "index.js").as_uri()
    script.write_text(
        f"import {{ load }} from {json.dumps(index)};\ntry {{ await load({{ worker: false }}); }}"
        " catch ({ code, message }) { console.log(code, message); }\n"
    )
    done = subprocess.run(
        [models.need("deno"), "run", "--no-prompt", str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "MissingFile" in done.stdout
    assert "--allow-read" in done.stdout


HALVES = """
import { halfBits } from '%s';
const bits = new Uint16Array(1);
const half = new Float16Array(bits.buffer);
let state = 1;
const random = () => (state = (state * 1103515245 + 12345) %% 2147483648) / 2147483648;
let wrong = 0;
for (let count = 0; count < 400_000; count++) {
  const coarse = Math.round(random() * 4096) * 2 ** Math.round(random() * 46 - 36);
  const fine = (random() - 0.5) * 2 ** (random() * 60 - 40);
  for (const value of [coarse, -coarse, fine, coarse * (1 + 2 ** -52), coarse * (1 - 2 ** -53)]) {
    half[0] = value;
    if (bits[0] !== halfBits(value)) wrong++;
  }
}
console.log(wrong);
"""


@pytest.mark.parametrize("host", ["deno", "bun"])
def test_float16_is_rounded_as_by_engines(host: str, tmp_path: Path) -> None:
    script = tmp_path / "halves.mjs"
    script.write_text(HALVES % (models.ROOT / "runtime" / "src" / "dtypes.js").as_uri())
    done = execute(host, script, home=tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("0", "")
