"""The repository's own models, built and verified through the actions that doit runs."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts import backends, legs
from webkiln.build import engine
from webkiln.build.engine import Engine
from webkiln.build.environment import environment
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.recipe import Recipe, read_recipe

MODELS = Path(__file__).resolve().parents[2] / "models"
KEPT = 2
"""How many pools of workers stay warm."""


class Model:
    """A recipe's actions, and their outputs laid out in a folder."""

    def __init__(self, engine: Engine, recipe: Recipe, folder: Path) -> None:
        self.engine, self.recipe, self.folder = engine, recipe, folder
        self.actions = ModelGraph(recipe, share())

    def bundle(self, encoding: str = "float32", *, layers: bool = False) -> Path:
        choice = Selection(self.recipe.backends, encoding, layers)
        target = self.folder / f"bundle{choice.suffix.replace(':', '-')}"
        self.engine.publish(self.actions.bundle(choice), "bundle/", target)
        return target

    def file(self, action: object, name: str) -> Path:
        """A copy of one output file of an action, to change at will."""
        blob = self.engine.run(action).outputs[name]  # type: ignore[arg-type]
        copy = self.folder / blob.sha256
        shutil.copyfile(self.engine.cache.store.path(blob.sha256), copy)
        return copy

    def verify(self, encoding: str, browser: str) -> list[dict[str, object]]:
        """The results on every backend that a host runs; those of the others say why they have none."""
        from webkiln import canonical

        choice = Selection(backends(browser), encoding)
        results = [canonical.read(self.file(action, "result.json")) for action in self.actions.verify(choice, browser)]
        ran = [result for result in results if "not_run" not in result]
        assert {(result["backend"], result["variant"] or None) for result in ran} == legs(browser)
        return ran


@pytest.fixture(scope="module")
def model(request, tmp_path_factory):
    """`request.param`: the name of a model."""
    folder = tmp_path_factory.mktemp(request.param)
    with Engine(folder / ".webkiln") as session:
        yield Model(session, read_recipe(MODELS / request.param / "recipe.toml"), folder)


class WarmPool(LocalPool):
    """A pool that outlives its engine."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="session", autouse=True)
def warm_workers() -> Iterator[None]:
    """Engines of this tree whose workers would have the same environment share them; those whose code has changed are replaced as ever."""
    pools: dict[tuple[tuple[str, str], ...], WarmPool] = {}

    def pool(pythonpath: Path, size: int | None = None, homes: Path | None = None) -> LocalPool:
        if pythonpath != share().package.parent:
            return LocalPool(pythonpath, size, homes)
        key = (*sorted(environment(Path("home"), pythonpath, os.environ).items()), ("size", str(size)))
        pools[key] = pools.pop(key, None) or WarmPool(pythonpath, size)
        while len(pools) > KEPT:
            LocalPool.close(pools.pop(next(iter(pools))))
        return pools[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "LocalPool", pool)
        yield
    for warm in pools.values():
        LocalPool.close(warm)
