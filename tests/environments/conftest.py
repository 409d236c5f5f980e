from pathlib import Path

import pytest

from tests.environments import models


@pytest.fixture(scope="session")
def bundles(run_folder: Path) -> Path:
    """A folder with the bundles `folder` and `single` of the dense layer, and `js`, a folder
    without wasm.
    """
    home = run_folder / "environments"
    home.mkdir(exist_ok=True)
    source = models.write(home / "dense.onnx")
    models.build(source, home / "folder", "--backend", "wasm,js")
    models.build(source, home / "single", "--backend", "wasm,js", "--format", "single")
    models.build(source, home / "js", "--backend", "js")
    return home
