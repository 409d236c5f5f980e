"""Worker processes of builds that stay warm between the engines of a test run: importing a
framework takes longer than most tests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from webkiln.build import execution
from webkiln.build.environment import environment
from webkiln.build.executor import LocalPool
from webkiln.build.share import share

MOST_POOLS = 2
"""The maximum number of pools that stay warm."""


class WarmPool(LocalPool):
    """A pool that outlives its engine."""

    def close(self) -> None:
        pass


@contextmanager
def warm_workers() -> Iterator[None]:
    """Share workers between the engines of this tree whose workers would have the same environment.
    Workers with outdated code are replaced as usual.
    """
    pools: dict[tuple[tuple[str, str], ...], WarmPool] = {}

    def pool(pythonpath: Path, size: int | None = None, homes: Path | None = None) -> LocalPool:
        if pythonpath != share().package.parent:
            return LocalPool(pythonpath, size, homes)
        key = (
            *sorted(environment(Path("home"), pythonpath, os.environ).items()),
            ("size", str(size)),
        )
        pools[key] = pools.pop(key, None) or WarmPool(
            pythonpath, size or 1
        )  # tests run in parallel already
        while len(pools) > MOST_POOLS:
            LocalPool.close(pools.pop(next(iter(pools))))
        return pools[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "LocalPool", pool)
        yield
    for warm in pools.values():
        LocalPool.close(warm)
