"""A local HTTP server for one folder, with the headers that a test asks for."""

import mimetypes
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".wasm": "application/wasm",
    ".bin": "application/octet-stream",
}

LOCAL = ("127.0.0.1", "localhost")
ISOLATED = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
"""What a page is served with whose threads share memory and whose clock is fine."""

Answer = tuple[int, str, bytes]
Route = Callable[[str, bytes], Answer | None]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


class Server:
    """Serves `folders` (URL prefix -> folder) at an address, with port 0 at any that is free, to pages that call it so: a name that another host
    has pointed here is refused. `route` answers a path first, unless it returns None. Browsers keep nothing, unless `headers` have another Cache-Control."""

    def __init__(
        self,
        folders: Mapping[str, Path],
        *,
        headers: Mapping[str, str] | None = None,
        route: Route | None = None,
        address: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.folders = {prefix: folder.resolve() for prefix, folder in folders.items()}
        self.headers = {"Cache-Control": "no-store", **(headers or {})}
        self.route = route
        self._names = {*LOCAL, address[0]}
        self._http = _Listener(address, self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._http.server_address[:2])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: bytes) -> Answer:
        if self.route and (routed := self.route(path, body)) is not None:
            return routed
        for prefix, folder in sorted(self.folders.items(), key=lambda item: -len(item[0])):
            if not path.startswith(prefix):
                continue
            if "\0" in path:
                break
            file = (folder / path[len(prefix) :].lstrip("/")).resolve()
            if file.is_dir():
                file = file / "index.html"
            if file.is_relative_to(folder) and file.is_file():
                kind = TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
                return HTTPStatus.OK, kind, file.read_bytes()
        return HTTPStatus.NOT_FOUND, "text/plain", b"not found"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self.respond(b"")

            def do_POST(self) -> None:
                self.respond(self.rfile.read(int(self.headers.get("content-length", 0))))

            def respond(self, body: bytes) -> None:
                if urlsplit(f"//{self.headers.get('host', '')}").hostname in server._names:
                    status, kind, data = server.answer(unquote(urlsplit(self.path).path), body)
                else:
                    status, kind, data = HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this server has another name"
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                return

        return Handler
