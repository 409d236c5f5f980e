"""An HTTP remote cache with faults."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class Faulty:
    """The HTTP protocol for a table of objects. `fault`: the simulated fault. `requests`: all
    requests, as `GET ac/...`. `latency`: the delay of each answer in seconds. `logins`: the proxy
    authorisation of each request.
    """

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.latency = 0.0
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.logins: list[str | None] = []
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
                outer.store(self)

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
            self.requests.append(f"{request.command} {name}")
            self.logins.append(request.headers["Proxy-Authorization"])
        time.sleep(self.latency)
        data = self.objects.get(name)
        if self.fault == "never":
            self.released.wait()
            request.close_connection = True
            return
        if self.fault in REFUSALS:
            self.reply(request, REFUSALS[self.fault], b"")
            return
        if data is None:
            self.reply(request, 404, b"")
            return
        if self.fault == "bytes" and name.startswith("cas/"):
            data = data[:-1] + bytes([data[-1] ^ 1]) if data else b"?"
        if self.fault == "entries" and name.startswith("ac/"):
            data = b"\x2a\x05hello"
        if self.fault == "garbage":
            data = os.urandom(64)
        start = int(
            request.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-")
        )
        is_truncated = (
            self.fault == "cut" and name.startswith("cas/") and len(data) > 100 and start == 0
        )
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(data) - start))
        request.end_headers()
        if with_body:
            request.wfile.write(data[start : len(data) // 2] if is_truncated else data[start:])
        request.close_connection = is_truncated

    def store(self, request: BaseHTTPRequestHandler) -> None:
        name = urlsplit(request.path).path.lstrip("/")
        with self.lock:
            self.requests.append(f"PUT {name}")
        time.sleep(self.latency)
        if self.fault == "never":
            self.released.wait()
            request.close_connection = True
            return
        data = (
            request.rfile.read(int(request.headers["Content-Length"]))
            if "Content-Length" in request.headers
            else _chunks(request)
        )
        if self.fault in WRITE_REFUSALS:
            self.reply(request, WRITE_REFUSALS[self.fault], b"")
            return
        if "If-None-Match" in request.headers:
            self.objects.setdefault(name, data)
        else:
            self.objects[name] = data
        self.reply(request, 201, b"")

    @staticmethod
    def reply(request: BaseHTTPRequestHandler, status: int, body: bytes) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


REFUSALS = {"500": 500, "401": 401, "403": 403}
WRITE_REFUSALS = {**REFUSALS, "full": 507, "read-only": 403, "no puts": 405}


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


def warnings(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("warning:")]
