"""In which order the runtime decodes weights and transforms filters, whatever arrives first, and that it does both once: memory is planned for that."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("filling.mjs")
SHARDS = [(1, 1000), (2, 600), (3, 800), (4, 200)]
"""The byte that each consists of, and how often."""
INIT = [[0, 0, 400], [0, 400, 600], [1, 0, 300], [1, 300, 300], [2, 0, 800], [3, 0, 200], [-1, 1, 2], [-1, 3, 1], [-1, 4, 2]]
"""Ranges of shards, then what follows entries: 1 and 2, 3, and 4 and 5."""


def filled(order: list[int], cached: dict[int, str], broken: tuple[int, ...] = (), strategy: str = "latest") -> list[list[int | None]]:
    given: dict[str, Any] = {"init": INIT, "shards": SHARDS, "order": order, "cached": cached, "broken": broken, "strategy": strategy}
    done = subprocess.run(["node", str(SCRIPT), json.dumps(given)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    log: list[list[int | None]] = json.loads(done.stdout)
    return log


def check(log: list[list[int | None]]) -> None:
    numbers = [entry for entry, *_ in log]
    assert sorted(map(str, numbers)) == sorted(map(str, range(len(INIT)))), "each once"
    for entry, byte, length in log:
        shard, start, count = INIT[entry or 0]
        if shard >= 0:
            assert (byte, length) == (SHARDS[shard][0], count)
        else:
            assert all(numbers.index(other) < numbers.index(entry) for other in range(start, start + count))
    transforms = [entry for entry in numbers if entry is not None and INIT[entry][0] < 0]
    assert transforms == sorted(transforms), "in their order"


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1], [1, 3, 2, 0]])
def test_filters_are_transformed_in_their_order(order: list[int]) -> None:
    log = filled(order, {})
    check(log)
    if order[0] == 3:
        assert next(entry for entry, *_ in log) == 5, "what arrives first is decoded first"


@pytest.mark.parametrize(
    ("cached", "broken", "strategy"),
    [
        (dict.fromkeys(range(4), "whole"), (), "latest"),
        ({0: "half", 1: "whole", 2: "half"}, (), "latest"),
        ({0: "half", 1: "half", 2: "half", 3: "half"}, (), "cacheFirst"),
        (dict.fromkeys(range(4), "whole"), (0, 2), "networkFirst"),
        (dict.fromkeys(range(4), "whole"), (0, 1, 2, 3), "networkFirst"),
    ],
)
def test_a_shard_that_comes_twice_is_decoded_once(cached: dict[int, str], broken: tuple[int, ...], strategy: str) -> None:
    """A cached file that breaks off is taken from the network, and a connection that does from the cache."""
    check(filled([0, 1, 2, 3], cached, broken, strategy))
