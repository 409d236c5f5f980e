"""Checks every row and writes the table of docs/web-projects.md: python -m tests.web [part of a
row's name]
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.web import project, row_check, table
from tests.web.rows import ROWS


def main(filters: list[str]) -> int:
    failed = 0
    with tempfile.TemporaryDirectory(prefix="webkiln-web-") as folder:
        project.need_packages()
        bundle = project.bundle_of("digits", Path(folder) / "digits")
        for number, row in enumerate(ROWS):
            if filters and not any(part in row.name for part in filters):
                continue
            started = time.monotonic()
            try:
                row_check.check_row(row, bundle, Path(folder) / str(number))
                outcome = "as in the table"
            except Exception as error:  # noqa: BLE001 the next row runs in any case
                failed += 1
                outcome = f"FAILED\n{type(error).__name__}: {error}"
            print(f"{row.name}: {time.monotonic() - started:.1f} s, {outcome}", flush=True)
    if not failed and not filters:
        table.write()
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
