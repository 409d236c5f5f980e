"""Edits of sources during a build: published, cached and uploaded results must belong to a state
that existed.

`python -m tests.build.soak_during [BUILDS] [SEED]`. During each build of the toy, sources are
replaced, rewritten, truncated, deleted and touched at random moments. The bundle must equal a clean
build of one of the states at that time. Afterwards, without further edits, the next build must
equal a clean build of the final state. So must the build of a second machine, which shares only the
remote cache.
"""

import json
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest import mock

from tests.build.rounds import main, run_rounds
from tests.build.tree import checkout
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import Share
from webkiln.errors import WebkilnError
from webkiln.recipe.read import read_recipe

PASSES = ("drop_noop", "sort_nothing")
LONGEST_PAUSE = 0.25
FILE = 'source = "model.json"\n'
SCRIPT = 'source = { script = "make.py", function = "export" }\n'
PYTHON = {
    "make.py": """import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import helper


def export(path):
    names = sorted(file.name for file in Path(__file__).parent.glob("*.txt"))
    helper.write(path, Path(__file__).with_name("model.json"), names)  # {}
""",
    "helper.py": """import json


def write(path, source, names):
    with open(source) as file:
        model = json.load(file)
    model["weights"]["conv"] += "{}" + "".join(names)
    with open(path, "w") as file:
        json.dump(model, file)
""",
}
State = Mapping[str, bytes]
Bundle = Mapping[str, bytes]


def content(name: str, number: int) -> bytes:
    """One of the variants of a source. Some variants have equal sizes."""
    if name in PYTHON:
        return PYTHON[name].replace("{}", f"{number}").encode()
    layers = ["conv", "relu", "noop", "dense"][: 2 + number % 3]
    return json.dumps(
        {"layers": layers, "weights": {"conv": f"0.{number}5", "dense": "1 2 3"}}
    ).encode()


class Editor(threading.Thread):
    """Edits the files of a folder a few times at random moments. `states`: all states of the
    folder.
    """

    def __init__(self, folder: Path, seed: int, *, scripted: bool) -> None:
        super().__init__()
        self.folder, self.random, self.scripted = folder, random.Random(seed), scripted
        self.counts: Counter[str] = Counter()
        self.states: list[State] = [state(folder)]

    def run(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            time.sleep(self.random.uniform(0, LONGEST_PAUSE))
            edits: list[Callable[[Path, bytes], None]] = [
                self.replaced,
                self.rewritten,
                self.truncated,
                self.deleted,
                self.touched,
                self.there_and_back,
            ]
            edit = self.random.choice(edits if not self.scripted else [*edits, self.add_or_remove])
            name = self.random.choice(["model.json", *(PYTHON if self.scripted else [])])
            edit(self.folder / name, content(name, self.random.randrange(4)))
            self.counts[edit.__name__] += 1

    def record_state(self) -> None:
        self.states.append(state(self.folder))

    def replaced(self, path: Path, data: bytes) -> None:
        """Replace the file and restore the old times, as copying tools may do."""
        times = path.stat() if path.exists() else None
        copy = self.folder / ".copy"
        copy.write_bytes(data)
        if times is not None:
            os.utime(copy, ns=(times.st_atime_ns, times.st_mtime_ns))
        copy.replace(path)
        self.record_state()

    def rewritten(self, path: Path, data: bytes) -> None:
        """Write in place, in parts."""
        with path.open("wb") as file:
            self.record_state()
            file.write(data[: len(data) // 2])
            file.flush()
            self.record_state()
            time.sleep(self.random.choice((0, 0.001, 0.05)))
            file.write(data[len(data) // 2 :])
        self.record_state()

    def truncated(self, path: Path, data: bytes) -> None:
        if path.exists():
            os.truncate(path, path.stat().st_size // 2)
            self.record_state()
        time.sleep(self.random.choice((0, 0.001, 0.05)))
        self.replaced(path, data)

    def deleted(self, path: Path, data: bytes) -> None:
        path.unlink(missing_ok=True)
        self.record_state()
        time.sleep(self.random.choice((0, 0.05)))
        if self.random.random() < 0.9:
            self.replaced(path, data)

    def touched(self, path: Path, data: bytes) -> None:
        if path.exists():
            path.touch()

    def there_and_back(self, path: Path, data: bytes) -> None:
        """Change the bytes for a moment."""
        before = path.read_bytes() if path.exists() else data
        self.replaced(path, data)
        time.sleep(self.random.uniform(0, 0.1))
        self.replaced(path, before)

    def add_or_remove(self, path: Path, data: bytes) -> None:
        """Create or delete a file of which only the name matters."""
        other = self.folder / f"{self.random.choice('ab')}.txt"
        if other.exists():
            other.unlink()
        else:
            other.touch()
        self.record_state()


def state(folder: Path) -> State:
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.suffix in (".json", ".py", ".txt")
    }


class Soak:
    def __init__(self, folder: Path, seed: int) -> None:
        self.random, self.seed, self.folder = random.Random(seed), seed, folder
        tree = checkout(folder / "tree", folder / "cache", toy=True)
        self.share = Share(tree.root, tree.root / "pipeline" / "webkiln")
        self.pool = LocalPool(tree.root / "pipeline", size=1)
        self.counts: Counter[str] = Counter()
        self.expected: dict[str, Bundle | None] = {}
        self.derived = b""
        self.clean({"model.json": content("model.json", 0)})

    def round(self, number: int) -> None:
        scripted = self.random.random() < 0.4
        root = self.folder / f"{number}"
        model = root / "models" / "toy"
        model.mkdir(parents=True)
        (model / "recipe.toml").write_text((SCRIPT if scripted else FILE) + 'backends = ["js"]\n')
        for name in ("model.json", *(PYTHON if scripted else [])):
            (model / name).write_bytes(content(name, 0))
        (root / "pyproject.toml").touch()
        description = f"seed {self.seed}, build {number}{' of a script' if scripted else ''}"
        with mock.patch.dict(
            os.environ, {"WEBKILN_REMOTE_CACHE": str(root / "remote"), "WEBKILN_CACHE_WRITE": "1"}
        ):
            (root / "remote").mkdir()
            for repetition in range(self.random.randint(1, 2)):
                editor = Editor(model, self.random.randrange(1 << 30), scripted=scripted)
                editor.start()
                bundle = self.build(model, root)
                editor.join()
                editor.record_state()
                self.counts.update(editor.counts)
                clean_bundles = [self.clean(edited_state) for edited_state in editor.states]
                assert bundle is None or bundle in clean_bundles, (
                    f"{description}.{repetition}: a bundle of no state that existed"
                )
                self.counts[
                    "built while sources changed"
                    if bundle is not None
                    else "failed while sources changed"
                ] += 1
            final = self.clean(state(model))
            assert self.build(model, root) == final, (
                f"{description}: the next build differs from a clean one"
            )
            assert self.build(model, root / "second") == final, (
                f"{description}: a second machine's build differs from a clean one"
            )
        self.counts[
            "final states that build" if final is not None else "final states that do not"
        ] += 1

    def build(self, model: Path, root: Path) -> Bundle | None:
        """The bundle that a build publishes, or None if it fails. The imports of webkiln's own
        files are cached, so that most of the time is spent in steps.
        """
        if self.derived and not (root / "cache").exists():
            (root / "cache").mkdir(parents=True)
            (root / "cache" / "derived.json").write_bytes(self.derived)
        try:
            with Engine(
                root / "state", cache=root / "cache", shared=self.share, executor=self.pool
            ) as engine:
                recipe = read_recipe(model / "recipe.toml")
                action = ModelGraph(recipe, self.share, PASSES).bundle(Selection(recipe.backends))
                engine.publish(action, "bundle/", root / "bundle")
        except WebkilnError:
            return None
        self.derived = (root / "cache" / "derived.json").read_bytes()
        return {path.name: path.read_bytes() for path in (root / "bundle").iterdir()}

    def clean(self, files: State) -> Bundle | None:
        """The bundle that a clean build publishes from these sources."""
        key = repr(sorted(files.items()))
        if key not in self.expected:
            with tempfile.TemporaryDirectory(dir=self.folder) as name, mock.patch.dict(os.environ):
                os.environ.pop("WEBKILN_REMOTE_CACHE", "")
                model = Path(name) / "models" / "toy"
                model.mkdir(parents=True)
                (Path(name) / "pyproject.toml").touch()
                for file, data in files.items():
                    (model / file).write_bytes(data)
                (model / "recipe.toml").write_text(
                    (SCRIPT if "make.py" in files or "helper.py" in files else FILE)
                    + 'backends = ["js"]\n'
                )
                self.expected[key] = self.build(model, Path(name))
        return self.expected[key]


def soak(folder: Path, builds: int, seed: int) -> Counter[str]:
    """Returns the number of each edit and each result. Raises AssertionError for a difference."""
    soak_run = Soak(folder, seed)
    try:
        return run_rounds(soak_run, builds)
    finally:
        soak_run.pool.close()


if __name__ == "__main__":
    main(soak)
