"""After any sequence of edits, what an incremental build gives equals what a clean build gives."""

from pathlib import Path

import pytest

from tests.build.soak import soak


@pytest.mark.parametrize(("model", "edits", "seed"), [("toy", 6, 4), ("digits", 5, 6)])
def test_random_edits(model: str, edits: int, seed: int, tmp_path: Path) -> None:
    counts = soak(tmp_path, edits, seed, model)
    assert sum(times for name, times in counts.items() if name.startswith("built ")) == edits
