"""`make help` lists every target that a person may ask for; lock files have what tests import."""

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTERNAL = {"tools", "browsers"}
"""Targets that others need, and nobody asks for."""


def make(*arguments: str) -> str:
    # Of the `make` that runs these tests, the one below takes no flags, and does not print which
    # folder it enters.
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    }
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout


def test_help_describes_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(re.sub(r"\\\n", " ", text).partition(".PHONY:")[2].partition("\n")[0].split())
    lines = dict(
        re.fullmatch(r"make (\S+) +(\S.*)", line).groups() for line in make("help").splitlines()
    )
    assert lines.keys() == targets - INTERNAL


def test_make_alone_is_help() -> None:
    assert make() == make("help")


def test_a_build_installs_no_framework_and_no_browser() -> None:
    commands = make("--dry-run", "--always-make", "build", "model=digits")
    assert "--require-hashes -r base.lock" in commands
    assert "--no-deps --no-build-isolation --editable ." in commands
    for part in ("tests.lock", "apt-get update", "npm"):
        assert part not in commands


def test_docs_regenerates_every_generated_page() -> None:
    pages = {
        path.name.removesuffix("_page.py")
        for path in (ROOT / "tests" / "docs").glob("*_page.py")
        if not path.name.startswith("test_")
    }
    (listed,) = re.findall(r"^PAGES := ([a-z_ ]+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(listed.split()) == pages


def test_installed_packages_have_hashes_and_locked_versions() -> None:
    locked = pins("requirements.lock")
    for name in ("base.lock", "tests.lock"):
        assert pins(name) <= locked, "run make locks"
    assert {pin.partition("==")[0] for pin in locked - pins("tests.lock")} == {
        "torch",
        "torchvision",
    }
    for name in ("base.lock", "tests.lock", "servers.lock"):
        blocks = re.split(r"\n(?=\S)", (ROOT / name).read_text().strip())
        assert all("--hash=sha256:" in block for block in blocks if not block.startswith("#"))


def test_packages_that_tests_import_are_locked() -> None:
    locked = {pin.partition("==")[0] for pin in pins("requirements.lock")}
    distributions = packages_distributions()
    own = {"tests", "webkiln", "text_generation"}
    missing = {
        (str(path.relative_to(ROOT)), module)
        for pattern in ("test_*.py", "conftest.py")
        for path in (ROOT / "tests").rglob(pattern)
        if "node_modules" not in path.parts
        for module in imported_packages(path) - sys.stdlib_module_names - own
        if not {spelled(name) for name in distributions.get(module, ())} & locked
    }
    assert not missing


def imported_packages(path: Path) -> set[str]:
    """The packages, at the top level, that a module imports."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in names} - {""}


def spelled(distribution: str) -> str:
    """The name of a distribution as lock files spell it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def pins(name: str) -> set[str]:
    """The pins `package==version` of a lock file."""
    return set(re.findall(r"^[\w.-]+==[^ \n]+", (ROOT / name).read_text(), re.MULTILINE))
