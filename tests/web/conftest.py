from pathlib import Path

import pytest

from tests.web import project


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of digits."""
    project.need_packages()
    return project.bundle_of("digits", tmp_path_factory.mktemp("web") / "digits")
