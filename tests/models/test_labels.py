"""Labels that a recipe downloads: fetched like sources, cached, and rejected by name if they are
unavailable.
"""

import functools
import http.server
import json
import threading
from contextlib import contextmanager

import onnx
import pytest
from onnx import helper

from tests.frontends.onnx.models import floats, model
from tests.models.conftest import MODELS, Model
from tests.runtime import fake_bundle
from webkiln import canonical
from webkiln.backends.host import read_manifest
from webkiln.build.engine import Engine
from webkiln.errors import RecipeError, SourceError
from webkiln.recipe.read import parse_recipe, read_recipe
from webkiln.recipe.recipe import LabelsFile, with_parameters
from webkiln.recipe.sources import UrlSource

NAMES = ["cat", "dog", "größe"]
FILES = {
    "list": json.dumps(NAMES),
    "table": json.dumps({"2": "größe", "0": "cat", "1": "dog"}),
    "table of Keras": json.dumps(
        {str(number): [f"n0{number}", name] for number, name in enumerate(NAMES)}
    ),
    "text": "\n".join([*NAMES, ""]),
}
NETWORKS = [
    "densenet121",
    "efficientnetb0",
    "inceptionv3",
    "mobilenetv2",
    "resnet50",
    "vgg16",
    "xception",
]


@contextmanager
def served(folder):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "net").mkdir()
    onnx.save(
        model([helper.make_node("Relu", ["x"], ["y"])], [floats("x", 1, 3)], [floats("y", 1, 3)]),
        tmp_path / "net" / "net.onnx",
    )

    def make(url, sha256):
        table = {"source": "net.onnx", "backends": ["js"], "labels": {"url": url, "sha256": sha256}}
        with Engine(tmp_path / ".webkiln") as engine:
            return Model(
                engine, parse_recipe("net", table, tmp_path / "net" / "recipe.toml"), tmp_path
            ).bundle()

    return make


def test_labels_are_downloaded_once(built, tmp_path):
    (tmp_path / "labels").write_text(FILES["list"])
    with served(tmp_path) as url:
        digest = canonical.file_digest(tmp_path / "labels")
        bundle = built(f"{url}/labels", digest)
        assert read_manifest(bundle)["outputs"][0]["labels"] == NAMES
        with pytest.raises(
            SourceError,
            match=rf"/labels: the sha256 is {digest}, the recipe says 0+; the file changed",
        ):
            built(f"{url}/labels", "0" * 64)
        with pytest.raises(
            SourceError,
            match=(
                r"/other: cannot be downloaded: .*; without network access, write the labels"
                r" into the"
                r" recipe"
            ),
        ):
            built(f"{url}/other", digest)
    (tmp_path / "labels").unlink()
    assert read_manifest(built(f"{url}/labels", digest))["outputs"][0]["labels"] == NAMES


@pytest.mark.parametrize("form", FILES)
def test_forms_of_files(form, tmp_path):
    (tmp_path / "labels").write_text(FILES[form], "utf-8")
    assert fake_bundle.stage("bundle").read_labels(tmp_path / "labels") == NAMES


@pytest.mark.parametrize("text", ["3", '{"1": "a"}', "[1, 2]", '[["a"]]', '{"0": []}', "\x00\xff"])
def test_invalid_files_of_labels_are_errors(text, tmp_path):
    (tmp_path / "labels").write_bytes(text.encode("latin-1"))
    with pytest.raises(RecipeError, match="labels: the file is neither a JSON list of names"):
        fake_bundle.stage("bundle").read_labels(tmp_path / "labels")


@pytest.mark.parametrize("name", NETWORKS)
def test_trained_networks_have_the_labels_of_imagenet(name):
    recipe = read_recipe(MODELS / name / "recipe.toml")
    assert isinstance(recipe.bundle.labels, LabelsFile)
    assert (
        recipe.labels_file
        == recipe.bundle.labels.file
        == UrlSource(recipe.bundle.labels.file.url, recipe.bundle.labels.file.sha256)
    )
    assert recipe.bundle.labels.file.url.endswith("/imagenet_class_index.json")
    assert with_parameters(recipe, {"weights": "random"}).labels_file is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            {"url": "https://example.org/l", "sha256": "12"},
            "labels.sha256 is '12', expected 64 lower-case hexadecimal digits",
        ),
        ({"url": "https://example.org/l"}, "labels is .*, expected a list of strings, or a table"),
        (
            {"url": "https://example.org/l", "sha256": "0" * 64, "whem": {}},
            "labels is .*, expected a list of strings, or a table",
        ),
        (
            {"url": "https://example.org/l", "sha256": "0" * 64, "when": {"a": []}},
            "labels is .*, expected a list of strings, or a table",
        ),
    ],
)
def test_invalid_declarations_of_labels_are_errors(labels, message, tmp_path):
    with pytest.raises(RecipeError, match=message):
        parse_recipe(
            "net", {"source": "net.keras", "labels": labels}, tmp_path / "net" / "recipe.toml"
        )
