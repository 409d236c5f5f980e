import shutil
from pathlib import Path

import pytest

from tests.runtime import fake_bundle


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def layers_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("layers"), keep_layers=True)


@pytest.fixture
def bundle_copy(bundle: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(bundle, tmp_path / "fake"))
