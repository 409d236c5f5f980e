"""After any sequence of edits, before and during builds, an incremental build has the result of a
clean build.
"""

from pathlib import Path

import pytest

from tests.build import soak_during
from tests.build.soak import soak


@pytest.mark.parametrize(("model", "edits", "seed"), [("toy", 4, 4), ("digits", 5, 6)])
def test_random_edits(model: str, edits: int, seed: int, tmp_path: Path) -> None:
    counts = soak(tmp_path, edits, seed, model)
    assert sum(times for name, times in counts.items() if name.startswith("built ")) == edits


def test_edits_while_builds_run(tmp_path: Path) -> None:
    """`make soak` runs more of them."""
    counts = soak_during.soak(tmp_path, 2, 3)
    assert counts["built while sources changed"]
    assert counts["final states that build"]
