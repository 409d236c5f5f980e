"""Every test module of the repository is part of `make test`."""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
LISTING = """
import sys
import pytest


class Listing:
    def pytest_collect_file(self, file_path):
        if file_path.name.startswith("test_") and file_path.suffix == ".py":
            print("collected", file_path)

    def pytest_pycollect_makemodule(self, module_path, parent):
        return Unread.from_parent(parent, path=module_path)


class Unread(pytest.Module):
    def collect(self):
        return []


sys.exit(pytest.main(["--collect-only", "--noconftest", "-p", "no:cacheprovider", "-n0"],
  plugins=[Listing()]))
"""
"""Prints the modules that pytest collects with this project's configuration, without importing
them.
"""


def versioned(root: Path) -> set[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    paths = map(Path, listed.stdout.split("\0"))
    return {root / path for path in paths if path.match("test_*.py")}


def collected(root: Path) -> set[Path]:
    command = [sys.executable, "-c", LISTING]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    return {Path(line.split(" ", 1)[1]) for line in lines if line.startswith("collected /")}


def test_every_versioned_test_module_is_collected() -> None:
    found = versioned(REPOSITORY)
    assert found
    assert found - collected(REPOSITORY) == set()


def test_a_module_that_is_not_collected_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tests" / "build").mkdir(parents=True)
    for name in ("tests/test_seen.py", "tests/build/test_unseen.py"):
        (tmp_path / name).write_text("def test_nothing(): pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    missing = versioned(tmp_path) - collected(tmp_path)
    assert missing == {tmp_path / "tests" / "build" / "test_unseen.py"}
