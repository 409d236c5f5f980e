"""Files written by frontend tests are trusted: probes run in this process, which takes milliseconds
instead of a second.
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
    """Modules marked `probes` keep the subprocesses of builds."""
    if request.node.get_closest_marker("probes") is None:
        for module in (probe, keras_probe):
            monkeypatch.setattr(module, "run_probe", run_here)
        monkeypatch.setattr(probe, "limit_resources", lambda path: None)
        monkeypatch.setattr(keras_probe, "limit_resources", lambda path: None)


def run_here(module: str, path: Path, arguments: Sequence[str] = ()) -> tuple[int | None, str]:
    """Run a probe in this process; the result is that of `run_probe`."""
    buffer = io.BytesIO()
    output = io.TextIOWrapper(buffer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [module, str(path.absolute()), *arguments])
        patch.setattr(sys, "stdout", output)
        status: int = importlib.import_module(module).main()
    output.flush()
    return status, buffer.getvalue().decode(errors="replace")
