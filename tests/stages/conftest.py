import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / folder) for folder in ("runtime", "browser")]


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import fake_bundle

    return fake_bundle.build(tmp_path_factory.mktemp("layers"), keep_layers=True)
