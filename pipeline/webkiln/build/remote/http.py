"""The HTTP cache protocol of Bazel (https://bazel.build/remote/caching#http-caching): GET, HEAD and
PUT of /ac/<key> and /cas/<sha256>.

Servers that inspect entries, such as bazel-remote, accept only ActionResults of the Remote
Execution API, so entries are wrapped in these. Redirects are not followed, and encoded content is
rejected.
"""

import http.client
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from queue import Empty, LifoQueue
from urllib.parse import quote, urlsplit

from webkiln.build.action import Blob
from webkiln.build.remote import wire
from webkiln.build.remote.entries import LARGEST
from webkiln.build.remote.network import PORTS, login_of, proxy, tls, untrusted
from webkiln.build.remote.remote import (
    CHUNK,
    AbsentError,
    DeniedError,
    FullError,
    LargeError,
    RemoteError,
    UnreachableError,
    parts,
)
from webkiln.build.remote.timeouts import TimedSocket

CONNECT_SECONDS = 5.0
CONNECTIONS = 8
LARGEST_HEAD = 128 << 10
LARGEST_WRAPPED = 2 * LARGEST
"""An entry, and the digests of its blobs once more."""
SHORT = 64 << 10
"""The bytes of an unused answer that are read to keep the connection."""
DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
KINDS: Mapping[int, type[RemoteError]] = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: LargeError,
    HTTPStatus.INSUFFICIENT_STORAGE: FullError,
}
STALE = (http.client.BadStatusLine, ConnectionError)
"""Errors of a connection that the server closed while it was idle."""
FAILURES = (OSError, http.client.HTTPException, ValueError)


@dataclass(frozen=True, slots=True)
class _Connection:
    http: http.client.HTTPConnection
    timed: TimedSocket


class HttpRemote:
    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._secure, self._host, self._port = (
            split.scheme == "https",
            split.hostname or "",
            split.port,
        )
        self._path = quote(split.path.rstrip("/"), safe="/%")
        self._headers = {"Accept-Encoding": "identity"}
        if login := login_of(split.username, split.password):
            self._headers["Authorization"] = login
        self._tls = tls() if self._secure else None
        self._proxy = proxy(split.scheme, self._host, self._port or PORTS[split.scheme])
        if self._proxy is not None and not self._secure:
            self._headers |= self._proxy.headers
            self._path = f"http://{split.netloc.rpartition('@')[2]}{self._path}"
        self._idle: LifoQueue[_Connection] = LifoQueue()

    def entry(self, key: str) -> bytes | None:
        with self._request("GET", f"ac/{key}", most=LARGEST_WRAPPED) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            data = answer.read(LARGEST_WRAPPED + 1)
        if len(data) > LARGEST_WRAPPED:
            raise RemoteError(f"the entry {key} is larger than {LARGEST_WRAPPED} bytes")
        return wire.unwrapped(data)

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        body = wire.wrapped(entry, blobs)
        headers = {
            "Content-Length": str(len(body)),
            **({} if overwrite else {"If-None-Match": "*"}),
        }
        with self._request(
            "PUT", f"ac/{key}", headers, lambda: [body], allowed=HTTPStatus.PRECONDITION_FAILED
        ):
            pass

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            present = pool.map(self._holds, blobs)
            return {blob for blob, is_present in zip(blobs, present, strict=True) if not is_present}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self._request("GET", f"cas/{blob.sha256}", headers, most=blob.bytes) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                raise AbsentError(f"it does not have cas/{blob.sha256}")
            skipped = start if answer.status != HTTPStatus.PARTIAL_CONTENT else 0
            remaining = blob.bytes - start + skipped
            if answer.length is not None and answer.length != remaining:
                raise RemoteError(
                    f"cas/{blob.sha256} has {answer.length} bytes there, expected {remaining}"
                )
            while chunk := answer.read(CHUNK):
                yield chunk[skipped:]
                skipped = max(0, skipped - len(chunk))

    def write(self, blob: Blob, path: Path) -> None:
        with self._request(
            "PUT",
            f"cas/{blob.sha256}",
            {"Content-Length": str(blob.bytes)},
            lambda: parts(path),
            allowed=HTTPStatus.OK,
        ):
            pass

    def close(self) -> None:
        while True:
            try:
                self._idle.get_nowait().http.close()
            except Empty:
                return

    def _holds(self, blob: Blob) -> bool:
        with self._request("HEAD", f"cas/{blob.sha256}") as answer:
            return answer.status != HTTPStatus.NOT_FOUND and answer.getheader(
                "Content-Length", str(blob.bytes)
            ) == str(blob.bytes)

    @contextmanager
    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Callable[[], Iterable[bytes]] | None = None,
        *,
        most: int = SHORT,
        allowed: int = HTTPStatus.NOT_FOUND,
    ) -> Iterator[http.client.HTTPResponse]:
        """One request, whose answer has a body of at most `most` bytes. Raises RemoteError where
        its status is neither a success nor `allowed`.
        """
        what = f"{method} {path}"
        connection: _Connection | None = None
        try:
            connection, answer = self._send(
                method, path, {**self._headers, **(headers or {})}, body
            )
            # Chunked answers have additional heads.
            connection.timed.expect_body(2 * most + LARGEST_HEAD)
            _check(answer, what, allowed)
            yield answer
            if _is_over(answer):
                self._idle.put(connection)
                connection = None
        except TimeoutError as error:
            raise UnreachableError(f"{what}: no answer in time") from error
        except FAILURES as error:
            raise RemoteError(f"{what}: {error or type(error).__name__}") from error
        finally:
            if connection is not None:
                connection.http.close()

    def _send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Callable[[], Iterable[bytes]] | None,
    ) -> tuple[_Connection, http.client.HTTPResponse]:
        while True:
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = self._connect()
                return connection, self._exchange(connection, method, path, headers, body)
            try:
                return connection, self._exchange(connection, method, path, headers, body)
            except STALE:
                continue

    def _exchange(
        self,
        connection: _Connection,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Callable[[], Iterable[bytes]] | None,
    ) -> http.client.HTTPResponse:
        try:
            connection.timed.begin()
            try:
                connection.http.request(
                    method,
                    f"{self._path}/{path}",
                    body() if body is not None else None,
                    dict(headers),
                )
            except (BrokenPipeError, ConnectionResetError):
                if body is None:
                    # with a body, the server may have answered before it closed the connection
                    raise
            connection.timed.expect(LARGEST_HEAD)
            return connection.http.getresponse()
        except BaseException:
            connection.http.close()
            raise

    def _connect(self) -> _Connection:
        host, port = (
            (self._host, self._port)
            if self._proxy is None
            else (self._proxy.host, self._proxy.port)
        )
        connection: http.client.HTTPConnection
        if self._tls is not None:
            connection = http.client.HTTPSConnection(
                host, port, timeout=CONNECT_SECONDS, context=self._tls
            )
            if self._proxy is not None:
                connection.set_tunnel(self._host, self._port, self._proxy.headers)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:
            connection.close()
            reason = untrusted(error) or getattr(error, "strerror", None) or error
            proxy = f" through the proxy {host}" if self._proxy is not None else ""
            raise UnreachableError(f"{self._host}{proxy}: {reason}") from error
        timed = TimedSocket(connection.sock)
        connection.sock, connection.auto_open = timed, 0
        return _Connection(connection, timed)


def _check(answer: http.client.HTTPResponse, what: str, allowed: int) -> None:
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        if (encoding := answer.getheader("Content-Encoding", "identity").lower()) != "identity":
            raise RemoteError(
                f"{what}: the answer is encoded ({encoding}), although no encoding was requested"
            )
        return
    if status == allowed:
        return
    kind = DeniedError if status in DENIED else KINDS.get(status, RemoteError)
    redirected = (
        ", and redirects are not followed"
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        else ""
    )
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    raise kind(f"{what}: {status} {phrase}".rstrip() + redirected)


def _is_over(answer: http.client.HTTPResponse) -> bool:
    """Whether an answer was read to its end, or can be now: its connection can be reused."""
    if not answer.isclosed() and (answer.chunked or answer.length is None or answer.length > SHORT):
        return False
    answer.read()
    return not answer.will_close
