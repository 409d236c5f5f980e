"""Makes the packages of WEBKILN_TEST_BLOCKED, separated by commas, look as if they were not installed."""

import os
import sys


class Absent:
    def find_spec(self, name: str, *_: object) -> None:
        if name.partition(".")[0] in os.environ.get("WEBKILN_TEST_BLOCKED", "").split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Absent())  # type: ignore[arg-type]
