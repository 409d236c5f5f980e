"""Builds against a remote cache that fails at random, each in a tree and a cache of its own: none may publish a wrong byte.

`python -m tests.build.soak_remote [BUILDS] [SEED]`; of the builds some write, some have a key, and entries are poisoned for those.
"""

import os
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest import mock

from tests.build.remotes import Faulty
from tests.build.tree import checkout
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import Share
from webkiln.recipe import read_recipe

FAULTS = ("", "", "", "", "500", "403", "full", "bytes", "entries", "garbage", "cut", "gone")
PASSES = ("drop_noop", "sort_nothing")


class Moody(Faulty):
    """A server that fails anew at every request."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def answer(self, *arguments: object, **more: object) -> None:
        self.change()
        super().answer(*arguments, **more)  # type: ignore[arg-type]

    def take(self, *arguments: object, **more: object) -> None:
        self.change()
        super().take(*arguments, **more)  # type: ignore[arg-type]

    def change(self) -> None:
        self.fault = self.random.choice(FAULTS)
        self.counts[self.fault] += 1
        if self.fault == "gone" and self.held:
            self.held.pop(self.random.choice([*self.held]), None)


class Soak:
    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.tree = checkout(folder / "tree", folder / "cache", toy=True)
        self.share = Share(self.tree.root, self.tree.root / "pipeline" / "webkiln")
        self.pool = LocalPool(self.tree.root / "pipeline", size=1)
        self.key = folder / "secret"
        self.key.write_bytes(os.urandom(32))
        self.expected = self.build(folder / "alone", {})

    def build(self, place: Path, environment: dict[str, str]) -> dict[str, bytes]:
        recipe = read_recipe(self.tree.root / "models" / "toy" / "recipe.toml")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WEBKILN")}
        with (
            mock.patch.dict(os.environ, kept | environment, clear=True),
            Engine(place / "state", cache=place / "cache", shared=self.share, executor=self.pool) as engine,
        ):
            engine.publish(ModelGraph(recipe, self.share, PASSES).bundle(Selection(recipe.backends)), "bundle/", place / "bundle")
        return {path.name: path.read_bytes() for path in (place / "bundle").iterdir()}

    def round(self, server: Moody, number: int) -> None:
        environment = {"WEBKILN_REMOTE_CACHE": server.url} | ({"WEBKILN_CACHE_WRITE": "1"} if self.random.random() < 0.5 else {})
        environment |= {"WEBKILN_CACHE_KEY": f"hmac:{self.key}"} if self.random.random() < 0.5 else {}
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            found = self.build(Path(place), environment)
        assert found == self.expected, f"build {number} published other bytes"

    def close(self) -> None:
        self.pool.close()


def main(builds: int, seed: int) -> Counter[str]:
    """The requests by how they were answered."""
    with tempfile.TemporaryDirectory() as folder, mock.patch("sys.stderr"):
        soak, server = Soak(Path(folder), seed), Moody(seed)
        try:
            for number in range(builds):
                soak.round(server, number)
        finally:
            server.close()
            soak.close()
    return server.counts


if __name__ == "__main__":
    count, start = (int(sys.argv[n]) if len(sys.argv) > n else default for n, default in ((1, 1000), (2, 0)))
    asked = main(count, start)
    told = ", ".join(f"{name or 'good'} {n}" for name, n in asked.most_common())
    print(f"{count} builds, none with a wrong byte; {sum(asked.values())} requests: {told}")
