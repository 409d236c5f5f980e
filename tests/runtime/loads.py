"""Loads of the fake bundle: where they run, one of its files, and what it computes."""

from pathlib import Path

import pytest

from webkiln import canonical

Y = [11.5, 6.0, 10.75, 42.0]
places = pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])


def shard(bundle: Path, index: int = 0) -> str:
    name: str = canonical.read(bundle / "manifest.json")["shards"][index]["file"]
    return name
