"""Whether two commits build the same bundles: `python -m tests.build.same_bundles OLD [NEW]`.

Each commit is checked out into a folder of its own and builds, with its own code and a cache of
its own, the recipes of models/ (with random weights) and a recipe for each model file of the
corpora in tests/frontends. NEW is the working tree's commit unless it is given. Prints each file of
a bundle that differs, and each recipe that builds on one side only. Takes 20 to 40 minutes; digests
of a commit are kept in the folder that WEBKILN_SAME_BUNDLES names, by default /tmp/same-bundles.
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
KEPT = Path(os.environ.get("WEBKILN_SAME_BUNDLES", "/tmp/same-bundles"))

Digests = dict[str, dict[str, str]]
"""For each bundle, by recipe: the SHA-256 of each file, by its path."""


def corpus_files(root: Path) -> list[Path]:
    files = (path for path in (root / CORPORA).rglob("*") if path.suffix in SUFFIXES)
    return sorted(path for path in files if "chainer" not in path.parts)


def write_recipes(tree: Path, project: Path) -> None:
    """A recipe for each model file. The file stays in its folder, since other files there may
    belong to it.
    """
    for path in corpus_files(tree):
        where = path.relative_to(tree / CORPORA)
        name = "-".join((*where.parts[:-1], where.name)).replace(".", "_").lower()
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
    """Build all recipes of a project with the code of a checkout. A recipe that fails has no
    bundle.
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
    with (KEPT / "log.txt").open("a") as log:
        subprocess.run(command, cwd=project, env=environment, stdout=log, stderr=log, check=False)
    return digests(project / "dist")


def bundles_of(commit: str) -> Digests:
    KEPT.mkdir(parents=True, exist_ok=True)
    kept = KEPT / f"{commit}.json"
    if kept.exists():
        found: Digests = json.loads(kept.read_text())
        return found
    # The path is the same for every commit: a bundle may contain the path of its source.
    place = Path(tempfile.gettempdir()) / "same-bundles-tree"
    shutil.rmtree(place, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", str(REPOSITORY), str(place)], check=True)
    subprocess.run(["git", "checkout", "-q", commit], cwd=place, check=True)
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch) / "corpora"
        write_recipes(place, project)
        bundles = build(place, project, Path(scratch) / "cache")
        bundles |= build(place, place, Path(scratch) / "cache")
    kept.write_text(json.dumps(bundles, indent=1))
    return bundles


def differences(old: Digests, new: Digests) -> list[str]:
    found = [
        f"{name}: built by {'OLD' if name in old else 'NEW'} alone"
        for name in sorted(old.keys() ^ new.keys())
    ]
    for name in sorted(old.keys() & new.keys()):
        files = sorted({*old[name].items()} ^ {*new[name].items()})
        found += [f"{name}/{file} differs" for file in sorted({file for file, _ in files})]
    return found


def main(old: str, new: str = "HEAD") -> int:
    commits = [
        subprocess.run(
            ["git", "rev-parse", name], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in (old, new)
    ]
    before, after = map(bundles_of, commits)
    found = differences(before, after)
    print("\n".join([*found, f"{len(before)} bundles, {len(found)} differences"]))
    return int(bool(found) or not before)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
