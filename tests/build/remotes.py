"""Servers that keep a remote cache: real ones, and one of the HTTP protocol that fails in a chosen way."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

SERVERS = Path(__file__).resolve().parents[2] / ".venv" / "servers" / "bin"
"""Programs of packages that have an environment of their own."""
START_SECONDS = 60.0

NGINX = """
daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ }}
http {{
  access_log {folder}/access.log;
  client_max_body_size 0;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port};
    location / {{ root {folder}/data; dav_methods PUT; create_full_put_path on; }}
  }}
}}
"""

BUILDGRID = """
server:
  - !channel
    address: 127.0.0.1:{port}
    insecure-mode: true
authorization:
  method: none
monitoring:
  enabled: false
instances:
  - name: ''
    storages:
      - !lru-storage &cas
        size: 512M
    caches:
      - !lru-action-cache &actions
        storage: *cas
        max-cached-refs: 4096
        allow-updates: true
    services:
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
      - !action-cache
        cache: *actions
thread-pool-size: 20
"""


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def started(command: Sequence[str | Path], port: int, folder: Path, **environment: str) -> Iterator[None]:
    """A server process that listens at a port."""
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, env=os.environ | environment)
        try:
            _await(port, process, folder)
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _await(port: int, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            ended = process.poll() is not None or time.monotonic() > deadline
            assert not ended, (folder / "server.log").read_text(errors="replace")[-2000:]
            time.sleep(0.05)
        else:
            return


@contextmanager
def folder(place: Path) -> Iterator[str]:
    (place / "shared").mkdir()
    yield str(place / "shared")


@contextmanager
def nginx(place: Path) -> Iterator[str]:
    port = free_port()
    (place / "data").mkdir()
    (place / "nginx.conf").write_text(NGINX.format(folder=place, port=port))
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    with started([program, "-c", place / "nginx.conf", "-p", place], port, place):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def s3(place: Path) -> Iterator[str]:
    """A bucket of moto's server; what it is reached with stands in the environment that the caller gives to builds."""
    port = free_port()
    with started([SERVERS / "moto_server", "-H", "127.0.0.1", "-p", str(port)], port, place):
        import urllib.request

        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/cache", method="PUT")).close()
        yield f"s3://cache/team?{port}"


@contextmanager
def reapi(place: Path) -> Iterator[str]:
    port = free_port()
    (place / "buildgrid.yml").write_text(BUILDGRID.format(port=port))
    with started([SERVERS / "bgd", "server", "start", place / "buildgrid.yml"], port, place):
        yield f"grpc://127.0.0.1:{port}"


REAL = {"folder": folder, "nginx": nginx, "s3": s3, "reapi": reapi}


def reached(url: str) -> dict[str, str]:
    """The environment in which a build reaches a server."""
    if not url.startswith("s3:"):
        return {"WEBKILN_REMOTE_CACHE": url}
    address, _, port = url.partition("?")
    return {
        "WEBKILN_REMOTE_CACHE": address,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }


class Faulty:
    """The HTTP protocol over a table. `fault`: how it fails; `asked`: the requests, as `GET ac/...`; `latency`: the seconds before each answer."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.latency = 0.0
        self.held: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                return

            def do_GET(self) -> None:
                outer.answer(self, with_body=True)

            def do_HEAD(self) -> None:
                outer.answer(self, with_body=False)

            def do_PUT(self) -> None:
                outer.take(self)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler, *, with_body: bool) -> None:
        name = urlsplit(request.path).path.lstrip("/")
        with self.lock:
            self.asked.append(f"{request.command} {name}")
        time.sleep(self.latency)
        data = self.held.get(name)
        if self.fault == "never":
            self.released.wait()
            request.close_connection = True
            return
        if self.fault in REFUSALS:
            self.say(request, REFUSALS[self.fault], b"")
            return
        if data is None:
            self.say(request, 404, b"")
            return
        if self.fault == "bytes" and name.startswith("cas/"):
            data = data[:-1] + bytes([data[-1] ^ 1]) if data else b"?"
        if self.fault == "entries" and name.startswith("ac/"):
            data = b"\x2a\x05hello"
        if self.fault == "garbage":
            data = os.urandom(64)
        start = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        cut = self.fault == "cut" and name.startswith("cas/") and len(data) > 100 and start == 0
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        if with_body:
            request.wfile.write(data[start : len(data) // 2] if cut else data[start:])
        request.close_connection = cut

    def take(self, request: BaseHTTPRequestHandler) -> None:
        name = urlsplit(request.path).path.lstrip("/")
        with self.lock:
            self.asked.append(f"PUT {name}")
        time.sleep(self.latency)
        if self.fault == "never":
            self.released.wait()
            request.close_connection = True
            return
        data = request.rfile.read(int(request.headers["Content-Length"])) if "Content-Length" in request.headers else _chunks(request)
        if self.fault in WRITE_REFUSALS or (self.fault == "small" and len(data) > LARGEST_TAKEN):
            self.say(request, WRITE_REFUSALS.get(self.fault, 413), b"")
            return
        if "If-None-Match" in request.headers:
            self.held.setdefault(name, data)
        else:
            self.held[name] = data
        self.say(request, 201, b"")

    @staticmethod
    def say(request: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


REFUSALS = {"500": 500, "401": 401, "403": 403}
WRITE_REFUSALS = {**REFUSALS, "full": 507, "read-only": 403, "no puts": 405}
LARGEST_TAKEN = 700
"""Bytes of a body that the fault "small" lets pass."""


def _chunks(request: BaseHTTPRequestHandler) -> bytes:
    data = b""
    while size := int(request.rfile.readline(), 16):
        data += request.rfile.read(size)
        request.rfile.readline()
    request.rfile.readline()
    return data


@contextmanager
def faulty(fault: str = "") -> Iterator[Faulty]:
    server = Faulty(fault)
    try:
        yield server
    finally:
        server.close()
