from pathlib import Path

import pytest

from tests.build.models import MODELS, Model
from tests.build.tree import Tree, checkout


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


@pytest.fixture
def tree(model: Model, tmp_path: Path) -> Tree:
    """A fresh checkout with an empty cache."""
    return checkout(tmp_path / "tree", tmp_path / "cache", toy=model.toy)


@pytest.fixture
def toy(tmp_path: Path) -> Tree:
    return checkout(tmp_path / "tree", tmp_path / "cache", toy=True)
