"""The engine with custom actions, without doit."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from webkiln import canonical
from webkiln.build.action import Action, Folder, Local, PerFile, Product, Requirements
from webkiln.build.engine import Engine
from webkiln.build.share import PACKAGE, Share
from webkiln.build.tools import find
from webkiln.errors import OutputError, RecipeError, ToolError


@pytest.fixture
def share(tmp_path: Path) -> Share:
    (tmp_path / "stages").mkdir()
    (tmp_path / "toolchain.lock").write_text('[tools]\nnode = "1"\n')
    return Share(tmp_path, PACKAGE)


def stage(share: Share, name: str, body: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    share.stage(name).write_text(f"def run(inputs, outputs, params):\n{lines}\n")


def engine(share: Share) -> Engine:
    return Engine(share.root / "state", cache=share.root / "cache", shared=share)


def running(argument: str) -> bool:
    """Whether a process was started with this argument."""
    text = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return any(argument in line.split() for line in text.splitlines())


def events(share: Share, kind: str) -> int:
    path = share.root / "state" / "log.jsonl"
    return path.read_text().count(f'"event":"{kind}"') if path.exists() else 0


def test_a_stage_that_times_out_is_killed_with_its_children(share: Share) -> None:
    stage(share, "slow", "import subprocess\nsubprocess.run(['sleep', '987.25'])")
    action = Action("slow:m", "slow", ("out",), timeout=0.8)
    start = time.monotonic()
    with (
        engine(share) as session,
        pytest.raises(ToolError, match=r"slow:m: stopped after 0\.8 seconds"),
    ):
        session.run(action)
    assert time.monotonic() - start < 10
    while running("987.25"):
        assert time.monotonic() - start < 20
        time.sleep(0.05)


def test_a_worker_that_dies_is_an_error(share: Share) -> None:
    stage(share, "dies", "import os\nos.write(2, b'last words')\nos._exit(3)")
    with engine(share) as session, pytest.raises(ToolError, match=r"(?s)status 3.*last words"):
        session.run(Action("dies:m", "dies", ("out",)))


def test_a_full_disk_is_an_output_error(share: Share) -> None:
    stage(
        share, "full", "import errno\nraise OSError(errno.ENOSPC, 'No space left on device', 'out')"
    )
    with engine(share) as session, pytest.raises(OutputError, match="No space left"):
        session.run(Action("full:m", "full", ("out",)))


def test_a_missing_source_names_the_file(share: Share) -> None:
    stage(share, "copy", "outputs['out'].write_bytes(inputs['in'].read_bytes())")
    with (
        engine(share) as session,
        pytest.raises(RecipeError, match=r"nowhere\.keras: cannot be read"),
    ):
        session.run(Action("copy:m", "copy", ("out",), {"in": Local(share.root / "nowhere.keras")}))


def test_each_file_of_a_batch_is_cached_separately_and_shared(share: Share) -> None:
    stage(
        share,
        "compile",
        "for p in inputs['src/'].iterdir(): (outputs['obj/'] / (p.stem +"
        " '.o')).write_bytes(p.read_bytes()[::-1])",
    )

    def batch(task: str, texts: dict[str, str]) -> Action:
        files = []
        for name, text in texts.items():
            path = share.root / canonical.digest(f"{task} {name}".encode())
            path.write_text(text)
            files.append((name, path))
        return Action(
            task,
            "compile",
            ("obj/",),
            {"src/": Folder(tuple(files))},
            per_file=PerFile("src/", "obj/", ".o"),
        )

    with engine(share) as session:
        first = session.run(batch("compile:a", {"x.c": "one", "dir/y.c": "two"}))
        second = session.run(batch("compile:b", {"z.c": "two", "new.c": "three"}))
        third = session.run(batch("compile:c", {"p.c": "three", "q.c": "one"}))
    assert set(first.outputs) == {"obj/x.o", "obj/dir/y.o"}
    assert second.outputs["obj/z.o"] == first.outputs["obj/dir/y.o"]
    assert third.outputs["obj/q.o"] == first.outputs["obj/x.o"]
    log = (share.root / "state" / "log.jsonl").read_text()
    assert events(share, "execute") == 2
    assert events(share, "hit") == 1
    assert log.count(".c") == 3, "each distinct text was compiled once"


def test_a_tool_that_differs_from_the_lock_is_keyed_separately_with_a_warning(
    share: Share, capsys: pytest.CaptureFixture[str]
) -> None:
    stage(share, "tool", "outputs['out'].write_text('x')")
    action = Action("tool:m", "tool", ("out",), requirements=Requirements(tools=("node",)))
    with engine(share) as session:
        session.run(action)
    assert re.fullmatch(
        r"warning: node is \d+ here, 1 in the lock file; results are cached separately\n",
        capsys.readouterr().err,
    )
    assert events(share, "execute") == 1
    with engine(share) as session:
        assert session.current(action) is not None
    (share.root / "toolchain.lock").write_text('[tools]\nnode = "2"\n')
    with engine(share) as session:
        assert session.current(action) is not None, "the actual tools have not changed"
    assert "2 in the lock file" in capsys.readouterr().err


def test_an_installed_package_uses_installed_versions_without_warnings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "webkiln"
    share = Share(package / "_share", package)
    (share.root / "stages").mkdir(parents=True)
    (share.root / "toolchain.lock").write_text('[tools]\nnode = "1"\n')
    (share.root / "requirements.lock").write_text("numpy==0.1\n")
    (package / "x.py").write_text("import numpy\n")
    share.stage("tool").write_text("from webkiln import x\n")
    with Engine(tmp_path / "state", cache=tmp_path / "cache", shared=share) as session:
        document = session._consumption.keys.document(
            Action("tool:m", "tool", ("out",), requirements=Requirements(tools=("node",))),
            {},
            actual=True,
        )
    assert document["tools"]["numpy"] == np.__version__
    assert capsys.readouterr().err == ""


def test_the_error_of_a_missing_tool_explains_its_installation(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EMSDK", raising=False)
    with pytest.raises(ToolError, match="apt-get install emscripten"):
        find("emcc")
    emscripten = tmp_path / "upstream" / "emscripten"
    emscripten.mkdir(parents=True)
    (emscripten / "emcc").write_text(f"#!{sys.executable}\n")
    (emscripten / "emcc").chmod(0o755)
    monkeypatch.setenv("EMSDK", str(tmp_path))
    assert find("emcc") == emscripten / "emcc"


def test_editing_an_imported_module_replaces_the_warm_worker(share: Share) -> None:
    package = share.root / "pipeline" / "webkiln"
    for name in ("build", "."):
        (package / name).mkdir(parents=True, exist_ok=True)
    for path in (
        PACKAGE / "errors.py",
        PACKAGE / "canonical.py",
        PACKAGE / "__init__.py",
        *(PACKAGE / "build").glob("*.py"),
    ):
        (package / path.relative_to(PACKAGE)).write_bytes(path.read_bytes())
    (package / "shade.py").write_text("SHADE = 'red'\n")
    share.stage("paint").write_text(
        "from webkiln.shade import SHADE\ndef run(inputs, outputs, params):\n   "
        " outputs['out'].write_text(SHADE + params['n'])\n"
    )
    installed = Share(share.root, package)
    results = []
    with Engine(share.root / "state", cache=share.root / "cache", shared=installed) as session:
        for n, shade in enumerate(("red", "blue")):
            (package / "shade.py").write_text(f"SHADE = {shade!r}\n")
            with Engine(
                share.root / f"s{n}",
                cache=share.root / "cache",
                shared=installed,
                executor=session.executor,
            ) as other:
                blob = other.run(
                    Action("paint:m", "paint", ("out",), params={"n": str(n)})
                ).outputs["out"]
            results.append(session.cache.store.path(blob.sha256).read_text())
    assert results == ["red0", "blue1"]


def test_a_product_that_is_missing_reruns_its_producer_once(share: Share) -> None:
    stage(share, "make", "outputs['out'].write_text('made')")
    stage(share, "use", "outputs['out'].write_text(inputs['in'].read_text() + params['n'])")
    make = Action("make:m", "make", ("out",))
    with engine(share) as session:
        blob = session.run(make).outputs["out"]
        session.cache.store.path(blob.sha256).unlink()
        session.run(Action("use:m", "use", ("out",), {"in": Product(make, "out")}, {"n": "1"}))
    assert events(share, "execute") == 3
