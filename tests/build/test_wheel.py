"""The wheel contains the shared files and works without a checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.build.tree import REPOSITORY, Tree, executed, prebuilt


def test_a_wheel_builds_models_in_any_folder(toy: Tree, tmp_path: Path) -> None:
    prebuilt(toy)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copyfile(REPOSITORY / name, toy.root / name)
    for name in ("runtime/src", "runtime/node_modules", "models/digits"):
        (toy.root / name).mkdir(parents=True)
        (toy.root / name / "file.js").write_text("")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=toy.root,
        check=True,
        capture_output=True,
    )
    site = tmp_path / "site"
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    assert not list(site.rglob("node_modules"))
    assert (site / "webkiln" / "_share" / "models" / "digits" / "file.js").exists()
    shutil.copytree(
        toy.root / "runtime", site / "webkiln" / "_share" / "runtime", dirs_exist_ok=True
    )
    other_tree = Tree(tmp_path / "own", toy.cache, "toy")
    shutil.copytree(toy.root / "models" / "toy", other_tree.root / "models" / "toy")
    shutil.copyfile(toy.root / "dodo.py", other_tree.root / "dodo.py")
    other_tree.doit("build", "model=toy", PYTHONPATH=str(site))
    assert not executed(other_tree.log()), "keys do not depend on the location of the files"
    assert other_tree.bytes() == toy.bytes()
