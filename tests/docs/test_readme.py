"""The code blocks of README.md and docs/recipes.md run in order, in a fresh clone with an empty
home folder.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.support.wait import WebDriverWait

from tests.docs.pages import ROOT, Block, blocks
from tests.frontends.keras.layer_cases import INNER
from webkiln.backends import browsers
from webkiln.backends.host import read_manifest
from webkiln.backends.server import Server
from webkiln.build.locations import cache_folder
from webkiln.frontends.keras.layers.retired import RETIRED
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.frontends.keras.operations.table import OPERATIONS
from webkiln.frontends.onnx.fold import FOLDS
from webkiln.frontends.onnx.operators.table import DOMAINS
from webkiln.passes.pipeline import PASSES
from webkiln.recipe.values import BACKENDS, ENCODINGS

NOT_RUN = {"make test"}


class Clone:
    """A fresh clone with the changes of the working tree, the packages of this environment, and the
    cache of this user.
    """

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "webkiln", folder / "home"
        self.home.mkdir()
        subprocess.run(["git", "clone", "-q", str(ROOT), str(self.root)], check=True)
        command = [
            "git",
            "ls-files",
            "-z",
            "--modified",
            "--others",
            "--deduplicate",
            "--exclude-standard",
        ]
        for name in filter(
            None,
            subprocess.run(
                command, cwd=ROOT, check=True, capture_output=True, text=True
            ).stdout.split("\0"),
        ):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists():
                shutil.copyfile(ROOT / name, self.root / name)
            else:
                (self.root / name).unlink()
        (self.root / ".venv" / "servers").mkdir(parents=True)
        for path in Path(sys.prefix).iterdir():
            if path.name not in {"installed", "tests-installed", "servers"}:
                (self.root / ".venv" / path.name).symlink_to(path)
        for stamp in ("installed", "tests-installed"):
            (self.root / ".venv" / stamp).touch()
        (self.root / ".venv" / "servers" / "installed").touch()
        (self.root / "runtime" / "node_modules").mkdir()
        (self.root / "runtime" / "node_modules" / ".package-lock.json").touch()

    def shell(self, text: str) -> str:
        """Run a block in a shell. The working directory and the environment persist."""
        state = self.home / "state.sh"
        commands = "\n".join(line for line in text.splitlines() if line.strip() not in NOT_RUN)
        script = (
            f"[ ! -f {state} ] || . {state}\nset -e\n{commands}\n{{ export -p; printf 'cd %q\\n'"
            f' "$PWD"; }} > {state}\n'
        )
        inherited = {
            name: os.environ[name] for name in ("PATH", "LANG", "EMSDK") if name in os.environ
        }
        changed = {
            "HOME": str(self.home),
            "WEBKILN_CACHE": str(cache_folder()),
            "PYTHONPATH": str(self.root / "pipeline"),
        }
        process = subprocess.run(
            ["bash", "-c", script],
            cwd=self.root,
            env=inherited | changed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert process.returncode == 0, f"{text}\n{process.stdout}"
        return process.stdout

    def node(self, text: str) -> None:
        (self.root / "example.mjs").write_text(
            f"const image = new Float32Array(64).fill(0.5);\n{text}\nif (scores.length !== 10)"
            " throw new Error(scores);\n"
        )
        subprocess.run(["node", "example.mjs"], cwd=self.root, check=True, timeout=60)

    def page(self, text: str) -> None:
        image = "<script>const image = new Float32Array(64).fill(0.5);</script>"
        page_text = text.replace("console.log(", "document.title = String(")
        (self.root / "example.html").write_text(
            f'<!DOCTYPE html><link rel="icon" href="data:,">{image}{page_text}'
        )
        with Server({"/": self.root}) as server:
            browser = browsers.session("chromium")
            browser.get(f"{server.url}/example.html")
            numbers = WebDriverWait(browser, 30).until(
                lambda page: "," in page.title and page.title
            )
            browser.get("about:blank")
        assert sum(map(float, numbers.split(","))) == pytest.approx(1, abs=1e-5)


def after_build(clone: Clone, printed: str) -> None:
    for name, encoding in (
        ("digits", "float32"),
        ("digits-float16", "float16"),
        ("digits-int8", "int8"),
    ):
        assert read_manifest(clone.root / "dist" / name)["encoding"] == encoding


def after_tools(clone: Clone, printed: str) -> None:
    assert {line.split(":")[0] for line in printed.splitlines()} >= {
        "emcc",
        "clang",
        "chromium",
        "node",
    }


def after_model(clone: Clone, printed: str) -> None:
    assert (clone.root / "my.keras").is_file()


def after_compiling(clone: Clone, printed: str) -> None:
    assert re.search(
        r"^  nodes +3: Conv2D 1, Dense 1, GlobalAveragePooling2D 1$", printed, re.MULTILINE
    )
    assert re.search(r"^  converts +yes$", printed, re.MULTILINE)
    manifest = read_manifest(clone.root / "public" / "my")
    assert manifest["encoding"] == "float16"
    assert set(manifest["backends"]) == {"wasm", "js"}


def after_running(clone: Clone, printed: str) -> None:
    with np.load(clone.root / "out.npz") as outputs:
        assert outputs["scores"].shape == (1, 4)
        assert outputs["scores"].sum() == pytest.approx(1, abs=1e-5)
    assert "my, wasm" in printed
    assert "my, js" not in printed


def after_onnx(clone: Clone, printed: str) -> None:
    assert read_manifest(clone.root / "public" / "onnx")["inputs"][0]["shape"] == [2, 4]


def after_verifying(clone: Clone, printed: str) -> None:
    assert "js in chromium: natural0/scores" in printed
    report = json.loads((clone.root / "dist" / "digits" / "verification.json").read_text())
    assert report["passed"]
    assert {result["backend"] for result in report["results"]} == {"webgpu", "wasm", "webgl", "js"}
    sizes = {name: size["brotli"] for name, size in report["sizes"].items()}
    shared = sum(sizes[name] for name in ("index.js", "runtime.js", "worker.js", "webdnn.js"))
    wasm, js = map(
        int,
        re.findall(r"(\d+) KB(?: in brotli)?\s+for (?:wasm|js)", (ROOT / "README.md").read_text()),
    )
    assert shared + sizes["wasm.js"] + sizes["relaxed.wasm"] == pytest.approx(1000 * wasm, abs=1000)
    assert shared + sizes["js.js"] == pytest.approx(1000 * js, abs=1000)
    assert "<html" in (clone.root / "dist" / "digits" / "report.html").read_text()


def after_comparing(clone: Clone, printed: str) -> None:
    assert printed.count("  output scores [1, 10] (relative error ") == 3


def after_asking_doit(clone: Clone, printed: str) -> None:
    for part in (
        "optimize:digits:fold_batchnorm",
        "up-to-date",
        '"link:digits:wasm:simd" -> "bundle:digits"',
        "models/digits/digits.keras is read by",
        "up to date\n",
        "bundle:digits is up to date; it last ran because",
        " results, ",
    ):
        assert part in printed
    assert '"traceEvents"' in (clone.root / "t.json").read_text()
    assert not (clone.root / "dist" / "digits" / "index.js").exists()


def after_own_dodo(clone: Clone, printed: str) -> None:
    assert read_manifest(clone.root / "site" / "dist" / "reader")["name"] == "reader"


CHECKS: tuple[Callable[[Clone, str], None], ...] = (
    after_build,
    after_tools,
    after_model,
    after_compiling,
    after_running,
    after_onnx,
    after_verifying,
    after_comparing,
    after_asking_doit,
    after_own_dodo,
)


@pytest.mark.timeout(900)
def test_every_block_runs_in_a_fresh_clone(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    checks = iter(CHECKS)
    for block in (*blocks("README.md"), *blocks("docs/recipes.md")):
        if "network" in block.marks:
            continue
        match block:
            case Block("sh", _, text):
                next(checks)(clone, clone.shell(text))
            case Block("js", _, text):
                clone.node(text)
            case Block("html", _, text):
                clone.page(text)
            case Block("toml", _, text):
                assert text == (ROOT / "models" / "digits" / "recipe.toml").read_text()
            case _:
                pytest.fail(f"a block has an unknown language: {block}")
    assert next(checks, None) is None, "a block is missing"


def supported(row: str) -> list[str]:
    """The names in a row of the README's table of features, with braces expanded."""
    line = next(
        line
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith(f"| {row} ")
    )
    return [
        name
        for text in re.findall(r"`([^`]+)`", line.split("|")[2])
        for name in expand_braces(text)
    ]


def expand_braces(text: str) -> list[str]:
    parts = [part.split(",") for part in re.split(r"[{}]", text)]
    return ["".join(choice) for choice in product(*parts)]


def test_the_readme_matches_the_tables() -> None:
    assert tuple(supported("backends")) == BACKENDS
    assert tuple(supported("encodings of weights")) == ENCODINGS
    assert tuple(supported("passes")) == PASSES
    assert (
        f"| Keras layers | {len(LAYERS.keys() - INNER - RETIRED.keys())} of"
        in (ROOT / "README.md").read_text()
    )
    standard, microsoft = len({*DOMAINS[""], *FOLDS.ops}), len(DOMAINS["com.microsoft"])
    assert (
        f"| ONNX operators | {standard} of the default domain"
        f" ([docs/operators.md](docs/operators.md)), {microsoft} of com.microsoft"
        in (ROOT / "README.md").read_text()
    )
    assert f"| `keras.ops` | {len(OPERATIONS)} operations" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
    ],
)
def test_links_have_targets(page: str) -> None:
    text = (ROOT / page).read_text()
    for link in re.findall(r"\]\(([^)]+)\)|<img src=\"([^\"]+)\"", text):
        target, _, anchor = "".join(link).partition("#")
        if target.startswith("https://"):
            continue
        path = (ROOT / page).parent / target if target else ROOT / page
        assert path.exists(), target
        assert not anchor or anchor in anchors(path), f"{target}#{anchor}"


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub generates them."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


WITHOUT_PATH = {
    *("dist/", ".webkiln/", "__init__.py", "index.js", "index.d.ts", "format.py", "facts.py"),
    *("webgpu.js", "webgpu_emulated.js"),
    *("stage_load.py", "stage_convert.py", "stage_reference.py", "stage_fetch.py", "main.c"),
}
"""Files that builds write, and files that exist in every package or format."""


@pytest.mark.parametrize(
    "page",
    [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *sorted(p.name for p in (ROOT / "docs/design").iterdir()),
    ],
)
def test_files_named_by_design_pages_exist(page: str) -> None:
    """A path is relative to the root, the package, or frontends/."""
    path = ROOT / page if (ROOT / page).exists() else ROOT / "docs" / "design" / page
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    package = ROOT / "pipeline" / "webkiln"
    names = set(re.findall(r"`([\w/.-]+(?:\.py|\.toml|\.lock|\.md|\.js|\.c|/))`", text))
    runtime, frontends = ROOT / "runtime" / "src", package / "frontends"
    folders = (
        ROOT,
        package,
        frontends,
        frontends / "keras",
        runtime,
        runtime.parent / "unplugin/src",
    )
    missing = [name for name in names if not any((folder / name).exists() for folder in folders)]
    assert not set(missing) - WITHOUT_PATH
