"""A null build only compares stamps, and notices every change."""

import time
from collections.abc import Callable

import pytest

from tests.build.tree import Tree, prebuilt
from webkiln import canonical
from webkiln.build.digests import STAMP_MARGIN_NS
from webkiln.build.tasks import _only_builds


@pytest.fixture
def stamped(toy: Tree) -> Tree:
    """A tree with a stamped bundle. It was built, and was up to date when its files were old enough
    for stamps.
    """
    prebuilt(toy)
    time.sleep(STAMP_MARGIN_NS / 1e9)
    toy.build()
    assert [*canonical.read(toy.state / "stamps.json")["rows"]] == ["bundle:toy"]
    return toy


def checks_steps(tree: Tree, **environment: str) -> bool:
    """Whether a build checks the steps: then it reads their manifests, or reports that they ran."""
    manifests = tree.state / tree.model
    hidden = manifests.rename(manifests.with_name("hidden"))
    before = len(tree.log())
    output = tree.doit("build", f"model={tree.model}", **environment)
    checked_steps = len(tree.log()) > before
    if not checked_steps:
        hidden.rename(manifests)
        assert output == "dist/toy: up to date\n"
    return checked_steps


def test_a_null_build_only_compares_stamps(stamped: Tree) -> None:
    assert not checks_steps(stamped)
    assert not checks_steps(stamped), "the next build is a null build"


CHANGES: dict[str, Callable[[Tree], object]] = {
    "source": lambda tree: tree.edit("models/toy/model.json", "0.5", "0.75"),
    "recipe": lambda tree: tree.edit("models/toy/recipe.toml", "source", 'labels = ["a"]\nsource'),
    "stage": lambda tree: tree.edit("stages/link.py", "def run", "# linked\ndef run"),
    "package": lambda tree: tree.edit(
        "pipeline/webkiln/canonical.py", "def loads", "# another\ndef loads"
    ),
    "kernel": lambda tree: (tree.root / "kernels" / "new.c.jinja").write_text("new();\n"),
    "runtime": lambda tree: tree.edit("runtime/runtime.js", "1", "2"),
    "lock": lambda tree: tree.edit("toolchain.lock", "\n", "\n# another\n"),
    "removed": lambda tree: (tree.bundle / "manifest.json").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.sample(2)
def test_every_change_is_noticed(change: str, stamped: Tree) -> None:
    CHANGES[change](stamped)
    assert checks_steps(stamped)


def test_manual_changes_are_not_overwritten(stamped: Tree) -> None:
    (stamped.bundle / "manifest.json").write_text("{}")
    assert "would be overwritten" in stamped.doit("build", "model=toy", status=2)


def test_a_changed_tree_builds_the_right_bundle(stamped: Tree) -> None:
    stamped.edit("models/toy/model.json", "0.5", "0.75")
    assert stamped.build()
    published = stamped.bytes()
    stamped.wipe()
    stamped.build(WEBKILN_CACHE=str(stamped.root / "fresh"))
    assert stamped.bytes() == published


def test_other_commands_ignore_stamps(stamped: Tree) -> None:
    assert "optimize:toy:drop_noop" in stamped.doit("list", "--all")
    assert checks_steps(stamped, PATH=f"{stamped.root}:/usr/bin:/bin"), (
        "programs are looked for elsewhere"
    )


def test_another_compiler_invalidates_stamps(stamped: Tree) -> None:
    assert checks_steps(stamped, WEBKILN_COMPILER="emcc")


def test_forgetting_a_task_discards_stamps(stamped: Tree) -> None:
    stamped.doit("forget", "bundle:toy")
    assert checks_steps(stamped)


def test_a_damaged_file_of_stamps_is_ignored(stamped: Tree) -> None:
    (stamped.state / "stamps.json").write_text("{")
    assert not stamped.build()


@pytest.mark.parametrize(
    ("command", "quick"),
    [
        ("", True),
        ("build", True),
        ("build model=a,b backend=js", True),
        ("run -n 2 build", True),
        ("-n2 build", True),
        ("-n 2 build", True),
        ("list", False),
        ("build -a", False),
        ("verify", False),
        ("build verify", False),
        ("bundle:toy", False),
        ("clean", False),
    ],
)
def test_which_commands_only_build_bundles(command: str, quick: bool) -> None:
    assert _only_builds(command.split()) is quick
