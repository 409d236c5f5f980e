"""The wheel contains the shared files and works without a checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.build.tree import REPOSITORY, Tree, built, executed


def test_a_wheel_builds_models_in_any_folder(toy: Tree, tmp_path: Path) -> None:
    built(toy)
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
    own = Tree(tmp_path / "own", toy.cache, "toy")
    shutil.copytree(toy.root / "models" / "toy", own.root / "models" / "toy")
    shutil.copyfile(toy.root / "dodo.py", own.root / "dodo.py")
    own.doit("build", "model=toy", PYTHONPATH=str(site))
    assert not executed(own.log()), "keys do not depend on the location of the files"
    assert own.bytes() == toy.bytes()
