"""Error messages of builds whose imports cannot be built."""

from pathlib import Path

import pytest

from tests.web import project
from tests.web.project import SOURCE

TOOLS = ["vite", "rollup", "webpack", "esbuild"]


def project_with_import(tmp_path: Path, imported: str) -> Path:
    project.need_packages()
    root = project.copy_project(tmp_path, SOURCE)
    (root / "src" / "main.js").write_text(
        f"import {{ load }} from '{imported}';\nload();\n", "utf-8"
    )
    return root


def build_error(tool: str, root: Path) -> str:
    with pytest.raises(AssertionError, match="ended with status") as error:
        project.run(project.command_of(root, (tool,)), root)
    return str(error.value)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.sample("esbuild")
def test_an_unsupported_layer_is_reported(tool: str, tmp_path: Path) -> None:
    """The message of webkiln names the file and the layer."""
    import keras

    root = project_with_import(tmp_path, "./eighth.keras?webkiln&backend=js")
    image = keras.Input((4,), name="image")
    model = keras.Model(
        image, keras.layers.Dense(3, dtype="float8_from_float32", name="scores")(image)
    )
    model.save(root / "src" / "eighth.keras")
    output = build_error(tool, root)
    assert "eighth.keras" in output
    assert "scores (Dense)" in output
    assert "quantized to float8" in output


def test_an_option_that_does_not_exist(tmp_path: Path) -> None:
    root = project_with_import(tmp_path, "webkiln:digits?backends=wasm")
    assert (
        "there is no option backends; the options are name, weights, source-format"
        in build_error("rollup", root)
    )


def test_no_webkiln(tmp_path: Path) -> None:
    """The message lists the ways to install webkiln."""
    root = project_with_import(tmp_path, "webkiln:digits")
    config = (root / "rollup.config.js").read_text("utf-8")
    (root / "rollup.config.js").write_text(
        f"process.env.PATH = '/nowhere'; delete process.env.VIRTUAL_ENV;\n{config}", "utf-8"
    )
    output = build_error("rollup", root)
    assert "webkiln is not installed" in output
    assert "pip install" in output


def test_a_format_without_addresses(tmp_path: Path) -> None:
    root = project_with_import(tmp_path, "webkiln:digits?backend=js")
    project.edit(root / "esbuild.js", r"splitting: true,\s+format: 'esm'", "format: 'iife'")
    assert "expected esm" in build_error("esbuild", root)


def test_the_command_is_found_above_the_project(tmp_path: Path) -> None:
    root = project_with_import(tmp_path, "webkiln:digits?backend=js")
    (root.parent / ".venv" / "bin").mkdir(parents=True)
    (root.parent / ".venv" / "bin" / "webkiln").symlink_to(
        project.ROOT / ".venv" / "bin" / "webkiln"
    )
    config = (root / "rollup.config.js").read_text("utf-8")
    (root / "rollup.config.js").write_text(f"delete process.env.VIRTUAL_ENV;\n{config}", "utf-8")
    project.run(project.command_of(root, ("rollup",)), root)
    assert list((root / "public" / "src" / "webkiln").glob("digits-*/js.js"))
