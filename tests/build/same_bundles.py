"""Checks whether two commits build the same bundles: `python -m tests.build.same_bundles OLD
[NEW]`.

Each commit is checked out into a separate folder. With its own code and cache, it builds the
recipes of models/ (with random weights) and a recipe for each model file of the corpora in
tests/frontends. NEW defaults to HEAD. Prints each file of a bundle that differs, and each recipe
that only one commit can build. Takes 20 to 40 minutes. Digests of a commit are stored in the folder
WEBKILN_SAME_BUNDLES, by default /tmp/same-bundles.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CORPORA = Path("tests/frontends")
SUFFIXES = (".onnx", ".tflite", ".pb", ".prototxt", ".keras", ".h5")
BACKENDS = ("webgpu", "wasm", "webgl", "js")
STORED = Path(os.environ.get("WEBKILN_SAME_BUNDLES", "/tmp/same-bundles"))

Digests = dict[str, dict[str, str]]
"""Recipe -> path of each file in its bundle -> SHA-256."""


def corpus_files(root: Path) -> list[Path]:
    files = (path for path in (root / CORPORA).rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in files if "chainer" not in path.parts)


def write_recipes(tree: Path, project: Path) -> None:
    """Write a recipe for each model file. The file is not copied, since it may need other files in
    its folder.
    """
    for path in corpus_files(tree):
        relative = path.relative_to(tree / CORPORA)
        name = "-".join((*relative.parts[:-1], relative.name)).replace(".", "_").lower()
        folder = project / "models" / name
        folder.mkdir(parents=True)
        lines = [f"source = {json.dumps(str(path))}", f"backends = {json.dumps(BACKENDS)}"]
        (folder / "recipe.toml").write_text("\n".join(lines) + "\n")
    (project / "dodo.py").write_text((tree / "dodo.py").read_text())


def digests(dist: Path) -> Digests:
    bundles: Digests = {}
    for path in sorted(item for item in dist.rglob("*") if item.is_file()):
        name, _, file = str(path.relative_to(dist)).partition("/")
        bundles.setdefault(name, {})[file] = hashlib.sha256(path.read_bytes()).hexdigest()
    return bundles


def build(tree: Path, project: Path, cache: Path) -> Digests:
    """Build all recipes of a project with the code of a checkout. Recipes that
    fail have no bundle.
    """
    names = ",".join(sorted(path.parent.name for path in project.glob("models/*/recipe.toml")))
    environment = {**os.environ, "PYTHONPATH": str(tree / "pipeline"), "WEBKILN_CACHE": str(cache)}
    command = [
        sys.executable,
        "-m",
        "doit",
        "build",
        "--continue",
        "weights=random",
        f"model={names}",
    ]
    with (STORED / "log.txt").open("a") as log:
        subprocess.run(command, cwd=project, env=environment, stdout=log, stderr=log, check=False)
    return digests(project / "dist")


def bundles_of(commit: str) -> Digests:
    STORED.mkdir(parents=True, exist_ok=True)
    stored = STORED / f"{commit}.json"
    if stored.exists():
        digests_of_commit: Digests = json.loads(stored.read_text())
        return digests_of_commit
    # The path is the same for every commit, since a bundle may contain the path of its source.
    tree = Path(tempfile.gettempdir()) / "same-bundles-tree"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(tree)], check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=tree, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "corpora"
        write_recipes(tree, project)
        bundles = build(tree, project, Path(scratch) / "cache")
        bundles |= build(tree, tree, Path(scratch) / "cache")
    stored.write_text(json.dumps(bundles, indent=1))
    return bundles


def differences(old: Digests, new: Digests) -> list[str]:
    differing = [
        f"{name}: built by {'OLD' if name in old else 'NEW'} alone"
        for name in sorted(old.keys() ^ new.keys())
    ]
    for name in sorted(old.keys() & new.keys()):
        files = sorted({*old[name].items()} ^ {*new[name].items()})
        differing += [f"{name}/{file} differs" for file in sorted({file for file, _ in files})]
    return differing


def main(old: str, new: str = "HEAD") -> int:
    commits = [
        subprocess.run(
            ["git", "rev-parse", name], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in (old, new)
    ]
    before, after = map(bundles_of, commits)
    differing = differences(before, after)
    print("\n".join([*differing, f"{len(before)} bundles, {len(differing)} differences"]))
    return int(bool(differing) or not before)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
