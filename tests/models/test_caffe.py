"""Caffe nets as bundles, from a recipe and from the command line, verified against OpenCV."""

import shutil
from pathlib import Path

import pytest

from tests.frontends.caffe.make import CORPUS
from tests.hosts import every_page
from tests.models.conftest import Model
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.errors import SourceError
from webkiln.recipe.read import read_recipe


@pytest.fixture
def built(request, tmp_path):
    """`request.param`: a net of the corpus, and additional lines of the recipe."""
    name, recipe = request.param
    folder = tmp_path / name
    folder.mkdir()
    for path in CORPUS.glob(f"{name}.*"):
        shutil.copy(path, folder)
    (folder / "recipe.toml").write_text(recipe)
    with Engine(tmp_path / ".webkiln") as engine:
        yield Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)


OPEN = '[input_shapes]\ndata = ["N", 3, "H", "W"]\n[sample_sizes]\nN = 3\nH = 9\nW = 10\n'


@pytest.mark.parametrize(
    "built",
    [
        ("v0", 'source = "v0.prototxt"\n'),
        ("alone", f'source = "alone.caffemodel"\n{OPEN}'),
        ("batch_norm", 'source = "batch_norm.caffemodel"\n'),
        (
            "training",
            f'source = {{ path = "training.prototxt", weights = "training.caffemodel" }}\n{OPEN}',
        ),
        ("detection", 'source = "detection.prototxt"\n'),
    ],
    indirect=True,
    ids=lambda param: param[0],
)
@every_page
@pytest.mark.sample("chromium-batch_norm")
def test_bundles_agree_with_opencv(built, browser):
    results = built.verify("float32", browser)
    assert all(row["passed"] for result in results for row in result["outputs"]), results


def test_layers_are_compared_with_those_of_opencv(tmp_path, capsys):
    bundle, source = str(tmp_path / "bundle"), str(CORPUS / "v1.prototxt")
    assert (
        main(["build", source, "-o", bundle, "--backend", "js", "--input-shape", "N,3,12,11"]) == 0
    )
    assert main(["diff", bundle, "--source", source]) == 0
    printed = capsys.readouterr().out
    assert all(
        f"  {layer} [" in printed for layer in ("conv1", "relu1", "norm1", "pool1", "fc", "prob")
    )


def test_layers_that_opencv_lacks_are_named(tmp_path):
    shutil.copy(CORPUS / "argmax.prototxt", tmp_path)
    (tmp_path / "recipe.toml").write_text('source = "argmax.prototxt"\nbackends = ["js"]\n')
    with Engine(tmp_path / ".webkiln") as engine:
        model = Model(engine, read_recipe(tmp_path / "recipe.toml"), tmp_path)
        assert (model.bundle() / "index.js").is_file()
        with pytest.raises(
            SourceError,
            match=(
                r"no reference is available for verification \(the bundle is built\): a"
                r" \(ArgMax\): OpenCV does not support it"
            ),
        ):
            model.verify("float32", "node")


def test_inspect_lists_layers(capsys):
    assert main(["inspect", str(CORPUS / "v0.prototxt"), "--backend", "js", "--kernels"]) == 0
    printed = capsys.readouterr().out
    assert all(layer in printed for layer in ("conv1", "relu1", "pool1", "norm1", "fc", "prob"))


def test_a_plugin_converts_layers_of_a_fork(tmp_path: Path, capsys):
    text = (
        'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 } } }\n'
    )
    text += (
        'layer { name: "twice" type: "Multiply" bottom: "data" top: "y" multiply_param { by: 2'
        " } }\n"
    )
    (tmp_path / "net.prototxt").write_text(text)
    (tmp_path / "plugin.py").write_text(
        "from webkiln.frontends.caffe.converter import"
        " CaffeConverter\n\n\n@CaffeConverter.register_handler('Multiply')\ndef multiply(call):\n  "
        "  return call.tensor(0) * call.attr('multiply_param.by')\n"
    )
    command = [
        "build",
        str(tmp_path / "net.prototxt"),
        "-o",
        str(tmp_path / "bundle"),
        "--backend",
        "js",
    ]
    assert main(command) == 2
    assert "twice (Multiply): no handler" in capsys.readouterr().err
    assert main([*command, "--plugin", str(tmp_path / "plugin.py")]) == 0
