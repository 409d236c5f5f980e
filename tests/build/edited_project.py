"""A project with random edits and builds."""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.build.models import MODELS
from tests.build.tree import Tree, checkout
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import Share
from webkiln.passes.pipeline import PASSES
from webkiln.recipe.read import read_recipe

SCRIPT = """
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import helper


def export(path):
    helper.write(path, Path(__file__).with_name("model.json"))
"""
HELPER = "import shutil\n\n\ndef write(path, source):\n    shutil.copyfile(source, path)\n"
SLOWEST_KILL = {"toy": 0.9, "digits": 4.0}
ENVIRONMENTS = (
    {"HOME": "/nonexistent"},
    {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    {"TZ": "Asia/Tokyo"},
    {"KERAS_BACKEND": "jax", "PYTHONHASHSEED": "7"},
)


class Soak:
    """One tree with its cache. `edit` changes something, `check` builds and compares."""

    def __init__(self, folder: Path, seed: int, model: str) -> None:
        self.random = random.Random(seed)
        self.tree: Tree = checkout(folder / "tree", folder / "cache", toy=model == "toy")
        self.pool = LocalPool(self.tree.root / "pipeline", size=1)
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.versions = 0
        self.share = Share(self.tree.root, self.tree.root / "pipeline" / "webkiln")
        self.passes = ("drop_noop", "sort_nothing") if model == "toy" else PASSES
        self.model = self.tree.root / "models" / model
        (self.model / "make.py").write_text(SCRIPT)
        (self.model / "helper.py").write_text(HELPER)
        self.recipe = {
            "source": "model.json" if model == "toy" else "digits.keras",
            "backends": ["wasm", "js"],
        }
        self.write_recipe()

    def close(self) -> None:
        self.pool.close()

    def edit(self) -> str:
        """Make a random change. Returns its name."""
        names = [
            name
            for name in dir(self)
            if name.startswith(("edit_", "toy_" if self.tree.model == "toy" else "edit_"))
        ]
        name = self.random.choice(names)
        getattr(self, name)()
        return name.partition("_")[2]

    def check(self) -> str:
        """Build in a random way and compare with a clean build. Returns the name of the way."""
        builds: list[Callable[[], None]] = [self.build_here] * 6 + [
            self.build_by_doit,
            self.build_twice_at_once,
            self.build_after_kill,
            self.build_elsewhere,
        ]
        build = self.random.choice(builds)
        self.publish_folder.mkdir(parents=True, exist_ok=True)
        (self.publish_folder / "mine.txt").write_text("mine")
        build()
        published, expected = (
            {path.name: path.read_bytes() for path in self.publish_folder.iterdir()},
            self.clean(),
        )
        assert published.pop("mine.txt") == b"mine", "a user file"
        assert published.keys() == expected.keys(), f"{published.keys() ^ expected.keys()} differ"
        for name, data in expected.items():
            assert published[name] == data, f"{name} differs"
        return build.__name__.removeprefix("build_")

    @property
    def publish_folder(self) -> Path:
        """The folder into which doit publishes, which depends on the encoding of the recipe."""
        (encoding,) = self.recipe.get("encodings", ["float32"])
        return (
            self.tree.bundle
            if encoding == "float32"
            else self.tree.bundle.with_name(f"{self.tree.model}-{encoding}")
        )

    def bundle(self, state: Path, cache: Path, publish: Path) -> None:
        with Engine(state, cache=cache, shared=self.share, executor=self.pool) as engine:
            recipe = read_recipe(self.model / "recipe.toml")
            action = ModelGraph(recipe, self.share, self.passes).bundle(
                Selection(recipe.backends, recipe.bundle.encodings[0])
            )
            engine.publish(action, "bundle/", publish)

    def clean(self) -> dict[str, bytes]:
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            empty = Path(name)
            self.bundle(empty / "state", empty / "cache", empty / "bundle")
            return {path.name: path.read_bytes() for path in (empty / "bundle").iterdir()}

    def build_here(self) -> None:
        self.bundle(self.tree.state, self.tree.cache, self.publish_folder)

    def build_by_doit(self) -> None:
        self.tree.doit("build", f"model={self.tree.model}")

    def build_elsewhere(self) -> None:
        before = os.umask(self.random.choice((0o077, 0o002)))
        try:
            self.tree.doit("build", f"model={self.tree.model}", **self.random.choice(ENVIRONMENTS))
        finally:
            os.umask(before)

    def build_twice_at_once(self) -> None:
        for process in [self.start() for _ in range(2)]:
            output, _ = process.communicate(timeout=300)
            assert process.returncode == 0, output

    def build_after_kill(self) -> None:
        process = self.start()
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.random.uniform(0.1, SLOWEST_KILL[self.tree.model]))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert (self.publish_folder / "mine.txt").read_text() == "mine"
        self.build_here()

    def start(self) -> subprocess.Popen[str]:
        command = self.tree.command("build", f"model={self.tree.model}")
        return subprocess.Popen(
            command,
            cwd=self.tree.root,
            env=self.tree.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def files(self, *patterns: str) -> list[Path]:
        return sorted(
            path
            for pattern in patterns
            for path in self.tree.root.glob(pattern)
            if path.is_file() and "__pycache__" not in path.parts
        )

    def sources(self) -> list[Path]:
        return self.files(
            "pipeline/webkiln/**/*.py",
            "stages/*.py",
            "kernels/*",
            "runtime/**/*.js",
            f"models/{self.tree.model}/*",
        )

    def pick(self, *patterns: str) -> Path:
        return self.random.choice(self.files(*patterns))

    def write_recipe(self) -> None:
        lines = [
            f"{key} ="
            f" {value if isinstance(value, str) and value.startswith('{') else json.dumps(value)}"
            for key, value in self.recipe.items()
        ]
        (self.model / "recipe.toml").write_text("\n".join(lines) + "\n")

    def append(self, path: Path, text: str) -> None:
        """Append a line. The rest is unchanged."""
        self.versions += 1
        path.write_text(path.read_text() + text.format(self.random.choice((1, 2, self.versions))))

    def edit_weights(self) -> None:
        (
            MODELS[self.tree.model].retrain(self.tree)
            if self.tree.model == "digits"
            else self.toy_layers()
        )

    def edit_recipe_backends(self) -> None:
        self.recipe["backends"] = self.random.choice((["js"], ["wasm"], ["wasm", "js"]))
        self.write_recipe()

    def edit_recipe_encoding(self) -> None:
        self.recipe["encodings"] = [self.random.choice(("float32", "float16", "int8"))]
        self.write_recipe()

    def edit_recipe_comment(self) -> None:
        self.append(self.model / "recipe.toml", "# {}\n")

    def edit_template(self) -> None:
        path = self.pick("kernels/*.js", "kernels/*.c", "kernels/*.c.jinja", "kernels/*.js.jinja")
        text = path.read_text()
        self.versions += 1
        path.write_text(
            text.replace("\n", f"\n// {self.random.choice((1, 2, self.versions))}\n", 1)
            if "\n// " not in text
            else text.replace("\n// ", "\n// x", 1)
        )

    def edit_operator(self) -> None:
        self.append(self.pick("pipeline/webkiln/ops/*.py"), "# {}\n")

    def edit_pass(self) -> None:
        self.append(self.pick("pipeline/webkiln/passes/[a-oq-z]*.py"), "# {}\n")

    def edit_module(self) -> None:
        self.append(
            self.pick(
                "pipeline/webkiln/canonical.py",
                "pipeline/webkiln/errors.py",
                "pipeline/webkiln/*/*.py",
            ),
            "\nVERSION_OF_A_SOAK = {}\n",
        )

    def edit_stage(self) -> None:
        path = self.pick("stages/*.py")
        path.write_text(f"# {self.random.randrange(3)}\n" + path.read_text())

    def edit_runtime(self) -> None:
        self.append(self.pick("runtime/src/main.js", "runtime/*.js"), "// {}\n")

    def edit_times(self) -> None:
        for path in self.random.sample(self.sources(), 5):
            modified = self.random.choice((0, 1_000_000_000, time.time() - 30, time.time() + 3600))
            os.utime(path, (modified, modified))

    def edit_within_one_stamp(self) -> None:
        """Keep size and modification time, as version control and copying tools do."""
        path = self.model / "recipe.toml"
        stat = path.stat()
        self.recipe["backends"] = self.random.choice((["js", "wasm"], ["wasm", "js"]))
        self.write_recipe()
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def edit_replaced_by_a_copy(self) -> None:
        path = self.random.choice(self.sources())
        copy = path.with_name(path.name + ".copy")
        shutil.copy2(path, copy)
        copy.replace(path)

    def edit_source_renamed(self) -> None:
        if not str(self.recipe["source"]).startswith("{"):
            old = self.model / str(self.recipe["source"])
            new = old.with_stem(self.random.choice(("model", "renamed", "digits")))
            if new != old:
                old.replace(new)
                self.recipe["source"] = new.name
                self.write_recipe()

    def edit_link(self) -> None:
        path = self.random.choice([path for path in self.sources() if not path.is_symlink()])
        target = self.folder / "linked" / path.relative_to(self.tree.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
        path.symlink_to(target)

    def edit_cache_damaged(self) -> None:
        for path in self.random.choices(
            [path for path in self.tree.cache.glob("*/??/*") if path.is_file()]
            or [self.model / "none"],
            k=3,
        ):
            if path.is_file():
                path.chmod(0o644)
                data = path.read_bytes()
                self.random.choice(
                    [
                        lambda p, d: p.write_bytes(d[:-1]),
                        lambda p, d: p.write_bytes(d[::-1]),
                        lambda p, d: p.unlink(),
                        lambda p, d: p.write_bytes(b""),
                    ]
                )(path, data)

    def edit_state_lost(self) -> None:
        if self.random.random() < 0.5:
            shutil.rmtree(self.tree.state, ignore_errors=True)
        elif files := [
            path
            for path in self.tree.state.rglob("*")
            if path.is_file() and "doit.db" not in path.name
        ]:
            path = self.random.choice(files)
            self.random.choice([path.unlink, lambda: path.write_bytes(path.read_bytes()[:-3])])()

    def edit_published_lost(self) -> None:
        files = [path for path in self.publish_folder.glob("*") if path.name != "mine.txt"]
        if files:
            self.random.choice(files).unlink()

    def edit_nothing(self) -> None:
        pass

    def toy_layers(self) -> None:
        layers = self.random.sample(["conv", "relu", "noop", "dense"], self.random.randint(1, 4))
        weights = {name: str(self.random.randrange(9)) for name in ("conv", "dense")}
        path = self.model / (
            "model.json"
            if str(self.recipe["source"]).startswith("{")
            else str(self.recipe["source"])
        )
        path.write_text(json.dumps({"layers": layers, "weights": weights}))

    def toy_pass_that_changes_the_graph(self) -> None:
        drop = self.random.choice(("noop", "relu", "none"))
        path = (
            self.tree.root
            / "pipeline"
            / "webkiln"
            / "passes"
            / f"{self.random.choice(self.passes)}.py"
        )
        path.write_text(
            "def apply(layers: list[str]) -> list[str]:\n    return [layer for layer in layers if"
            f" layer != {drop!r}]\n"
        )

    def toy_stage_that_changes_the_module(self) -> None:
        path = self.tree.root / "stages" / "link.py"
        path.write_text(path.read_text().replace('b"', f'b"{self.random.choice("abc")}', 1))

    def toy_source_made_by_a_script(self) -> None:
        if str(self.recipe["source"]).startswith("{"):
            self.recipe["source"] = "model.json"
        else:
            source = self.model / str(self.recipe["source"])
            if source.name != "model.json":
                source.replace(self.model / "model.json")
            self.recipe["source"] = '{ script = "make.py", function = "export" }'
        self.write_recipe()

    def toy_helper_of_the_script(self) -> None:
        path = self.model / "helper.py"
        suffix = self.random.choice(
            (
                "",
                "\n    with open(path, 'a') as file:\n        file.write(' ')",
                f"  # {self.versions}",
            )
        )
        path.write_text(HELPER.rstrip() + suffix + "\n")
        self.versions += 1
