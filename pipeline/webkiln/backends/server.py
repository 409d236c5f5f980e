"""A local HTTP server, with the headers that a test requests."""

import mimetypes
import re
import sys
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
ISOLATED = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
}
"""Headers for a page with shared memory and a fine-grained clock."""

MOST_BODY_BYTES = 1 << 31
"""The maximum size of a request body: a page sends outputs of a model."""
IDLE_SECONDS = 60.0
"""The idle timeout of a connection."""

Answer = tuple[int, str, bytes]
Route = Callable[[str, bytes], Answer | None]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _RefusedError(Exception):
    """Answer with a status and one line of text."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        self.status, self.text = status, text
        super().__init__(text)


class _Handler(BaseHTTPRequestHandler):
    owner: "Server"
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self.respond(with_body=False)

    def do_POST(self) -> None:
        self.respond(with_body=True)

    def respond(self, *, with_body: bool) -> None:
        try:
            self.check_host()
            body = self.body() if with_body else b""
            # Otherwise, an unexpected request body would be read as the next request.
            self.close_connection |= not with_body and any(
                name in self.headers for name in ("content-length", "transfer-encoding")
            )
            status, kind, data = self.owner.answer(self.place(), body)
        except _RefusedError as refused:
            self.close_connection = True
            status, kind, data = refused.status, "text/plain", refused.text.encode()
        self.send_response(status)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in self.owner.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def check_host(self) -> None:
        """Reject names that another site points at this server (DNS rebinding)."""
        try:
            name = urlsplit(f"//{self.headers.get('host', '')}").hostname
        except ValueError:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the Host header is malformed") from None
        if name not in self.owner.names:
            raise _RefusedError(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")

    def body(self) -> bytes:
        length = self.headers.get("content-length")
        if length is None or not re.fullmatch(r"[0-9]{1,15}", length, re.ASCII):
            raise _RefusedError(
                HTTPStatus.LENGTH_REQUIRED, "the Content-Length header is missing or malformed"
            )
        if int(length) > (MOST_BODY_BYTES if self.owner.route else 0):
            raise _RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request body is too large"
            )
        return self.rfile.read(int(length))

    def place(self) -> str:
        try:
            return unquote(urlsplit(self.path).path)
        except ValueError:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the path is malformed") from None

    def log_message(self, *_: Any) -> None:
        return


class Server:
    """Serve `folders` (URL prefix -> folder) at an address. Port 0 selects a free port.

    Requests with another Host header are rejected, against DNS rebinding. `route` handles a path
    first; if it returns None, the folders are searched. Responses are not cached, unless `headers`
    sets Cache-Control.
    """

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
        self.names = {*LOCAL, address[0]}
        self._http = _Listener(address, type("Handler", (_Handler,), {"owner": self}))
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._http.server_address[:2])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def answer(self, path: str, body: bytes) -> Answer:
        if self.route and (routed := self.route(path, body)) is not None:
            return routed
        for prefix, folder in sorted(self.folders.items(), key=lambda item: -len(item[0])):
            if not path.startswith(prefix):
                continue
            try:
                file = (folder / path[len(prefix) :].lstrip("/")).resolve()
                if file.is_dir():
                    file = file / "index.html"
                hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
                if not hidden and file.is_file():
                    kind = (
                        TYPES.get(file.suffix)
                        or mimetypes.guess_type(file.name)[0]
                        or "application/octet-stream"
                    )
                    return HTTPStatus.OK, kind, file.read_bytes()
            except (OSError, ValueError):
                break  # too long, with a null byte, outside the folder, or unreadable
        return HTTPStatus.NOT_FOUND, "text/plain", b"not found"
