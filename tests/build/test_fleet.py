"""Builds on several machines produce the same bytes as on one machine, even if machines fail."""

import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.bench.processes import parent
from tests.build import soak_fleet
from tests.build.fleets import (
    Trees,
    clear_results,
    client,
    grid,
    output_of,
    scheduler,
    start_build,
    warnings,
    workers,
)
from tests.build.remotes import free_port
from tests.build.tree import Tree, checkout, executed, toy_bundle
from tests.commands.blocked import without
from tests.sampling import representative
from webkiln import canonical


def test_two_machines_produce_the_bytes_and_errors_of_one(
    slow_trees: Trees, address: str, shared: str
) -> None:
    user, *others = slow_trees(3)
    expected = toy_bundle()
    with workers(address, others, shared):
        output = user.doit("build", "model=toy", **client(address, shared))
        source = user.root / "models" / "toy" / "model.json"
        good = source.read_bytes()
        source.write_text("{")
        failed = user.doit("build", "model=toy", status=2, **client(address, shared))
        source.write_bytes(good)
    assert "not a toy model" in failed
    assert "please report" not in failed
    assert not warnings(output)
    assert user.bytes() == expected
    assert executed(user.log()).total() > 10
    own_blobs = {path.name for path in (user.cache / "blobs").glob("??/*")}
    assert own_blobs == {canonical.digest(data) for data in (*expected.values(), good, b"{")}, (
        "what lies between comes to nobody who does not need it"
    )
    assert not user.build(WEBKILN_REMOTE_CACHE=shared), (
        "results of a fleet are up to date without it"
    )


def test_a_worker_killed_during_a_step_is_replaced(
    slow_trees: Trees, address: str, shared: str, tmp_path: Path
) -> None:
    user, *others = slow_trees(3)
    expected = toy_bundle()
    running_steps = tmp_path / "running"
    running_steps.mkdir()
    with workers(address, others, shared) as fleet:
        process = subprocess.Popen(
            user.command("build", "model=toy"),
            cwd=user.root,
            env=user.environment(**client(address, shared)),
        )
        victim = None
        while victim is None and process.poll() is None:
            napping = [int(path.name.rpartition("-")[2]) for path in running_steps.iterdir()]
            victim = next(
                (
                    worker
                    for worker in fleet
                    for pid in napping
                    if parent(pid) == worker.process.pid
                ),
                None,
            )
            time.sleep(0.01)
        assert victim is not None, "no worker was busy"
        victim.kill()
        assert process.wait(120) == 0
    assert user.bytes() == expected


def wait_until_working(running_steps: Path, process: subprocess.Popen[str]) -> None:
    """Wait until a slow step runs."""
    while process.poll() is None and not [*running_steps.iterdir()]:
        time.sleep(0.01)
    assert process.poll() is None, "no slow step ran"


@pytest.fixture
def running_steps(tmp_path: Path) -> Path:
    (tmp_path / "running").mkdir()
    return tmp_path / "running"


@pytest.mark.long
def test_a_paused_worker_is_replaced_by_an_added_one(
    slow_trees: Trees, address: str, shared: str, running_steps: Path
) -> None:
    user, first, added = slow_trees(3)
    expected = toy_bundle()
    user.edit(
        "pipeline/webkiln/build/fleet/scheduler.py",
        "PATIENCE_SECONDS = 15.0",
        "PATIENCE_SECONDS = 6.0",
    )
    with workers(address, [first], shared) as (paused,):
        process = start_build(user, address, shared)
        wait_until_working(running_steps, process)
        paused.process.send_signal(signal.SIGSTOP)
        try:
            with workers(address, [added], shared):
                output_of(process)
        finally:
            paused.process.send_signal(signal.SIGCONT)
    assert user.bytes() == expected
    assert set(executed(user.log()).values()) == {1}


@pytest.mark.long
def test_a_worker_replaced_by_another_version_gets_no_work(
    slow_trees: Trees, address: str, shared: str, running_steps: Path
) -> None:
    user, first, other = slow_trees(3)
    expected = toy_bundle()
    for stage in (other.root / "stages").iterdir():
        other.edit(f"stages/{stage.name}", "def run(", "import sys\n\n\ndef run(")
    with workers(address, [first], shared) as (replaced,):
        process = start_build(user, address, shared)
        wait_until_working(running_steps, process)
        replaced.process.send_signal(signal.SIGSTOP)
        with workers(address, [other], shared):
            replaced.kill()
            output = output_of(process)
    assert user.bytes() == expected
    assert "its webkiln differs" in output


@pytest.mark.long
def test_a_restarted_scheduler_is_used_again(
    slow_trees: Trees, shared: str, running_steps: Path, tmp_path: Path
) -> None:
    user, other = slow_trees(2)
    expected, port = toy_bundle(), free_port()
    with ExitStack() as stack:
        with scheduler(tmp_path / "scheduler", port) as address:
            (worker,) = stack.enter_context(workers(address, [other], shared))
            process = start_build(user, address, shared)
            wait_until_working(running_steps, process)
        stack.enter_context(scheduler(tmp_path / "scheduler", port))
        output_of(process)
        assert user.bytes() == expected
        assert set(executed(user.log()).values()) == {1}
        while not any("waits for it" in line for line in worker.output):
            time.sleep(0.1)
        user.wipe()
        output = output_of(
            start_build(
                user, address, clear_results(shared), WEBKILN_CACHE=str(user.root / "fresh")
            )
        )
    assert user.bytes() == expected
    assert not warnings(output), "the worker has found the new scheduler"


@pytest.mark.long
def test_a_cancelled_answer_is_requested_again(
    slow_trees: Trees, address: str, shared: str, running_steps: Path
) -> None:
    from distributed import Client, Future

    user, other = slow_trees(2)
    expected = toy_bundle()
    with workers(address, [other], shared), Client(address, set_as_default=False) as client:
        process = start_build(user, address, shared)
        wait_until_working(running_steps, process)
        keys = [key for worker_keys in client.processing().values() for key in worker_keys]
        assert keys
        client.cancel([Future(key, client) for key in keys], force=True)
        output = output_of(process)
    assert user.bytes() == expected
    assert not warnings(output)


@pytest.mark.long
def test_random_failures_of_workers(tmp_path: Path) -> None:
    """`make soak` runs more builds."""
    counts = soak_fleet.soak(tmp_path, 2, 5, big=1)
    assert counts["builds"] == 2


@pytest.mark.long
def test_compilers_of_other_machines_are_used(slow_trees: Trees, address: str, shared: str) -> None:
    """A user without compilers uses those of the fleet. If the fleet has none either, the user's
    machine runs these steps.
    """
    user, other = slow_trees(2)
    expected = toy_bundle()
    with workers(address, [other], shared):
        nowhere = {"PATH": "/nowhere", "EMSDK": "/nowhere"}
        hidden = without(user.root, "ziglang", pipeline=user.root / "pipeline")
        output = user.doit("build", "model=toy", **client(address, shared), **hidden, **nowhere)
    assert not warnings(output)
    assert user.bytes() == expected
    user.wipe()
    clear_results(shared)
    fresh = {"WEBKILN_CACHE": str(other.root / "fresh")}
    lacking = without(other.root, "ziglang", pipeline=other.root / "pipeline") | nowhere | fresh
    with workers(address, [other], shared, **lacking) as (bare,):
        output = user.doit(
            "build", "model=toy", **client(address, shared), WEBKILN_CACHE=str(user.root / "fresh")
        )
    assert "compiler" not in bare.output[0]
    assert (
        "compile: no worker offers the resources that it needs (0.5 memory, 1 compiler)" in output
    )
    assert user.bytes() == expected


def test_a_missing_scheduler_is_an_error(toy: Tree, shared: str) -> None:
    toy.edit(
        "pipeline/webkiln/build/fleet/scheduler.py",
        "CONNECT_SECONDS = 30.0",
        "CONNECT_SECONDS = 1.0",
    )
    output = toy.doit(
        "build", "model=toy", status=2, **client(f"tcp://127.0.0.1:{free_port()}", shared)
    )
    assert "no scheduler answers at" in output
    assert "dask scheduler" in output


@pytest.mark.parametrize(
    ("variables_changed", "message"),
    [
        ({"WEBKILN_EXECUTOR": "build.local:8786"}, "expected the address of a dask scheduler"),
        ({"WEBKILN_REMOTE_CACHE": ""}, "WEBKILN_REMOTE_CACHE names no remote cache"),
        ({"WEBKILN_CACHE_WRITE": ""}, "WEBKILN_CACHE_WRITE is not 1"),
    ],
)
def test_invalid_variables_of_fleets_are_errors(
    variables_changed: dict[str, str], message: str, toy: Tree, shared: str
) -> None:
    assert message in toy.doit(
        "build",
        "model=toy",
        status=2,
        **{**client("tcp://127.0.0.1:8786", shared), **variables_changed},
    )


def test_a_worker_needs_a_cache_that_answers(toy: Tree) -> None:
    assert "names no remote cache" in toy.webkiln("worker", "tcp://127.0.0.1:8786", status=2)
    url = f"http://127.0.0.1:{free_port()}"
    assert "does not answer" in toy.webkiln(
        "worker", "tcp://127.0.0.1:8786", status=2, WEBKILN_REMOTE_CACHE=url
    )
    assert "is not the address" in toy.webkiln("worker", "build.local", status=2)


@pytest.mark.long
def test_a_bundle_is_verified_in_the_browsers_of_a_grid(
    address: str, shared: str, tmp_path: Path
) -> None:
    """A real model is built with the compilers and frameworks of another machine, and verified in a
    browser of a WebDriver server.
    """
    user, other = (
        checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=False) for n in range(2)
    )
    with (
        grid(tmp_path / "grid") as url,
        workers(address, [other], shared, SELENIUM_REMOTE_URL=url) as (worker,),
    ):
        output = user.doit(
            "verify",
            "model=digits",
            "backend=js",
            "encoding=float32",
            **client(address, shared),
            SELENIUM_REMOTE_URL=url,
        )
    assert "chromium at SELENIUM_REMOTE_URL" in worker.output[0]
    assert ["results are cached separately" in line for line in warnings(output)] == [True], (
        "no lock file says what browsers a grid has"
    )
    assert "js in chromium: natural0/scores" in output
    assert user.bytes()


@pytest.mark.parametrize("count", representative([1, 2], 2))
def test_doit_runs_the_requested_number_of_steps(
    count: int, slow_trees: Trees, tmp_path: Path
) -> None:
    (user,) = slow_trees(1)
    running_steps = tmp_path / "running"
    running_steps.mkdir()
    process = subprocess.Popen(
        user.command("-n", str(count), "build", "model=toy"),
        cwd=user.root,
        env=user.environment(),
    )
    most = 0
    while process.poll() is None:
        most = max(most, len([*running_steps.iterdir()]))
        time.sleep(0.01)
    assert process.returncode == 0
    assert most == count
