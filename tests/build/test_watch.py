"""`doit watch`: its rebuilds, its output, and its end."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.tree import Tree, executed
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.watch import LOOK_SECONDS, Watcher
from webkiln.recipe.read import read_recipes


class WatchProcess:
    """A running `doit watch` and its output."""

    def __init__(self, tree: Tree, *arguments: str) -> None:
        self.output = tree.root / "watch.txt"
        with self.output.open("w") as file:
            self.process = subprocess.Popen(
                tree.command("watch", *arguments),
                cwd=tree.root,
                env=tree.environment(),
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def lines(self) -> list[str]:
        return self.output.read_text().splitlines()

    def wait_for(self, *parts: str) -> str:
        """Wait until the last line contains all of these parts. Returns that line."""
        deadline = time.monotonic() + 120
        while not (self.lines() and all(part in self.lines()[-1] for part in parts)):
            assert time.monotonic() < deadline, (parts, self.lines())
            assert self.process.poll() is None, self.lines()
            time.sleep(0.05)
        return self.lines()[-1]

    def interrupt(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@pytest.fixture
def watching(toy: Tree) -> Iterator[WatchProcess]:
    watch = WatchProcess(toy)
    yield watch
    if watch.process.poll() is None:
        watch.process.kill()
        watch.process.wait()


def test_changes_are_rebuilt(toy: Tree, watching: WatchProcess) -> None:
    watching.wait_for("watching 2 files; press Ctrl-C to stop")
    assert watching.lines()[0].startswith("dist/toy: written, ")
    before = len(toy.log())
    toy.edit("models/toy/model.json", "0.5", "0.75")
    watching.wait_for("dist/toy: written, ")
    assert len(watching.lines()) == 3, "one line for a build"
    ran = executed(toy.log()[before:])
    assert ran["load:toy"] == 1, ran
    assert "compile:toy:wasm:simd" not in ran, "a change of weights compiles nothing"
    assert not toy.build(), "the bundle equals that of a build"


def test_an_error_is_reported_and_the_next_change_is_built(
    toy: Tree, watching: WatchProcess
) -> None:
    watching.wait_for("watching")
    published = toy.bytes()
    model = toy.root / "models" / "toy" / "model.json"
    text = model.read_text()
    model.unlink()
    watching.wait_for("dist/toy: error: ", "model.json: cannot be read")
    toy.edit("models/toy/recipe.toml", 'json"', 'json"\nbackends = ["jx"]')
    watching.wait_for("models: error: ", "unknown backend 'jx'; valid: webgpu, wasm, webgl, js")
    toy.edit("models/toy/recipe.toml", '\nbackends = ["jx"]', "")
    model.write_text(text.replace("0.5", "0.75"))
    watching.wait_for("dist/toy: written, ")
    assert toy.bytes() != published


def test_added_and_removed_models_are_noticed(toy: Tree, watching: WatchProcess) -> None:
    watching.wait_for("watching")
    (toy.root / "models" / "other").mkdir()
    (toy.root / "models" / "other" / "recipe.toml").write_text(
        'source = "../toy/model.json"\nbackends = ["js"]\n'
    )
    watching.wait_for("dist/other: written, ")
    (toy.root / "models" / "other" / "recipe.toml").unlink()
    toy.edit("models/toy/model.json", "0.5", "0.75")
    watching.wait_for("dist/toy: written, ")
    assert [line.partition(":")[0] for line in watching.lines()] == [
        "dist/toy",
        "watching 2 files; press Ctrl-C to stop",
        "dist/other",
        "dist/toy",
    ]


def test_ctrl_c_ends_it_cleanly(toy: Tree, watching: WatchProcess) -> None:
    watching.wait_for("watching")
    assert watching.interrupt() == 0
    assert "Traceback" not in watching.output.read_text()
    assert not _children_of(toy.root)


def test_ctrl_c_ends_it_during_a_build(toy: Tree) -> None:
    toy.edit(
        "stages/load.py",
        "def run(inputs, outputs, params):",
        "def run(inputs, outputs, params):\n    import time; time.sleep(60)",
    )
    watching = WatchProcess(toy)
    deadline = time.monotonic() + 60
    while not any(line["event"] == "execute" and line["task"] == "load:toy" for line in toy.log()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert watching.interrupt() == 0
    assert "Traceback" not in watching.output.read_text()
    assert not _children_of(toy.root)


def _children_of(root: Path) -> list[str]:
    """The processes of this checkout."""
    processes = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"PYTHONPATH={root}".encode() in path.read_bytes():
                processes.append((path.parent / "cmdline").read_text())
        except OSError:
            continue
    return processes


def test_one_model_can_be_watched(toy: Tree) -> None:
    (toy.root / "models" / "other").mkdir()
    (toy.root / "models" / "other" / "recipe.toml").write_text('source = "../toy/model.json"\n')
    watching = WatchProcess(toy, "model=toy", "backend=js")
    watching.wait_for("watching")
    assert watching.interrupt() == 0
    assert sorted(path.name for path in (toy.root / "dist").iterdir()) == ["toy"]
    assert list(canonical.read(toy.bundle / "manifest.json")["backends"]) == ["js"]


class Stop(Exception):
    """Ends the loop in a test."""


def test_a_build_waits_until_a_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "net").mkdir(parents=True)
    (tmp_path / "models" / "net" / "recipe.toml").write_text('source = "net.json"\n')
    source = tmp_path / "models" / "net" / "net.json"
    source.write_text("{}")
    watcher = Watcher(
        tmp_path / "models",
        lambda: Engine(tmp_path / ".webkiln", cache=tmp_path / "cache"),
        lambda _: [],
        lambda _: None,
    )
    builds: list[int] = []
    iterations = iter(range(100))
    monkeypatch.setattr(watcher, "build", lambda: builds.append(next(iterations)))
    monkeypatch.setattr(watcher, "files", lambda: frozenset({source}))

    def sleep(seconds: float) -> None:
        iteration = next(iterations)
        assert seconds == LOOK_SECONDS
        if iteration < 8:
            source.write_text(json.dumps(list(range(iteration))))
        if iteration > 12:
            raise Stop

    with pytest.raises(Stop):
        watcher.run(sleep)
    assert len(builds) == 2
    assert builds[1] > 8, "no build while it grows, one after it rests"


def test_changes_during_the_first_build_are_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models" / "net").mkdir(parents=True)
    recipe, source = (tmp_path / "models" / "net" / name for name in ("recipe.toml", "net.json"))
    recipe.write_text("")
    source.write_text("first")
    watcher = Watcher(
        tmp_path / "models",
        lambda: Engine(tmp_path / ".webkiln", cache=tmp_path / "cache"),
        lambda _: [],
        lambda _: None,
    )
    read: list[str] = []

    def build() -> None:
        read.append(source.read_text())
        source.write_text("second")
        monkeypatch.setattr(watcher, "files", lambda: frozenset({recipe, source}))

    monkeypatch.setattr(watcher, "build", build)
    monkeypatch.setattr(watcher, "files", lambda: frozenset({recipe}))
    iterations = iter(range(10))

    def sleep(_: float) -> None:
        if next(iterations) == 9:
            raise Stop

    with pytest.raises(Stop):
        watcher.run(sleep)
    assert read[-1] == "second"


def test_watched_files_are_those_in_depfiles(toy: Tree) -> None:
    toy.build()
    recipes = read_recipes(toy.root / "models")
    with Engine(toy.root / ".webkiln", cache=toy.cache) as engine:
        action = ModelGraph(recipes["toy"], engine.share).bundle(
            Selection(recipes["toy"].backends, "float32")
        )
        dependencies = {
            toy.root / "models" / "toy" / "recipe.toml",
            toy.root / "models" / "toy" / "model.json",
        }
        assert engine.files(action) | {toy.root / "models" / "toy" / "recipe.toml"} == dependencies
