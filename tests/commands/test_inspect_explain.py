"""`webkiln inspect` and `webkiln explain` on a real model and its bundle."""

from pathlib import Path

import pytest

from tests.commands.conftest import Command
from tests.commands.tables import rows
from webkiln.backends.host import read_manifest

PARAMETERS = {"conv": 8 * 9 + 8, "scores": 4 * 4 * 8 * 4 + 4}


def test_inspect_shows_layers_and_kernels(webkiln: Command, sources: Path, tmp_path: Path) -> None:
    done = webkiln("inspect", sources / "good.keras", "--kernels")
    assert (done.returncode, done.stderr) == (0, "")
    inspected_rows = rows(done.stdout, "good: the source")
    assert inspected_rows["x"] == ["input", "float32[1,6,6,1]", "0"]
    assert inspected_rows["conv"] == ["Conv Relu", "float32[1,4,4,8]", str(PARAMETERS["conv"])]
    assert inspected_rows["scores"] == [
        "MatMul Add Softmax",
        "float32[1,4]",
        str(PARAMETERS["scores"]),
    ]
    assert inspected_rows["3 layers"] == [str(sum(PARAMETERS.values()))]
    for backend in ("wasm", "js"):
        conv = rows(done.stdout, f"good, {backend}")["conv"]
        assert conv[0].startswith("k_")
        assert 2 * 4 * 4 * 8 * 9 <= int(conv[1].replace(",", "")) <= 2.5 * 4 * 4 * 8 * 9
        assert "at a time" in conv[3]
    assert "panels of" in done.stdout, "inspect says how wasm reads the weights"
    assert list(tmp_path.iterdir()) == []


def test_inspect_uses_sizes_and_backends(webkiln: Command, sources: Path) -> None:
    done = webkiln(
        "inspect", sources / "good.h5", "--batch-size", "3", "--backend", "js", "--kernels"
    )
    assert done.returncode == 0, done.stderr
    assert rows(done.stdout, "good: the source")["x"][1] == "float32[3,6,6,1]"
    assert "good, wasm" not in done.stdout


@pytest.mark.parametrize("encoding", ["float32", "int8"])
def test_explain_shows_the_steps_of_the_bundle(
    encoding: str, webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    built = webkiln("build", sources / "good.keras", "-o", "public/good", "--encoding", encoding)
    assert (built.returncode, built.stderr) == (0, "")
    inspected = webkiln("inspect", sources / "good.keras", "--kernels").stdout
    done = webkiln("explain", "public/good")
    assert (done.returncode, done.stderr) == (0, "")
    manifest = read_manifest(tmp_path / "public" / "good")
    for backend in ("wasm", "js"):
        assert rows(done.stdout, f"good, {backend}") == rows(inspected, f"good, {backend}"), (
            "inspect promised the same kernels"
        )
        assert f"{len(manifest['launches'][backend])} launches" in done.stdout
    assert "no axis can be the vector axis" in done.stdout, "a plain kernel says why"
    assert "fuse" in rows(done.stdout, "good, wasm")["conv"][4].split()
    one = webkiln("explain", "public/good", "--backend", "js").stdout
    assert "good, js" in one
    assert "good, wasm" not in one


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("nowhere",), "there is no manifest.json"),
        (("public/good", "--backend", "webgl"), "has no backend 'webgl'; it has js"),
    ],
)
def test_explain_reports_errors(
    arguments: tuple[str, ...], part: str, webkiln: Command, sources: Path
) -> None:
    assert (
        webkiln("build", sources / "good.keras", "-o", "public/good", "--backend", "js").returncode
        == 0
    )
    done = webkiln("explain", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert part in done.stderr
