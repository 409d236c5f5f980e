"""Temporary checkouts: of the repository, or with tiny stages of the same contract."""

import atexit
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.warm import WarmPool
from webkiln.build import progress
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import Share
from webkiln.recipe.read import read_recipe

REPOSITORY = Path(__file__).resolve().parents[2]
TOY = Path(__file__).parent / "toy"
PASSES = ("drop_noop", "sort_nothing")
"""The passes of the toy."""
IGNORED = shutil.ignore_patterns("__pycache__", "node_modules")
UNFINISHED = shutil.ignore_patterns("*.pyc.*")
"""Temporary files of byte code that Python is about to rename."""


@dataclass(frozen=True)
class Tree:
    """A checkout with its own cache. `model`: the model that it builds."""

    root: Path
    cache: Path
    model: str

    @property
    def state(self) -> Path:
        return self.root / ".webkiln"

    @property
    def bundle(self) -> Path:
        return self.root / "dist" / self.model

    def environment(self, **variables: str) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WEBKILN", "PYTEST", "PYTHONPATH"))
        }
        return inherited | {
            "PYTHONPATH": str(self.root / "pipeline"),
            "WEBKILN_CACHE": str(self.cache),
            **variables,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "doit", *arguments]

    def doit(self, *arguments: str, status: int = 0, **environment: str) -> str:
        """Run doit in this tree. Returns stdout and stderr."""
        return self._run(self.command(*arguments), status, environment)

    def webkiln(self, *arguments: str, status: int = 0, **environment: str) -> str:
        """Run webkiln in this tree. Returns stdout and stderr."""
        return self._run([sys.executable, "-m", "webkiln.cli", *arguments], status, environment)

    def _run(self, command: list[str], status: int, environment: dict[str, str]) -> str:
        process = subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(**environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode == status, process.stdout
        return process.stdout

    def build(self, *arguments: str, **environment: str) -> Counter[str]:
        """Build the model. Returns the number of executions of each task, without cache hits."""
        before = len(self.log())
        self.doit("build", f"model={self.model}", *arguments, **environment)
        return executed(self.log()[before:])

    def make(self, **environment: str) -> Counter[str]:
        """Like `build`, but the engine of this process builds the toy, with the stages of this
        tree. The toy's package must be unchanged.
        """
        if self.model != "toy":
            return self.build(**environment)
        toy = _toy()
        package, toy_package = self.root / "pipeline" / "webkiln", toy.root / "pipeline" / "webkiln"
        edited = [
            path
            for path in toy_package.rglob("*.py")
            if not _has_equal_stamp(path, package / path.relative_to(toy_package))
        ]
        assert not edited, f"{edited} are edited: build by doit"
        before = len(self.log())
        share = Share(self.root, package)
        progress.warn.cache_clear()
        with (
            mock.patch.dict(os.environ, self.environment(**environment), clear=True),
            Engine(
                self.state, cache=Path(os.environ["WEBKILN_CACHE"]), shared=share, executor=toy.pool
            ) as engine,
        ):
            recipe = read_recipe(self.root / "models" / "toy" / "recipe.toml")
            action = ModelGraph(recipe, share, PASSES).bundle(Selection(recipe.backends))
            engine.publish(action, "bundle/", self.bundle)
        return executed(self.log()[before:])

    def log(self) -> list[dict[str, object]]:
        path = self.state / "log.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert old in text, f"{path} does not contain {old!r}"
        file.write_text(text.replace(old, new))

    def wipe(self) -> None:
        shutil.rmtree(self.state, ignore_errors=True)
        shutil.rmtree(self.root / "dist", ignore_errors=True)

    def bytes(self) -> dict[str, bytes]:
        return {
            path.relative_to(self.bundle).as_posix(): path.read_bytes()
            for path in self.bundle.rglob("*")
            if path.is_file()
        }


def executed(log: list[dict[str, object]]) -> Counter[str]:
    return Counter(str(line["task"]) for line in log if line["event"] == "execute")


def checkout(root: Path, cache: Path, *, toy: bool) -> Tree:
    """Copy the working tree. A toy replaces stages, passes, kernels and models by small ones.

    The cache contains the imports of webkiln's own files and the versions of the compilers, which
    take most of the time of a first build.
    """
    tree = copy_checkout(root, cache, toy=toy)
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "derived.json").write_bytes(_clean_build().derived)
    return tree


@dataclass(frozen=True)
class CleanBuild:
    """The bundle and the cache of a clean build of the unchanged toy: path -> content."""

    bundle: dict[str, bytes]
    cache: dict[str, bytes]

    @property
    def derived(self) -> bytes:
        return self.cache["derived.json"]


@dataclass(frozen=True)
class Toy:
    """A checkout of the toy, and workers with its package. They serve all checkouts with an equal
    package.
    """

    root: Path
    pool: WarmPool


@functools.cache
def _toy() -> Toy:
    folder = tempfile.mkdtemp(prefix="webkiln-toy-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    tree = copy_checkout(Path(folder) / "tree", Path(folder) / "cache", toy=True)
    pool = WarmPool(tree.root / "pipeline", size=1)
    atexit.register(LocalPool.close, pool)
    return Toy(tree.root, pool)


def _has_equal_stamp(one: Path, other: Path) -> bool:
    a, b = (path.stat() if path.exists() else None for path in (one, other))
    return (
        a is not None and b is not None and (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)
    )


@functools.cache
def _clean_build() -> CleanBuild:
    with tempfile.TemporaryDirectory() as folder:
        tree = copy_checkout(Path(folder) / "tree", Path(folder) / "cache", toy=True)
        tree.build()
        paths = (
            path
            for name in ("derived.json", "actions", "blobs", "reads")
            for path in (tree.cache / name, *(tree.cache / name).rglob("*"))
        )
        return CleanBuild(
            tree.bytes(),
            {
                path.relative_to(tree.cache).as_posix(): path.read_bytes()
                for path in paths
                if path.is_file()
            },
        )


def toy_bundle() -> dict[str, bytes]:
    """The bundle of the unchanged toy, which is built once per process."""
    return dict(_clean_build().bundle)


def warm(tree: Tree) -> Tree:
    """Fill the cache of the tree with all results of the unchanged toy, as if another tree had
    built it. Does nothing for other models.
    """
    if tree.model != "toy":
        return tree
    for name, data in _clean_build().cache.items():
        path = tree.cache / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tree


def prebuilt(tree: Tree) -> Tree:
    """Publish the bundle of the tree, for the toy from the cache."""
    warm(tree).make()
    return tree


def copy_checkout(root: Path, cache: Path, *, toy: bool) -> Tree:
    """Like `checkout`, with an empty cache. Byte code is copied too, so that new processes need not
    compile the modules that they import.
    """
    shutil.copytree(
        REPOSITORY / "pipeline", root / "pipeline", ignore=UNFINISHED, copy_function=_link_or_copy
    )
    for name in ("dodo.py", "toolchain.lock", "requirements.lock"):
        shutil.copyfile(REPOSITORY / name, root / name)
    _register(root / "pipeline")
    if not toy:
        for name in ("stages", "kernels", "runtime", "models"):
            shutil.copytree(REPOSITORY / name, root / name, ignore=IGNORED)
        return Tree(root, cache, "digits")
    for name in ("stages", "kernels"):
        shutil.copytree(TOY / name, root / name, ignore=IGNORED)
    passes = root / "pipeline" / "webkiln" / "passes"
    shutil.rmtree(passes)
    shutil.copytree(TOY / "passes", passes, ignore=IGNORED)
    (root / "models" / "toy").mkdir(parents=True)
    (root / "runtime").mkdir()
    (root / "runtime" / "runtime.js").write_text("export const runtime = 1;\n")
    for name in ("recipe.toml", "model.json"):
        shutil.copyfile(TOY / name, root / "models" / "toy" / name)
    return Tree(root, cache, "toy")


def _link_or_copy(source: str, target: str) -> None:
    """Link byte code, which Python never changes in place. Copy all other files."""
    if source.endswith(".pyc"):
        with suppress(OSError):  # the target is on another file system
            os.link(source, target)
            return
    shutil.copy2(source, target)


def _register(pipeline: Path) -> None:
    """Register the entry points of this checkout with doit, without an installation."""
    entry_points = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]
    info = pipeline / "webkiln-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: webkiln\nVersion: 0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in table.items())
        for group, table in entry_points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def python(tree: Tree, *arguments: str, status: int = 0) -> str:
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=tree.root,
        env=tree.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == status, process.stdout + process.stderr
    return process.stdout + process.stderr
