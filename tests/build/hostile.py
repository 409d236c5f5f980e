"""Hostile remote caches: their contents are valid, but their answers are not."""

import functools
import random
import socket
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

DRIP_SECONDS = 3.0
Objects = dict[str, bytes]
Respond = Callable[["Peer", bytes], None]
"""Answers a request for an object with these bytes in one particular way."""


class Peer:
    """One connection from which a request was read."""

    def __init__(
        self,
        connection: socket.socket,
        method: str,
        ranged: int,
        ended: threading.Event,
        canary: str,
    ) -> None:
        self.connection, self.method, self.start, self.ended, self.canary = (
            connection,
            method,
            ranged,
            ended,
            canary,
        )

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def drip(self, data: bytes) -> None:
        """Send one byte every DRIP_SECONDS."""
        for byte in data:
            self.send(bytes([byte]))
            if self.ended.wait(DRIP_SECONDS):
                return

    def stall(self) -> None:
        self.ended.wait(120)

    def head(self, size: int | str, status: str = "200 OK", *extra_headers: str) -> bytes:
        lines = [
            f"HTTP/1.1 {status}",
            f"Content-Length: {size}",
            'ETag: "x"',
            "Last-Modified: Thu, 26 Nov 2026 00:00:00 GMT",
            *extra_headers,
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def good(self, data: bytes, *extra_headers: str) -> None:
        body = data[self.start :]
        span = f"Content-Range: bytes {self.start}-{len(data) - 1}/{len(data)}"
        self.send(
            self.head(len(body), "206 Partial Content", span, *extra_headers)
            if self.start
            else self.head(len(body), "200 OK", *extra_headers)
        )
        self.body(body)

    def body(self, data: bytes) -> None:
        if self.method != "HEAD":
            self.send(data)


def _status(line: str, *extra_headers: str) -> Respond:
    return lambda peer, data: peer.send(peer.head(0, line, *extra_headers))


def _flood(piece: bytes, head: bytes = b"HTTP/1.1 200 OK\r\n", pieces: int = 4000) -> Respond:
    """Repeat data as long as the peer reads."""

    def respond(peer: Peer, data: bytes) -> None:
        peer.send(head)
        for _ in range(pieces):
            peer.send(piece)

    return respond


def _sent(*parts: bytes) -> Respond:
    return lambda peer, data: [peer.send(part) for part in parts] and None


@functools.cache
def _packed() -> bytes:
    return zlib.compress(bytes(1 << 26), 9, wbits=31)


def _bomb(peer: Peer, data: bytes) -> None:
    peer.send(peer.head(len(_packed()), "200 OK", "Content-Encoding: gzip"))
    peer.body(_packed())


def _later(first: Callable[[Peer, bytes], bytes], then: Callable[[Peer, bytes], None]) -> Respond:
    def respond(peer: Peer, data: bytes) -> None:
        peer.send(first(peer, data))
        then(peer, data)

    return respond


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
QUICK: Mapping[str, Respond] = {
    "500": _status("500 Oops"),
    "403": _status("403 No"),
    "404": _status("404 None"),
    "503": _status("503 Later\x1b[31m"),
    "507": _status("507 Full"),
    "no status": _sent(b"hello\r\n\r\n"),
    "bad status": _sent(b"HTTP/1.1 9999999999999999999999 X\r\n\r\n"),
    "other protocol": _sent(b"SSH-2.0-x\r\n" * 3),
    "nothing": lambda peer, data: None,
    "reset": lambda peer, data: peer.connection.setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
    ),
    "redirect malformed": _status("302 Found", "Location: http://[bad"),
    "redirect to a file": _status("301 Moved", "Location: file:///etc/passwd"),
    "redirect to a host": lambda peer, data: peer.send(
        peer.head(0, "307 Over there", f"Location: {peer.canary}")
    ),
    "redirect to itself": _status("308 Here", "Location: /"),
    "long header": _later(lambda peer, data: b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000, Peer.good),
    "many headers": _later(
        lambda peer, data: b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500, Peer.good
    ),
    "endless headers": _flood(b"X-Filler: " + b"y" * 1000 + b"\r\n"),
    "endless header": _flood(b"y" * 1000),
    "endless continue": _flood(b"HTTP/1.1 100 Continue\r\n\r\n" * 50, b""),
    "endless chunk size": _flood(b"0" * 1000, CHUNKED),
    "endless trailers": _flood(b"X-Filler: " + b"y" * 1000 + b"\r\n", CHUNKED + b"0\r\n"),
    "bad chunk size": _sent(CHUNKED, b"zz\r\nabc\r\n"),
    "negative chunk size": _sent(CHUNKED, b"-5\r\nabc\r\n0\r\n\r\n"),
    "giant chunk": _sent(CHUNKED, b"fffffffffffffff\r\nabc"),
    "giant length": lambda peer, data: peer.send(peer.head(10**15) + data),
    "negative length": lambda peer, data: peer.send(peer.head(-5) + data),
    "length of letters": lambda peer, data: peer.send(peer.head("many") + data),
    "length of digits": lambda peer, data: peer.send(peer.head("9" * 5000) + data),
    "two lengths": lambda peer, data: peer.send(
        peer.head(len(data), "200 OK", "Content-Length: 1") + data
    ),
    "no length": lambda peer, data: peer.send(
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data
    ),
    "no length, and more": _later(
        lambda peer, data: b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + data,
        _flood(bytes(1000), b"", 20000),
    ),
    "more than announced": lambda peer, data: peer.send(
        peer.head(len(data)) + data + b"HTTP/1.1 200 OK\r\n\r\n" * 20
    ),
    "less than announced": lambda peer, data: peer.send(
        peer.head(len(data)) + data[: len(data) // 2]
    ),
    "a longer object": lambda peer, data: peer.good(data + bytes(1000)),
    "a shorter object": lambda peer, data: peer.good(data[:-1]),
    "gzip bomb": _bomb,
    "other bytes": lambda peer, data: peer.good(
        data[:-1] + bytes([data[-1] ^ 1]) if data else b"?"
    ),
    "garbage": lambda peer, data: peer.good(random.randbytes(len(data))),
    "zeros": lambda peer, data: peer.good(bytes(len(data))),
    "wrong range": lambda peer, data: peer.send(
        peer.head(len(data), "206 Partial Content", "Content-Range: bytes 7-3/x") + data
    ),
    "control characters": _status("500 \x1b]0;title\x07\x1b[2J", "X: \x00\x01"),
}
SLOW: Mapping[str, Respond] = {
    "no answer": lambda peer, data: peer.stall(),
    "slow head": lambda peer, data: peer.drip(peer.head(len(data)) + data),
    "slow body": _later(
        lambda peer, data: peer.head(len(data)), lambda peer, data: peer.drip(data or b"x")
    ),
    "stalled body": _later(
        lambda peer, data: peer.head(len(data) + 1) + data, lambda peer, data: peer.stall()
    ),
    "slow chunks": _later(
        lambda peer, data: CHUNKED, lambda peer, data: peer.drip(b"1\r\nx\r\n" * 100)
    ),
    "slow trailers": _later(
        lambda peer, data: CHUNKED + b"0\r\n", lambda peer, data: peer.drip(b"X: y\r\n" * 100)
    ),
}
HTTP: Mapping[str, Respond] = {"": Peer.good, **QUICK, **SLOW}


class Hostile:
    """An HTTP server on raw sockets that serves a table of objects. `choose` selects the fault of
    each request. `counts`: the uses of each fault. `visits`: the requests to the target of
    redirects. `leaks`: those of them with a login.
    """

    def __init__(self, choose: Callable[[str, str], str]) -> None:
        self.objects: Objects = {}
        self.choose = choose
        self.counts: Counter[str] = Counter()
        self.visits = self.leaks = 0
        self.ended = threading.Event()
        self.socket, self.canary = (
            socket.create_server(("127.0.0.1", 0), backlog=64),
            socket.create_server(("127.0.0.1", 0)),
        )
        threading.Thread(target=self._accept, args=(self.socket, self._serve), daemon=True).start()
        threading.Thread(target=self._accept, args=(self.canary, self._visit), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self.ended.set()
        for listening in (self.socket, self.canary):
            # A thread that is blocked in accept keeps the port open.
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _accept(self, listening: socket.socket, serve: Callable[[socket.socket], None]) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    def _visit(self, connection: socket.socket) -> None:
        self.visits += 1
        connection.settimeout(10)
        with connection, suppress(OSError):
            self.leaks += b"authorization:" in connection.recv(1 << 16).lower()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(60)
        with connection, suppress(OSError), connection.makefile("rb") as stream:
            while (request := _request(stream)) is not None:
                if not self._answer(connection, stream, *request):
                    return

    def _answer(
        self,
        connection: socket.socket,
        stream: Any,
        method: str,
        path: str,
        headers: Mapping[str, str],
    ) -> bool:
        """Answer one request. Returns whether the connection can be reused."""
        name = f"{'ac' if '/ac/' in path else 'cas'}/{path.rpartition('/')[2]}"
        fault = self.choose(method, name)
        self.counts[f"http {fault or 'good'}"] += 1
        canary = f"http://127.0.0.1:{self.canary.getsockname()[1]}/"
        start = headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0]
        peer = Peer(connection, method, int(start or 0), self.ended, canary)
        if method == "PUT":
            if fault in SLOW:
                SLOW[fault](peer, b"")
                return False
            data = _body(stream, headers)
            if fault and fault != "404":
                HTTP[fault](peer, b"")
                return False
            self.objects.setdefault(name, data)
            peer.send(peer.head(0))
            return True
        if name not in self.objects and not (
            fault in SLOW or fault.startswith(("redirect", "endless"))
        ):
            peer.send(peer.head(0, "404 Not Found"))
            return True
        HTTP[fault](peer, self.objects.get(name, b""))
        return not fault


def _request(stream: Any) -> tuple[str, str, dict[str, str]] | None:
    parts = stream.readline(70_000).decode("latin-1").split()
    if len(parts) != 3:
        return None
    headers: dict[str, str] = {}
    while (line := stream.readline(70_000).decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    return parts[0], urlsplit(parts[1]).path, headers


def _body(stream: Any, headers: Mapping[str, str]) -> bytes:
    if "content-length" in headers:
        return bytes(stream.read(int(headers["content-length"])))
    data = b""
    while size := int(stream.readline().partition(b";")[0] or b"0", 16):
        data += stream.read(size)
        stream.readline()
    stream.readline()
    return data
