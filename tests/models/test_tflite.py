"""LiteRT files from a recipe to verified bundles."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.tflite.files import dense, with_metadata
from tests.frontends.tflite.operator_model import model_bytes
from tests.hosts import PAGES
from tests.models.conftest import Model
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import BACKENDS

CORPUS = Path(__file__).parents[1] / "frontends" / "tflite" / "corpus"


@pytest.fixture
def built(request, tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    (folder / "net.tflite").write_bytes((CORPUS / f"{request.param}.tflite").read_bytes())
    (folder / "recipe.toml").write_text(
        f'source = "net.tflite"\nbackends = {json.dumps(BACKENDS)}\n'
    )
    with Engine(tmp_path / ".webkiln") as engine:
        yield Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)


@pytest.mark.parametrize(
    "built",
    ["branches.int8", "residual.int16x8", "dense.dynamic", "conv_same.float16", "open_batch.float"],
    indirect=True,
)
@pytest.mark.sample("open_batch.float")
def test_bundles_agree_with_the_interpreter(built):
    for browser in PAGES:
        results = built.verify("float32", browser)
        assert results
        assert all(row["passed"] for result in results for row in result["outputs"]), results


def test_a_build_on_the_command_line(tmp_path, capsys):
    (tmp_path / "net.tflite").write_bytes(
        with_metadata(model_bytes(dense()), "cat\ndog\nowl\nelk\n")
    )
    out = tmp_path / "out"
    assert main(["build", str(tmp_path / "net.tflite"), "-o", str(out), "--backend", "js"]) == 0
    manifest = read_manifest(out)
    assert manifest["outputs"][0]["labels"] == ["cat", "dog", "owl", "elk"]
    (outputs_of_run,) = run_bundle(out, "js", [{"x0": np.ones((2, 6), np.float32)}])
    assert outputs_of_run.outputs["y0"].shape == (2, 4)
    assert (
        main(
            [
                "build",
                str(tmp_path / "net.tflite"),
                "-o",
                str(out),
                "--backend",
                "js",
                "--signature",
                "other",
            ]
        )
        == 2
    )
    assert "there is no signature or graph 'other'; available: main" in capsys.readouterr().err
