"""Files that workers of a test run share."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.shared_files import made_once


def test_a_shared_file_is_created_once(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_text("made")

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: made_once(tmp_path / "file", make).read_text(), range(8)))
    assert found == ["made"] * 8
    assert len(made) == 1


def test_a_failed_file_is_created_again(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        made_once(tmp_path / "file", fail)
    assert (
        made_once(tmp_path / "file", lambda path: path.write_text("whole")).read_text() == "whole"
    )
