"""The models of the repository, built and verified through the actions that doit runs."""

import shutil
from pathlib import Path

import pytest

from tests.hosts import backends, legs
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.recipe.read import read_recipe
from webkiln.recipe.recipe import Recipe

MODELS = Path(__file__).resolve().parents[2] / "models"


class Model:
    """The actions of a recipe, and their outputs in a folder."""

    def __init__(self, engine: Engine, recipe: Recipe, folder: Path) -> None:
        self.engine, self.recipe, self.folder = engine, recipe, folder
        self.actions = ModelGraph(recipe, share())

    def bundle(self, encoding: str = "float32", *, layers: bool = False) -> Path:
        choice = Selection(self.recipe.backends, encoding, layers)
        target = self.folder / f"bundle{choice.suffix.replace(':', '-')}"
        self.engine.publish(self.actions.bundle(choice), "bundle/", target)
        return target

    def file(self, action: object, name: str) -> Path:
        """A modifiable copy of one output file of an action."""
        blob = self.engine.run(action).outputs[name]  # type: ignore[arg-type]
        copy = self.folder / blob.sha256
        shutil.copyfile(self.engine.cache.store.path(blob.sha256), copy)
        return copy

    def verify(self, encoding: str, browser: str) -> list[dict[str, object]]:
        """The results on every backend that a host runs; results of other backends have a
        reason.
        """
        from webkiln import canonical

        choice = Selection(backends(browser), encoding)
        results = [
            canonical.read(self.file(action, "result.json"))
            for action in self.actions.verify(choice, browser)
        ]
        ran = [result for result in results if "not_run" not in result]
        assert {(result["backend"], result["variant"] or None) for result in ran} == legs(browser)
        return ran


@pytest.fixture(scope="module")
def model(request, tmp_path_factory):
    """`request.param`: the name of a model."""
    folder = tmp_path_factory.mktemp(request.param)
    with Engine(folder / ".webkiln") as session:
        yield Model(session, read_recipe(MODELS / request.param / "recipe.toml"), folder)
