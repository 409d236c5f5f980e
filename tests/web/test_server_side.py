"""The import in code that runs on a server, in Node."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.web import pages, project

SOURCE = Path(__file__).parent / "projects" / "server"
PIXELS = json.dumps([float(pixel) for pixel in pages.pixels().ravel()])


@pytest.fixture
def project_root(tmp_path: Path) -> Path:
    project.need_packages()
    return project.copy_project(tmp_path, SOURCE)


def check(output: str) -> None:
    answer: dict[str, Any] = json.loads(output.splitlines()[-1])
    assert (answer["backend"], answer["worker"]) == ("wasm", True)
    np.testing.assert_allclose(answer["scores"], pages.reference(), atol=1e-5)


@pytest.mark.parametrize("tool", ["vite", "rollup", "esbuild"])
@pytest.mark.sample("vite")
def test_a_build_runs_in_node(tool: str, project_root: Path) -> None:
    project.run(project.command_of(project_root, (tool,)), project_root)
    moved = (project_root / "dist").rename(project_root.parent / "elsewhere")
    (project_root / ".webkiln").rename(
        project_root.parent / "moved"
    )  # the deployed files need no others
    (moved / "run.mjs").write_text(
        "import { answer } from './answer.js';\nconsole.log(JSON.stringify(await"
        f" answer({PIXELS})));\n",
        "utf-8",
    )
    check(project.run("node run.mjs", moved))


def test_the_dev_server_runs_it(project_root: Path) -> None:
    check(project.run(project.command_of(project_root, ("serve", f"'{PIXELS}'")), project_root))


def test_importing_a_bundle_does_nothing(bundle: Path) -> None:
    """A bundle uses no browser class before `load`."""
    code = (
        "delete globalThis.fetch; delete globalThis.WebAssembly; import('./index.js').then(({"
        " manifest }) => console.log(manifest.name))"
    )
    assert project.run(f'node --input-type=module --eval "{code}"', bundle).strip() == "digits"


def test_a_worker_starts_from_code_on_the_command_line(bundle: Path) -> None:
    code = (
        "import('./index.js').then(({ load }) => load({ backends: 'js' })).then(model => {"
        " console.log(model.worker); model.dispose(); })"
    )
    assert project.run(f'node --input-type=module --eval "{code}"', bundle).strip() == "true"
