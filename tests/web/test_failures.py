"""What a build says of an import that cannot be built."""

from pathlib import Path

import pytest

from tests.web import project
from tests.web.project import SOURCE

TOOLS = ["vite", "rollup", "webpack", "esbuild"]


def place_with(tmp_path: Path, imported: str) -> Path:
    project.need_packages()
    place = project.lay(tmp_path, SOURCE)
    (place / "src" / "main.js").write_text(
        f"import {{ load }} from '{imported}';\nload();\n", "utf-8"
    )
    return place


def refused(tool: str, place: Path) -> str:
    with pytest.raises(AssertionError, match="ended with status") as caught:
        project.run(project.command_of(place, (tool,)), place)
    return str(caught.value)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.sample("esbuild")
def test_an_unsupported_layer_is_reported(tool: str, tmp_path: Path) -> None:
    """The file and the layer, in the words of webkiln."""
    import keras

    place = place_with(tmp_path, "./eighth.keras?webkiln&backend=js")
    image = keras.Input((4,), name="image")
    model = keras.Model(
        image, keras.layers.Dense(3, dtype="float8_from_float32", name="scores")(image)
    )
    model.save(place / "src" / "eighth.keras")
    said = refused(tool, place)
    assert "eighth.keras" in said
    assert "scores (Dense)" in said
    assert "quantized to float8" in said


def test_an_option_that_does_not_exist(tmp_path: Path) -> None:
    place = place_with(tmp_path, "webkiln:digits?backends=wasm")
    assert "there is no option backends; the options are name, weights, source-format" in refused(
        "rollup", place
    )


def test_no_webkiln(tmp_path: Path) -> None:
    """Each way of finding it is named."""
    place = place_with(tmp_path, "webkiln:digits")
    config = (place / "rollup.config.js").read_text("utf-8")
    (place / "rollup.config.js").write_text(
        f"process.env.PATH = '/nowhere'; delete process.env.VIRTUAL_ENV;\n{config}", "utf-8"
    )
    said = refused("rollup", place)
    assert "webkiln is not installed" in said
    assert "pip install" in said


def test_a_format_without_addresses(tmp_path: Path) -> None:
    place = place_with(tmp_path, "webkiln:digits?backend=js")
    project.edit(place / "esbuild.js", r"splitting: true,\s+format: 'esm'", "format: 'iife'")
    assert "expected esm" in refused("esbuild", place)


def test_the_command_is_found_above_the_project(tmp_path: Path) -> None:
    place = place_with(tmp_path, "webkiln:digits?backend=js")
    (place.parent / ".venv" / "bin").mkdir(parents=True)
    (place.parent / ".venv" / "bin" / "webkiln").symlink_to(
        project.ROOT / ".venv" / "bin" / "webkiln"
    )
    config = (place / "rollup.config.js").read_text("utf-8")
    (place / "rollup.config.js").write_text(f"delete process.env.VIRTUAL_ENV;\n{config}", "utf-8")
    project.run(project.command_of(place, ("rollup",)), place)
    assert list((place / "public" / "src" / "webkiln").glob("digits-*/js.js"))
