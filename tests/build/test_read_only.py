"""Builds with a read-only cache, as in an image or of another user."""

import subprocess
import sys
from pathlib import Path

from tests.build.tree import Tree, executed, prebuilt, toy_bundle, warm

SCRIPT = """
set -e
mount --bind {cache} {cache}
mount -o remount,ro,bind {cache}
cd {root}
{command}
"""


def read_only(tree: Tree, command: str, **environment: str) -> str:
    """Run a command with the cache of a tree on a read-only file system. Returns the output."""
    script = SCRIPT.format(cache=tree.cache, root=tree.root, command=command)
    process = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        env=tree.environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout
    return process.stdout


DOIT = f"{sys.executable} -m doit build model=toy"
WEBKILN = f"{sys.executable} -m webkiln.cli"


def test_a_read_only_cache_is_read_and_new_results_are_stored_in_the_tree(toy: Tree) -> None:
    prebuilt(toy)
    before = toy.bytes()
    times = {path: path.stat().st_mtime_ns for path in toy.cache.rglob("*")}
    toy.wipe()
    count = len(toy.log())
    output = read_only(toy, DOIT)
    assert (
        f"warning: {toy.cache}: the cache is read-only; results of this build are stored in"
        in output
    )
    assert output.count("warning") == 1
    assert not executed(toy.log()[count:])
    assert toy.bytes() == before
    toy.edit("models/toy/model.json", "0.25", "0.125")
    count = len(toy.log())
    read_only(toy, DOIT)
    assert "load:toy" in executed(toy.log()[count:])
    assert not {
        task
        for task in executed(toy.log()[count:])
        if task.startswith(("optimize", "lower", "generate", "compile", "link"))
    }
    edited = toy.bytes()
    count = len(toy.log())
    read_only(toy, DOIT)
    assert not executed(toy.log()[count:]), "the cache of the tree has it"
    assert {path: path.stat().st_mtime_ns for path in toy.cache.rglob("*")} == times
    toy.edit("models/toy/model.json", "0.125", "0.25")
    read_only(toy, DOIT)
    assert toy.bytes() == before != edited


def test_a_damaged_blob_of_the_base_is_rebuilt_in_the_tree(toy: Tree) -> None:
    warm(toy)
    for path in toy.cache.glob("blobs/??/*"):
        path.chmod(0o644)
        path.write_bytes(b"?" * path.stat().st_size)
    read_only(toy, DOIT)
    assert toy.bytes() == toy_bundle()
    assert {path.read_bytes()[:1] for path in toy.cache.glob("blobs/??/*")} <= {b"?", b""}


def test_commands_outside_checkouts(toy: Tree, tmp_path: Path) -> None:
    model = toy.root / "models" / "toy" / "model.json"
    output = read_only(
        toy,
        f"{WEBKILN} build {model} -o {tmp_path / 'out'} --backend js",
        XDG_STATE_HOME=str(tmp_path / "state"),
    )
    assert (tmp_path / "out" / "index.js").exists()
    assert output.count("warning") == 1
    assert (tmp_path / "state" / "webkiln" / "state").is_dir()
