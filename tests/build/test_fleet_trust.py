"""Workers that lie, run other code, or use another cache."""

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.build.fleets import (
    Trees,
    addresses,
    client,
    output_of,
    start_build,
    warnings,
    workers,
)
from tests.build.tree import executed, toy_bundle
from tests.sampling import representative

LIES = {
    "absent": "claims that outputs of",
    "bytes": "stored bytes that do not match",
    "outputs": "with outputs other than",
    "nonsense": "sent an invalid answer",
    "other": "returned another result for",
}


@pytest.mark.parametrize("lie", representative(LIES, "bytes"))
def test_a_lying_worker_gets_no_further_work(
    lie: str, slow_trees: Trees, address: str, shared: str
) -> None:
    user, liar, *others = slow_trees(4 if lie == "other" else 3)
    expected = toy_bundle()
    checks = "1" if lie == "other" else "0"
    with ExitStack() as stack:
        stack.enter_context(workers(address, [liar], shared, [lie]))
        if lie == "other":  # one worker alone cannot be contradicted
            stack.enter_context(workers(address, others, shared))
        process = start_build(user, address, shared, WEBKILN_EXECUTOR_CHECKS=checks)
        if lie != "other":
            while process.poll() is None and "load:toy" not in executed(user.log()):
                time.sleep(0.01)
            stack.enter_context(workers(address, others, shared))
        output = output_of(process)
    assert user.bytes() == expected
    assert any(LIES[lie] in line and "gets no more work" in line for line in warnings(output)), (
        output
    )


@pytest.mark.long
def test_a_fleet_of_lying_workers_is_not_used(slow_trees: Trees, address: str, shared: str) -> None:
    user, *others = slow_trees(3)
    expected = toy_bundle()
    with workers(address, others, shared, ["bytes", "absent"]):
        output = user.doit("build", "model=toy", **client(address, shared))
    assert user.bytes() == expected
    assert "are executed here" in output


def test_a_worker_with_other_code_is_not_used(slow_trees: Trees, address: str, shared: str) -> None:
    user, other = slow_trees(2)
    other.edit("stages/pack.py", "def run(", "import\n\n\ndef run(")
    with workers(address, [other], shared):
        output = user.doit("build", "model=toy", **client(address, shared))
    assert "cannot do pack: its webkiln differs in stages/pack.py" in output
    assert user.bytes() == toy_bundle()


@pytest.mark.long
def test_a_build_uses_the_worker_with_the_same_code(
    slow_trees: Trees, address: str, shared: str
) -> None:
    user, other, fitting = slow_trees(3)
    other.edit("stages/pack.py", "def run(", "import sys\n\n\ndef run(")
    with workers(address, [other, fitting], shared):
        output = user.doit("build", "model=toy", **client(address, shared))
    assert user.bytes() == toy_bundle()
    assert len(addresses(output)) <= 1


@pytest.mark.long
def test_a_worker_with_another_cache_is_reported(
    slow_trees: Trees, address: str, shared: str, tmp_path: Path
) -> None:
    user, other = slow_trees(2)
    expected = toy_bundle()
    (tmp_path / "elsewhere").mkdir()
    with workers(address, [other], str(tmp_path / "elsewhere")):
        output = user.doit("build", "model=toy", **client(address, shared))
    assert user.bytes() == expected
    assert "check that its WEBKILN_REMOTE_CACHE is the same" in output
