"""The order in which the runtime decodes weights and transforms filters, for any order of arrivals
and retries. Memory is planned for that order.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("filling.mjs")
SHARDS = [(1, 1000), (2, 600), (3, 800), (4, 200)]
"""(byte value, length) of each shard."""
INIT = [
    [0, 0, 400],
    [0, 400, 600],
    [1, 0, 300],
    [1, 300, 300],
    [2, 0, 800],
    [3, 0, 200],
    [-1, 1, 2],
    [-1, 3, 1],
    [-1, 4, 2],
]
"""Ranges of shards (shard, start, length), and entries (-1, first, count) that follow others:
entries 1 and 2, 3, 4 and 5.
"""


Log = list[tuple[int, int | None, int]]


def decode(
    order: list[int],
    cached: dict[int, str],
    broken: tuple[int, ...] = (),
    wrong: tuple[int, ...] = (),
    strategy: str = "latest",
) -> tuple[Log, bool]:
    """The calls of the engine, and whether the first range was decoded before the rest of its shard
    arrived.
    """
    request: dict[str, Any] = {"init": INIT, "shards": SHARDS, "order": order, "cached": cached}
    request |= {"broken": broken, "wrong": wrong, "strategy": strategy}
    process = subprocess.run(
        ["node", str(SCRIPT), json.dumps(request)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    events: list[list[Any]] = json.loads(process.stdout)
    log: Log = [
        (entry, byte, length) for entry, byte, length in (row for row in events if row[0] != "rest")
    ]
    return log, [row[0] for row in events].index(0) < events.index(["rest", 0])


def check(log: Log) -> None:
    """The last decoding of each range has the right bytes. Each filter is transformed once, in
    order, after the last decoding of its ranges.
    """
    numbers = [entry for entry, *_ in log]
    last = {entry: position for position, entry in enumerate(numbers)}
    assert set(last) == set(range(len(INIT)))
    for entry, (shard, start, count) in enumerate(INIT):
        _, byte, length = log[last[entry]]
        if shard >= 0:
            assert (byte, length) == (SHARDS[shard][0], count)
        else:
            assert all(last[other] < last[entry] for other in range(start, start + count))
    transforms = [entry for entry in numbers if INIT[entry][0] < 0]
    assert transforms == sorted(set(transforms)), "once, in order"


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 3, 0, 1], [1, 3, 2, 0]])
@pytest.mark.sample(2)
def test_filters_are_transformed_in_order(order: list[int]) -> None:
    log, is_early = decode(order, {})
    check(log)
    assert len(log) == len(INIT), "each is decoded once"
    assert is_early, "ranges are decoded before the rest of their shard arrives"
    if order[0] == 3:
        assert next(entry for entry, *_ in log) == 5, "the first shard to arrive is decoded first"


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
def test_a_shard_that_arrives_twice_is_decoded_from_the_complete_copy(
    cached: dict[int, str], broken: tuple[int, ...], strategy: str
) -> None:
    """A cached file that breaks off is downloaded. A download that breaks off is read from the
    cache.
    """
    log, _ = decode([0, 1, 2, 3], cached, broken, strategy=strategy)
    check(log)


@pytest.mark.parametrize("strategy", ["networkOnly", "networkFirst", "latest"])
@pytest.mark.parametrize("wrong", [(0,), (1, 3), (0, 1, 2, 3)])
@pytest.mark.sample(3)
def test_wrong_bytes_are_decoded_again(wrong: tuple[int, ...], strategy: str) -> None:
    """The HTTP cache has wrong bytes, which are decoded as they arrive. The server has the right
    ones.
    """
    log, is_early = decode([2, 3, 0, 1], {}, wrong=wrong, strategy=strategy)
    check(log)
    assert is_early
    assert len(log) == len(INIT) + sum(INIT[entry][0] in wrong for entry in range(6))
