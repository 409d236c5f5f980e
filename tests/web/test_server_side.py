"""The same import in code that runs on a server, in Node."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.web import pages, project

SOURCE = Path(__file__).parent / "projects" / "server"
PIXELS = json.dumps([float(pixel) for pixel in pages.pixels().ravel()])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    project.need_packages()
    return project.lay(tmp_path, SOURCE)


def check(said: str) -> None:
    got: dict[str, Any] = json.loads(said.splitlines()[-1])
    assert (got["backend"], got["worker"]) == ("wasm", True)
    np.testing.assert_allclose(got["scores"], pages.reference(), atol=1e-5)


@pytest.mark.parametrize("tool", ["vite", "rollup", "esbuild"])
@pytest.mark.sample("vite")
def test_a_build_runs_in_node(tool: str, place: Path) -> None:
    project.run(project.command_of(place, (tool,)), place)
    moved = (place / "dist").rename(place.parent / "elsewhere")
    (place / ".webkiln").rename(place.parent / "gone")  # what is deployed stands by itself
    (moved / "run.mjs").write_text(
        "import { answer } from './answer.js';\nconsole.log(JSON.stringify(await"
        f" answer({PIXELS})));\n",
        "utf-8",
    )
    check(project.run("node run.mjs", moved))


def test_the_server_of_development_runs_it(place: Path) -> None:
    check(project.run(project.command_of(place, ("serve", f"'{PIXELS}'")), place))


def test_importing_a_bundle_does_nothing(bundle: Path) -> None:
    """No class of browsers is looked at before `load`."""
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
