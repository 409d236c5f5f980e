from pathlib import Path

import pytest

from tests.runtime import fake_bundle


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fake_bundle.build(tmp_path_factory.mktemp("layers"), keep_layers=True)
