"""Files that workers of a test run share."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.shared_files import create_once


def test_a_shared_file_is_created_once(tmp_path: Path) -> None:
    calls: list[Path] = []

    def create(path: Path) -> None:
        calls.append(path)
        path.write_text("made")

    with ThreadPoolExecutor(4) as pool:
        contents = list(
            pool.map(lambda _: create_once(tmp_path / "file", create).read_text(), range(8))
        )
    assert contents == ["made"] * 8
    assert len(calls) == 1


def test_a_failed_file_is_created_again(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        create_once(tmp_path / "file", fail)
    assert (
        create_once(tmp_path / "file", lambda path: path.write_text("whole")).read_text() == "whole"
    )
