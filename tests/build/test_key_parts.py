"""All inputs of a result are part of its key."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from webkiln import canonical
from webkiln.build import digests
from webkiln.build.action import Action, Folder, Local, Product, Requirements, UserReads
from webkiln.build.derived import Derived
from webkiln.build.engine import Engine
from webkiln.build.share import Share
from webkiln.build.tools import Toolchain
from webkiln.errors import ToolError


def keys(share: Share, action: Action, inputs: dict[str, str] | None = None, **extra: Any) -> str:
    with Engine(share.root / "state", cache=share.root / "cache", shared=share) as engine:
        return canonical.key(engine._consumption.keys.document(action, inputs or {}, **extra))


PLAIN = Action("one:m", "one", ("out",), {}, {"n": 1})
VARIATIONS: dict[str, Callable[[Share], tuple[Action, dict[str, Any]]]] = {
    "stage": lambda share: (replace(PLAIN, stage="two"), {}),
    "parameter": lambda share: (replace(PLAIN, params={"n": 2}), {}),
    "type of a parameter": lambda share: (replace(PLAIN, params={"n": "1"}), {}),
    "output": lambda share: (replace(PLAIN, outputs=("other",)), {}),
    "second output": lambda share: (replace(PLAIN, outputs=("out", "then")), {}),
    "other second output": lambda share: (replace(PLAIN, outputs=("out", "thus")), {}),
    "input": lambda share: (PLAIN, {"inputs": {"in": "a"}}),
    "role of an input": lambda share: (PLAIN, {"inputs": {"also": "a"}}),
    "bytes of an input": lambda share: (PLAIN, {"inputs": {"in": "b"}}),
    "code": lambda share: (
        replace(PLAIN, requirements=Requirements((share.package / "more.py",))),
        {},
    ),
    "tool": lambda share: (replace(PLAIN, requirements=Requirements(tools=("node",))), {}),
    "other tool": lambda share: (replace(PLAIN, requirements=Requirements(tools=("clang",))), {}),
    "package": lambda share: (PLAIN, {"packages": ("scipy",)}),
}


def test_every_part_of_an_action_is_in_its_key(share: Share) -> None:
    variants = {
        name: keys(share, action, **extra)
        for name, (action, extra) in ((name, create(share)) for name, create in VARIATIONS.items())
    }
    variants["plain"] = keys(share, PLAIN)
    assert len({*variants.values()}) == len(variants)


@pytest.mark.parametrize("field", ["task", "timeout", "source"])
def test_metadata_of_an_action_is_not_in_its_key(field: str, share: Share) -> None:
    values: dict[str, Any] = {
        "task": "other:m",
        "timeout": 5.0,
        "source": "mine.onnx",
    }
    assert keys(share, replace(PLAIN, **{field: values[field]})) == keys(share, PLAIN)


EDITS: dict[str, Callable[[Share], object]] = {
    "stage": (
        lambda share: share.stage("one").write_text(share.stage("one").read_text() + "MORE = 1\n")
    ),
    "imported module": lambda share: (share.package / "part.py").write_text("SIZE = 3\n"),
    "package that is imported": (
        lambda share: (share.root / "requirements.lock").write_text("numpy==3\nscipy==2\n")
    ),
    "another stage": lambda share: share.stage("two").write_text("NONE = 1\n"),
    "module that is not imported": (
        lambda share: (share.package / "more.py").write_text("SIZE = 3\n")
    ),
    "package that is not imported": (
        lambda share: (share.root / "requirements.lock").write_text("numpy==1\nscipy==3\n")
    ),
    "tool that is not used": (
        lambda share: (share.root / "toolchain.lock").write_text('[tools]\nnode = "5"\n')
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_which_files_of_webkiln_are_in_a_key(
    edit: str, share: Share, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "STAMP_MARGIN_NS", 1 << 62)
    before = keys(share, PLAIN)
    EDITS[edit](share)
    is_keyed = not edit.endswith(("another stage", "not imported", "not used"))
    assert (keys(share, PLAIN) != before) == is_keyed


@pytest.mark.parametrize(
    ("name", "plain", "foreign"),
    [
        ("LD_LIBRARY_PATH", True, True),
        ("https_proxy", False, True),
        ("SSL_CERT_FILE", False, True),
        ("CURL_CA_BUNDLE", False, True),
        ("SSL_CERT_DIR", False, True),
        ("TMPDIR", False, False),
        ("LANG", False, False),
    ],
)
def test_which_variables_are_in_a_key(
    name: str,
    plain: bool,
    foreign: bool,
    share: Share,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for action, is_keyed in (
        (PLAIN, plain),
        (replace(PLAIN, user_reads=UserReads((tmp_path,))), foreign),
    ):
        monkeypatch.delenv(name, raising=False)
        before = keys(share, action)
        monkeypatch.setenv(name, str(tmp_path))
        assert (keys(share, action) != before) == is_keyed


def source_key(share: Share, action: Action) -> str:
    with Engine(share.root / "state", cache=share.root / "cache", shared=share) as engine:
        source = engine._consumption.source_key(action)
        assert source is not None
        return source.key


def test_a_source_key_includes_the_selected_part_of_a_product(share: Share) -> None:
    first = Action("one:m", "one", ("a/", "b/"))
    other = Action("one:n", "one", ("a/", "b/"), {}, {"n": 2})
    (share.root / "x").write_text("1")
    (share.root / "y").write_text("2")
    inputs = [
        {"in/": Product(first, "a/")},
        {"in/": Product(first, "b/")},
        {"in/": Product(first, "a/", "*.c")},
        {"in/": Product(other, "a/")},
        {"other/": Product(first, "a/")},
        {"in": Local(share.root / "x")},
        {"in": Local(share.root / "y")},
        {"in/": Folder((("x", share.root / "x"),))},
        {"in/": Folder((("y", share.root / "x"),))},
        {"in/": Folder((("x", share.root / "y"),))},
    ]
    source_keys = [
        source_key(share, Action("two:m", "two", ("out",), action_inputs))
        for action_inputs in inputs
    ]
    assert len({*source_keys}) == len(source_keys)


def test_versions_that_match_the_lock_file_count_as_locked(
    share: Share, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If several versions or builds are locked, each counts as locked. Another version is reported
    once, and keyed separately.
    """
    (share.root / "requirements.lock").write_text(
        "numpy==1.0\nNumPy==2.0 ; python_version < '3'\nTorch_Vision==3\n# no==1\n"
    )
    installed = {"numpy": "2.0", "torch-vision": "3+cpu", "other": "7"}
    monkeypatch.setattr(
        "webkiln.build.tools._installed_version", lambda name: installed.get(name, "absent")
    )
    tools = Toolchain(share.root, Derived(share.root / "derived.json"))
    assert tools.distributions(["sklearn", "cv2", "numpy.linalg", "PIL_x"]) == (
        "numpy-linalg",
        "opencv-python-headless",
        "pil-x",
        "scikit-learn",
    )
    locked = {"numpy": "1.0|2.0", "torch-vision": "3", "node": "1"}
    assert tools.locked(["numpy", "torch-vision", "node"]) == locked
    assert tools.actual(["numpy", "torch-vision"]) == {"numpy": "1.0|2.0", "torch-vision": "3"}
    assert capsys.readouterr().err == ""
    installed["numpy"] = "2.1"
    reloaded = Toolchain(share.root, Derived(share.root / "derived.json"))
    for output in (
        "warning: numpy is 2.1 here, 1.0|2.0 in the lock file; results are cached separately\n",
        "",
    ):
        assert reloaded.actual(["numpy", "gone"]) == {"numpy": "2.1", "gone": "absent"}
        assert capsys.readouterr().err == output
    assert reloaded.locked(["other", "gone"]) == {"other": "7", "gone": "absent"}
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ToolError, match="node is required"):
        Toolchain(share.root, Derived(share.root / "derived.json")).actual(["node"])


def test_the_version_of_a_program_is_queried_again_when_it_changes(
    share: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()

    def install(version: str) -> None:
        program.with_name("new").write_text(f"#!/bin/sh\necho v{version}.0.0\n")
        program.with_name("new").chmod(0o755)
        program.with_name("new").replace(program)

    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    versions = []
    for version in ("20", "22"):
        install(version)
        derived = Derived(share.root / "derived.json")
        versions.append(Toolchain(share.root, derived, installed=True).actual(["node"])["node"])
        derived.save()
    assert versions == ["20", "22"]
