"""What doit prints about past, present and future builds, and that builds run one at a time."""

import fcntl
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest

from tests.build.tree import Tree, executed, prebuilt, toy_bundle, warm
from webkiln.build.doit_run import Run, options_first


def state(tree: Tree) -> dict[str, bytes]:
    """The state of the tree, without caches of digests."""
    files = [
        path
        for path in tree.state.rglob("*")
        if path.is_file() and path.name not in ("digests.json", "doit.db")
    ]
    return {path.relative_to(tree.state).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "command",
    [
        "build --dry-run model=toy",
        "--dry-run build model=toy",
        "run --dry-run model=toy",
        "build model=toy --dry-run",
    ],
)
def test_a_dry_run_runs_nothing(command: str, unbuilt: Tree) -> None:
    output = unbuilt.doit(*command.split())
    assert output.startswith(
        "fetch:toy  runs: it has not run here before\nload:toy  may run: it reads outputs of"
        " fetch:toy\n"
    )
    assert re.search(r"\n1 run, \d+ may run after them\n$", output)
    assert not unbuilt.log()
    assert not (unbuilt.root / "dist").exists()


def test_a_dry_run_prints_what_changed(toy: Tree) -> None:
    toy.build()
    assert toy.doit("build", "model=toy", "--dry-run") == "1 up to date\n"
    toy.edit("models/toy/model.json", "0.25", "0.125")
    before = state(toy)
    output = toy.doit("build", "model=toy", "--dry-run")
    assert output.splitlines()[0] == "fetch:toy  runs: models/toy/model.json changed"
    assert "bundle:toy  may run: it reads outputs of " in output
    assert state(toy) == before
    steps = {line.split()[0] for line in output.splitlines()[:-1]}
    assert toy.build().keys() <= steps, "only predicted steps run"


def test_a_dry_run_checks_the_cache(toy: Tree) -> None:
    warm(toy)
    assert (
        toy.doit("build", "model=toy", "--dry-run")
        == "bundle:toy  is in the cache\n1 from the cache\n"
    )
    assert not toy.bundle.exists()
    steps = toy.doit("--dry-run", "lower:toy:wasm").splitlines()
    assert steps[-2:] == ["lower:toy:wasm  is in the cache", "1 from the cache"]


def test_a_dry_run_of_an_unknown_task(unbuilt: Tree) -> None:
    assert "unknown task 'bundle:tox'" in unbuilt.doit("bundle:tox", "--dry-run", status=2)


def test_a_build_explains_itself(toy: Tree) -> None:
    assert "because" not in toy.doit("build", "model=toy")
    toy.edit("models/toy/model.json", "0.25", "0.125")
    output = toy.doit("build", "model=toy", "--explain")
    assert "fetch:toy  because models/toy/model.json changed\n" in output
    assert "load:toy  because source of fetch:toy changed\n" in output
    assert "optimize:toy:drop_noop  because" not in output, "the graph is unchanged"
    assert "bundle:toy  because shards" in output


def test_why(toy: Tree) -> None:
    assert (
        toy.doit("why", "fetch:toy")
        == "fetch:toy runs in the next build because\n  it has not run here before\n"
    )
    toy.build()
    assert (
        toy.doit("why", "bundle:toy")
        == "bundle:toy is up to date; it last ran because\n  it had not run here before\n"
    )
    toy.edit("kernels/relu.c.jinja", "relu", "relu6")
    assert (
        toy.doit("why", "generate:toy:wasm")
        == "generate:toy:wasm runs in the next build because\n  kernels/relu.c.jinja changed\n"
    )
    assert (
        toy.doit("why", "bundle:toy")
        == "bundle:toy runs in the next build because\n  kernels/relu.c.jinja changed"
        " (generate:toy:js, generate:toy:wasm)\n"
    )
    toy.build()
    assert (
        toy.doit("why", "generate:toy:wasm")
        == "generate:toy:wasm is up to date; it last ran because\n  kernels/relu.c.jinja changed\n"
    )
    assert "  kernels/relu.c.jinja changed (generate:toy:wasm)\n" in toy.doit("why", "bundle:toy")
    assert "unknown task" in toy.doit("why", "generate:tox:wasm", status=2)
    assert "takes the name of one task" in toy.doit("why", status=2)


def test_why_a_restored_bundle_differs(toy: Tree) -> None:
    toy.build()
    toy.edit("models/toy/model.json", "0.25", "0.125")
    toy.build()
    toy.wipe()
    toy.build()
    toy.edit("models/toy/model.json", "0.125", "0.25")
    toy.build()
    assert (
        toy.doit("why", "bundle:toy")
        == "bundle:toy is up to date; it last ran because\n  models/toy/model.json changed\n"
    )


def test_why_is_short(toy: Tree) -> None:
    toy.build()
    folder = toy.root / "pipeline" / "webkiln"
    for path in [
        *folder.glob("ir/*.py"),
        *folder.glob("frontends/*/*.py"),
        *folder.glob("ops/*.py"),
        *folder.glob("nest/*.py"),
    ]:
        path.write_text(path.read_text() + "\nEDITED = 1\n")
    lines = toy.doit("why", "bundle:toy").splitlines()
    assert len(lines) <= 21
    assert re.fullmatch(r"  and \d+ more", lines[-1])


def test_query(toy: Tree) -> None:
    prebuilt(toy)
    output = toy.doit("query", "load:toy").splitlines()
    assert output[0] == "load:toy needs"
    assert output[1:3] == ["  fetch:toy", "  models/toy/model.json"]
    assert output[3] == "load:toy is needed by"
    assert {"  convert:toy", "  bundle:toy"} <= {*output[4:]}
    assert toy.doit("query", "load:toy", "--deps").splitlines() == [
        "fetch:toy",
        "models/toy/model.json",
    ]
    assert toy.doit("query", "--rdeps", "--direct", "fetch:toy").splitlines() == [
        "load:toy",
        "reference:toy",
    ]
    assert "stages/load.py" in toy.doit("query", "load:toy", "--deps", "--code").splitlines()
    assert toy.doit("query", "report:toy", "--rdeps") == ""


def test_query_by_file(unbuilt: Tree) -> None:
    readers = unbuilt.doit("query", "models/toy/model.json", "--rdeps", "--direct").split()
    assert readers == ["fetch:toy"]
    assert "bundle:toy" in unbuilt.doit("query", "models/toy", "--rdeps").split(), (
        "what lies below a folder"
    )
    assert unbuilt.doit("query", "stages/lower.py", "--direct", "--rdeps").split() == [
        "lower:toy:wasm",
        "lower:toy:js",
    ]
    assert "neither a task" in unbuilt.doit("query", "models/tox", status=2)
    assert "at most one of" in unbuilt.doit("query", "load:toy", "--deps", "--rdeps", status=2)


def test_a_trace_of_a_build(toy: Tree) -> None:
    toy.doit("build", "model=toy", "--trace", "trace.json")
    trace = json.loads((toy.root / "trace.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert {event["name"] for event in events} == {*executed(toy.log())}
    assert all(event["dur"] > 0 and event["ts"] >= 0 and event["pid"] == 1 for event in events)
    for row in {event["tid"] for event in events}:
        times = sorted(
            (event["ts"], event["ts"] + event["dur"]) for event in events if event["tid"] == row
        )
        assert all(end <= begin for (_, end), (begin, _) in pairwise(times)), (
            "steps of one row do not overlap"
        )
    lanes = {event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"}
    assert "steps 1" in lanes
    toy.wipe()
    toy.doit("build", "model=toy", "--trace=again.json")
    kinds = [
        (event["name"], event["cat"])
        for event in json.loads((toy.root / "again.json").read_text())["traceEvents"]
        if event["ph"] == "i"
    ]
    assert kinds == [("bundle:toy", "cached")]
    assert "cannot be written" in toy.doit("build", "model=toy", "--trace", "dodo.py/x", status=2)


def test_a_second_doit_waits_and_names_the_first(toy: Tree) -> None:
    nap = "    import pathlib, time\n    pathlib.Path('/proc/self/cwd')\n    time.sleep(3)\n"
    toy.edit(
        "stages/lower.py",
        "def run(inputs, outputs, params):\n",
        f"def run(inputs, outputs, params):\n{nap}",
    )
    first = subprocess.Popen(
        toy.command("build", "model=toy"),
        cwd=toy.root,
        env=toy.environment(),
        stdout=subprocess.DEVNULL,
    )
    while not any(line["task"] == "lower:toy:js" for line in toy.log()):
        time.sleep(0.05)
    assert "up to date" not in toy.doit("list"), "read-only commands do not wait"
    output = toy.doit("build", "model=toy")
    assert first.wait() == 0
    assert re.search(
        rf"^waiting for `doit build model=toy` \(process {first.pid}, since \d\d:\d\d:\d\d\), which"
        r" builds in this checkout$",
        output,
        re.MULTILINE,
    )
    assert output.endswith("dist/toy: up to date\n") or "dist/toy: written" in output
    assert executed(toy.log())["lower:toy:js"] == 1
    assert "waiting" not in toy.doit("build", "model=toy")


def test_ctrl_c_ends_the_wait(toy: Tree) -> None:
    toy.state.mkdir()
    with (toy.state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen(
            toy.command("build"),
            cwd=toy.root,
            env=toy.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert waiting.stderr is not None
        assert (
            waiting.stderr.readline() == "waiting for another doit, which builds in this checkout\n"
        )
        waiting.send_signal(signal.SIGINT)
        _, output = waiting.communicate()
    assert output == "interrupted; finished steps are kept\n"
    assert waiting.returncode == 130


def test_clean_stale(toy: Tree) -> None:
    recipe = toy.root / "models" / "toy" / "recipe.toml"
    text = recipe.read_text()
    recipe.write_text(
        'encodings = ["float32", "eightbit"]\n' + re.sub(r"encodings = .*\n", "", text)
    )
    toy.doit("build", "model=toy")
    (toy.root / "models" / "other").mkdir()
    (toy.root / "models" / "other" / "recipe.toml").write_text(
        'source = "../toy/model.json"\nbackends = ["js"]\n'
    )
    toy.doit("build", "model=other")
    assert toy.doit("clean", "--stale") == "", "nothing is stale"
    recipe.write_text(re.sub(r"encodings = .*\n", "", text))
    (toy.root / "models" / "other" / "recipe.toml").unlink()
    (toy.root / "dist" / "mine").mkdir()
    (toy.root / "dist" / "mine" / "manifest.json").write_text("{}")
    (toy.root / "dist" / "other" / "js.js").write_text("mine now")
    # as written by `webkiln build -o dist/elsewhere`
    shutil.copytree(toy.bundle, toy.root / "dist" / "elsewhere")
    assert (
        toy.doit("clean", "--stale", "--dry-run")
        == "dist/other: would be removed\ndist/toy-eightbit: would be removed\n"
    )
    assert (toy.root / "dist" / "toy-eightbit").exists()
    output = toy.doit("clean", "--stale")
    assert "dist/toy-eightbit: removed\n" in output
    assert "warning: dist/other/js.js has changed since a build wrote it, and is kept\n" in output
    assert {
        path.relative_to(toy.root).as_posix()
        for path in (toy.root / "dist").glob("*/*")
        if path.parent.name not in ("toy", "elsewhere")
    } == {
        "dist/mine/manifest.json",
        "dist/other/js.js",
    }
    assert not [
        path
        for path in toy.state.rglob("*")
        if "eightbit" in path.name or path.parent.name == "other"
    ]
    assert (toy.root / "dist" / "elsewhere" / "manifest.json").exists()
    assert not toy.build(), "the rest is unchanged"


FULL = """
set -e
mount -t tmpfs -o size=4m full {project}
mkdir {project}/models
cp -r {tree}/dodo.py {project}
cp -r {tree}/models/toy {project}/models
cd {project}
doit() {{ {python} -B -m doit "$@"; }}
{prepare}
dd if=/dev/zero of=filler bs=1024 2>/dev/null || true
truncate -s -{remaining}K filler
status=0
doit build > {project}-out 2> {project}-errors || status=$?
echo "status $status"
rm filler
doit build > {project}-out 2>&1
find . -name '.*.[0-9]*-*' -o -name '.webkiln-*'
cat dist/toy/*
"""
"""A build in a project on a disk with this number of kilobytes left, and one with free space again.
"""


@pytest.mark.parametrize(
    ("prepare", "remaining", "status"),
    [
        pytest.param("", 0, 2, id="nothing at all"),
        pytest.param("", 24, 2, id="room for some steps"),
        pytest.param(
            "doit link:toy:wasm:simd pack:toy:float32 > /dev/null",
            12,
            2,
            id="room for steps, not for the bundle",
        ),
        pytest.param("doit build > /dev/null", 0, 0, id="nothing to do"),
    ],
)
@pytest.mark.sample("nothing at all", "room for steps, not for the bundle")
def test_a_full_disk_under_the_project_is_one_line(
    prepare: str, remaining: int, status: int, toy: Tree, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    if not status:
        warm(toy)
    script = FULL.format(
        project=project, tree=toy.root, python=sys.executable, prepare=prepare, remaining=remaining
    )
    process = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        env=toy.environment(),
        capture_output=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    output = Path(f"{project}-errors").read_text()
    if status:
        assert re.fullmatch(r"error: .*No space left on device.*\n", output)
    else:
        assert output == ""
    bundle = toy_bundle()
    assert process.stdout == b"status %d\n" % status + b"".join(
        bundle[name] for name in sorted(bundle)
    )


@pytest.mark.parametrize(("command", "expected"), {
    "build --dry-run": "--dry-run build",
    "build -n 2 model=toy": "-n 2 build model=toy",
    "-n2 build": "-n2 build",
    "build --trace x.json --explain": "--trace x.json --explain build",
    "build --trace=x.json": "--trace=x.json build",
    "build --unknown": "build --unknown",
    "bundle:a bundle:b -c": "-c bundle:a bundle:b",
}.items())  # fmt: skip
def test_options_may_follow_tasks(command: str, expected: str) -> None:
    class Option:
        def __init__(self, table: dict[str, object]) -> None:
            self.short, self.long, self.type = (
                table.get("short", ""),
                table.get("long", ""),
                table["type"],
            )

    assert (
        options_first(command.split(), [Option(table) for table in Run.cmd_options])
        == expected.split()
    )
