"""The import of Keras."""

import importlib
import sys
from pathlib import Path

import pytest

from webkiln.frontends.keras import framework


def test_extras_are_hidden_during_the_import_of_keras_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("imported_extra", "other_extra"):
        (tmp_path / f"{name}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(framework, "EXTRAS", ("imported_extra", "other_extra", "missing_extra"))
    first = importlib.import_module("imported_extra")
    with framework.without_extras():
        assert importlib.import_module("imported_extra") is first, "what is imported already stays"
        for name in ("other_extra", "missing_extra"):
            with pytest.raises(ImportError):
                importlib.import_module(name)
    assert importlib.import_module("other_extra").__file__ == str(tmp_path / "other_extra.py")
    with pytest.raises(ImportError):
        importlib.import_module("missing_extra")


def test_extras_are_restored_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framework, "EXTRAS", ("missing_extra",))
    with pytest.raises(ZeroDivisionError), framework.without_extras():
        _ = 1 / 0
    assert "missing_extra" not in sys.modules
