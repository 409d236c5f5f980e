"""The command line without a package: one error that names what to install, never a traceback."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.commands.blocked import without
from tests.commands.conftest import Command
from tests.frontends.onnx.models import classifier
from webkiln.errors import RecipeError, ToolError
from webkiln.recipe.sources import find_module

CASES = {
    "onnx": ("onnx", ["build", "net.onnx", "-o", "out"], "pip install onnx"),
    "inspect onnx": ("onnx", ["inspect", "net.onnx"], "pip install onnx"),
    "h5": ("h5py", ["build", "good.h5", "-o", "out"], "pip install h5py"),
    "keras": ("keras", ["build", "mine:make", "-o", "out"], "pip install keras tensorflow-cpu"),
    "custom layer": (
        "keras",
        ["build", "good.keras", "-o", "out", "--plugin", "plugin.py"],
        "pip install keras tensorflow-cpu",
    ),
    "chromium": (
        "selenium",
        ["run", "BUNDLE", "--browser", "chromium", "--inputs", "in.npz", "--outputs", "out.npz"],
        "pip install selenium",
    ),
    "summary": (
        "brotli",
        ["build", "good.keras", "-o", "out", "--backend", "js"],
        "pip install brotli",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_missing_package_is_named(
    case: str, webkiln: Command, sources: Path, bundle: Path, tmp_path: Path
) -> None:
    package, arguments, advice = CASES[case]
    onnx.save(classifier(), tmp_path / "net.onnx")
    np.savez(tmp_path / "in.npz", x=np.ones((1, 4), np.float32))
    (tmp_path / "plugin.py").write_text("import keras\n")
    (tmp_path / "mine.py").write_text(
        "def make():\n    import keras\n\n    return keras.Sequential()\n"
    )
    for name in ("good.keras", "good.h5"):
        (tmp_path / name).symlink_to(sources / name)
    settings = without(tmp_path, package) | {"WEBKILN_CACHE": str(tmp_path / "cache")}
    done = webkiln(*[str(bundle) if text == "BUNDLE" else text for text in arguments], env=settings)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "please report" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert advice in done.stderr


def test_a_module_outside_the_path_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(
        ToolError, match=r"^net: keras is not installed: pip install keras tensorflow-cpu$"
    ):
        find_module("keras.applications:MobileNetV2", (tmp_path,), "net")
    (tmp_path / "keras").mkdir()
    (tmp_path / "keras" / "__init__.py").write_text("")
    with pytest.raises(RecipeError, match=r"there is no module keras\.nonsense in"):
        find_module("keras.nonsense:Net", (tmp_path,), "net")


def test_without_a_compiler_the_bundle_has_no_wasm(
    webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    """PATH has only the programs of this Python and of Node."""
    import shutil
    import sys

    programs = tmp_path / "programs"
    programs.mkdir()
    for name, path in (("python3", sys.executable), ("node", shutil.which("node"))):
        (programs / name).symlink_to(path or name)
    settings_without_compiler = {
        "PATH": str(programs),
        "EMSDK": "",
        "WEBKILN_CACHE": str(tmp_path / "cache"),
    }
    settings = without(tmp_path, "ziglang") | settings_without_compiler
    done = webkiln("build", sources / "good.keras", "-o", "out", env=settings)
    assert done.returncode == 0, done.stderr
    assert "built without wasm" in done.stderr
    assert 'pip install "webkiln[compiler]"' in done.stderr
    assert (tmp_path / "out" / "js.js").is_file()
    assert not (tmp_path / "out" / "wasm.js").exists()
