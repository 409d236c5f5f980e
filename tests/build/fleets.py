"""A fleet on this machine: a dask scheduler, and workers in separate processes with separate
caches.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.build.remotes import free_port, run_server
from tests.build.tree import Tree

Trees = Callable[[int], list[Tree]]
LIAR = Path(__file__).with_name("liar.py")
WORKER = (sys.executable, "-m", "webkiln.cli")
START_SECONDS = 120.0


class FleetWorker:
    """One worker process of a fleet, and its output."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.output: list[str] = []
        self.offers = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.output.append(line)
            if line.startswith("offers "):
                self.offers.set()

    def kill(self) -> None:
        """Kill it with SIGKILL, as after a power failure."""
        os.kill(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def scheduler(folder: Path, port: int | None = None) -> Iterator[str]:
    """Run a scheduler, and yield its address. It is killed at the end."""
    folder.mkdir(exist_ok=True)
    port = port or free_port()
    command = [
        sys.executable,
        "-m",
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--no-dashboard",
    ]
    with run_server(command, port, folder) as process:
        yield f"tcp://127.0.0.1:{port}"
        process.kill()


def start_worker(
    address: str,
    tree: Tree,
    shared: str,
    program: Sequence[str] = WORKER,
    *,
    processors: int = 2,
    **environment: str,
) -> FleetWorker:
    """Start a worker with the code and the cache of a tree. It may not be ready yet."""
    process = subprocess.Popen(
        [*program, "worker", address, "--processors", str(processors), "--memory", "16"],
        cwd=tree.root,
        env=tree.environment(WEBKILN_REMOTE_CACHE=shared, **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return FleetWorker(process)


@contextmanager
def workers(
    address: str,
    trees: Sequence[Tree],
    shared: str,
    lies: Sequence[str] = (),
    *,
    processors: int = 2,
    **environment: str,
) -> Iterator[list[FleetWorker]]:
    """Run a worker for each tree, with its code and its cache. The first ones lie as listed in
    `lies`.
    """
    with ExitStack() as stack:
        running = []
        for number, tree in enumerate(trees):
            lie = lies[number] if number < len(lies) else ""
            program = [sys.executable, str(LIAR), lie] if lie else WORKER
            running.append(
                start_worker(address, tree, shared, program, processors=processors, **environment)
            )
            stack.callback(running[-1].end)
        for worker in running:
            assert worker.offers.wait(START_SECONDS), "".join(worker.output)
        yield running


GRID_FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage")
"""Options that the nodes of a grid add for their browsers."""


@contextmanager
def grid(folder: Path) -> Iterator[str]:
    """A WebDriver server, like a Selenium Grid with one node that has Chromium."""
    folder.mkdir()
    port = free_port()

    class Hub(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.path == "/session":
                capabilities_request = json.loads(body)
                options = (
                    capabilities_request["capabilities"]
                    .setdefault("alwaysMatch", {})
                    .setdefault("goog:chromeOptions", {})
                )
                options["args"] = [*options.get("args", ()), *GRID_FLAGS]
                body = json.dumps(capabilities_request).encode()
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}{self.path}", body or None, method=self.command
            )
            try:
                with urllib.request.urlopen(request) as answer:
                    self.reply(answer.status, answer.read())
            except urllib.error.HTTPError as error:
                self.reply(error.code, error.read())

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            self.forward()

        def do_POST(self) -> None:
            self.forward()

        def do_DELETE(self) -> None:
            self.forward()

    with (
        run_server(["chromedriver", f"--port={port}"], port, folder),
        ThreadingHTTPServer(("127.0.0.1", 0), Hub) as hub,
    ):
        threading.Thread(target=hub.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{hub.server_address[1]}"
        hub.shutdown()


def warnings(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("warning:")]


def addresses(output: str) -> set[str]:
    """The addresses of workers in warnings."""
    return set(re.findall(r"tcp://[\d.]+:\d+", "\n".join(warnings(output))))


def client(address: str, shared: str) -> dict[str, str]:
    return {"WEBKILN_EXECUTOR": address, "WEBKILN_REMOTE_CACHE": shared, "WEBKILN_CACHE_WRITE": "1"}


def start_build(tree: Tree, address: str, shared: str, **variables: str) -> subprocess.Popen[str]:
    """Start a build of the toy."""
    environment = tree.environment(**client(address, shared), **variables)
    return subprocess.Popen(
        tree.command("build", "model=toy"),
        cwd=tree.root,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    """The output of a build, which must succeed."""
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return output


def clear_results(shared: str) -> str:
    for path in Path(shared).glob("*/*/*"):
        path.unlink()
    return shared
