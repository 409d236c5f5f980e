"""Files that the tests of front ends write are not hostile: probes look at them in this process,
which takes milliseconds instead of a second.
"""

import importlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from webkiln.frontends.core import probe
from webkiln.frontends.keras import probe as keras_probe


@pytest.fixture(autouse=True)
def trust_files(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that are marked `probes` keep the processes that builds have."""
    if request.node.get_closest_marker("probes") is None:
        for module in (probe, keras_probe):
            monkeypatch.setattr(module, "run_probe", run_here)
        monkeypatch.setattr(probe, "limit_resources", lambda path: None)
        monkeypatch.setattr(keras_probe, "limit_resources", lambda path: None)


def run_here(module: str, path: Path, arguments: Sequence[str] = ()) -> tuple[int | None, str]:
    """What `run_probe` returns."""
    written = io.BytesIO()
    printed = io.TextIOWrapper(written)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, str(path.absolute()), *arguments])
        patch.setattr(sys, "stdout", printed)
        status: int = importlib.import_module(module).main()
    printed.flush()
    return status, written.getvalue().decode(errors="replace")
