"""Parameters and results of loads of the fake bundle."""

from pathlib import Path

import pytest

from webkiln import canonical

Y = [11.5, 6.0, 10.75, 42.0]
worker_or_main = pytest.mark.parametrize("worker", [True, False], ids=["worker", "main"])


def shard(bundle: Path, index: int = 0) -> str:
    name: str = canonical.read(bundle / "manifest.json")["shards"][index]["file"]
    return name
