"""A model in a project of each tool: built, deployed below a path with a strict policy, opened."""

from pathlib import Path

import pytest

from tests.web import row_check
from tests.web.rows import ROWS, Row


@pytest.mark.parametrize("row", [row for row in ROWS if row.quick], ids=lambda row: row.name)
@pytest.mark.sample("Vite-plugin-build", "plain_HTML-bundle-build")
def test_row(row: Row, bundle: Path, tmp_path: Path) -> None:
    row_check.check_row(row, bundle, tmp_path)
