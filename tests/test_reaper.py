"""An interrupted run of the tests leaves no process behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.reaper import ROOT

TEST = """
import os, subprocess, sys, time
from pathlib import Path

import psutil

from webkiln.backends import browsers

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
ORPHAN = (
    "import subprocess; nothing = subprocess.DEVNULL;"
    f" print(subprocess.Popen({SLEEP}, stdout=nothing, stderr=nothing, start_new_session=True).pid)"
)


def test_that_never_ends():
    session = browsers.session("chromium")
    orphan = subprocess.run(
        [sys.executable, "-c", ORPHAN],
        capture_output=True, text=True, check=True,
    )
    other = subprocess.Popen(SLEEP, start_new_session=True, env={})
    driver = session.service.process.pid
    run = psutil.Process(int(os.environ["WEBKILN_TESTS"]))
    watcher = next(process for process in run.children() if "tests.reaper" in process.cmdline())
    polls = watcher.num_ctx_switches().voluntary
    while watcher.num_ctx_switches().voluntary < polls + 3:
        time.sleep(0.1)
    Path(__file__).with_name("ready").write_text(f"{driver} {other.pid} {orphan.stdout}")
    time.sleep(600)
"""


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
@pytest.mark.sample("killed")
def test_an_interrupted_run_leaves_no_process(end: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "test_long.py").write_text(TEST)
    options = [
        "-n1",
        "-p",
        "no:cacheprovider",
        "-c",
        str(ROOT / "pyproject.toml"),
        f"--rootdir={ROOT}",
        "-p",
        "tests.conftest",
    ]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *options,
        f"--basetemp={tmp_path / 'temp'}",
        str(tmp_path / "test_long.py"),
    ]
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST")
    }
    run = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        while not (tmp_path / "ready").is_file() or not (tmp_path / "ready").read_text():
            assert run.poll() is None, run.communicate()[0]
            time.sleep(0.1)
    except BaseException:
        os.killpg(run.pid, signal.SIGKILL)
        raise
    recorded = [psutil.Process(int(pid)) for pid in (tmp_path / "ready").read_text().split()]
    browser = recorded[0].children(recursive=True)
    assert browser, "the driver has a browser"
    os.killpg(run.pid, end) if end == signal.SIGINT else run.kill()
    assert run.wait(60) != 0
    ended, alive = psutil.wait_procs([*recorded, *browser], timeout=30)
    assert not alive
    assert len(ended) == len(recorded) + len(browser)
