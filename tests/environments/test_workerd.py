"""Bundles in workerd, the runtime of Cloudflare Workers."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.environments import models

CONFIG = """using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (services = [(name = "main", worker = .worker)]);
const worker :Workerd.Worker = (compatibilityDate = "%s", modules = [
%s
]);
"""
KINDS = {".js": "esModule", ".wasm": "wasm", ".bin": "data"}
DATES = {"without Node's modules": "2024-11-01", "with Node's modules": "2026-11-01"}
"""Compatibility dates without and with `process` and the modules of Node."""
every_date = pytest.mark.parametrize("date", DATES.values(), ids=DATES)


def answer(bundle: Path, script: str, home: Path, date: str) -> dict[str, object]:
    """The JSON that a Worker with this script and the files of the bundle prints."""
    (home / "main.js").write_text(
        f"{script}\nexport default {{ async test() {{ console.log('answer', JSON.stringify(await"
        f" answer({json.dumps(models.X.tolist())}))); }} }};\n"
    )
    (home / "bundle").symlink_to(bundle)
    files = [Path("main.js"), *(Path("bundle") / path.name for path in sorted(bundle.iterdir()))]
    rows = (
        f'(name = "{file}", {KINDS[file.suffix]} = embed "{file}"),'
        for file in files
        if file.suffix in KINDS and file.name != "webdnn.js"
    )
    (home / "config.capnp").write_text(CONFIG % (date, "\n".join(rows)))
    done = subprocess.run(
        [models.need("workerd"), "test", "config.capnp"],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    output = done.stdout + done.stderr
    lines = [line for line in output.splitlines() if line.startswith("answer ")]
    assert done.returncode == 0, output
    assert lines, output
    return json.loads(lines[-1].removeprefix("answer "))


@every_date
@pytest.mark.parametrize(
    ("form", "variant"), [("folder", "simd"), ("folder", "relaxed"), ("js", "")]
)
def test_the_synchronous_api(
    form: str, variant: str, date: str, bundles: Path, tmp_path: Path
) -> None:
    (shard,) = (path.name for path in (bundles / form).glob("*.bin"))
    module = f"import module from './bundle/{variant}.wasm';\n" if variant else ""
    script = f"""import {{ loadSync }} from './bundle/sync.js';
import weights from './bundle/{shard}';
{module}const model = loadSync({{ {"module, " if module else ""}weights }});
const answer = x => ({{ backend: model.backend, y: [...model.run({{ x }}).y] }});
"""
    got = answer(bundles / form, script, tmp_path, date)
    assert got["backend"] == ("wasm" if variant else "js")
    np.testing.assert_allclose(np.reshape(got["y"], models.X.shape), models.expected(), atol=1e-5)


@every_date
def test_a_single_file_runs_on_js(date: str, bundles: Path, tmp_path: Path) -> None:
    script = """import { load } from './bundle/index.js';
const answer = async x => {
  const model = await load();
  const { y } = await model.run({ x });
  return { backend: model.backend, failures: model.failures, y: [...y] };
};
"""
    got = answer(bundles / "single", script, tmp_path, date)
    assert got["backend"] == "js"
    (failure,) = got["failures"]
    assert failure["code"] == "CompileFailed"
    assert "Cloudflare Workers need sync.js" in failure["message"]
    np.testing.assert_allclose(np.reshape(got["y"], models.X.shape), models.expected(), atol=1e-5)


def test_the_asynchronous_api_of_a_folder_names_the_other(bundles: Path, tmp_path: Path) -> None:
    script = """import { load } from './bundle/index.js';
const answer = () => load().catch(({ code, message }) => ({ code, message }));
"""
    got = answer(bundles / "folder", script, tmp_path, "2026-11-01")
    assert got["code"] == "NoImport"
    assert "sync.js" in got["message"]
    assert "--format single" in got["message"]
