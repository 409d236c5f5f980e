"""The HTTP cache protocol of Bazel (https://bazel.build/remote/caching#http-caching): GET, HEAD and PUT of /ac/<key> and /cas/<sha256>.

Servers that look at entries (bazel-remote does) take ActionResults of the Remote Execution API alone, so entries travel within one.
"""

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import urllib3

from webkiln.build.action import Blob
from webkiln.build.remote import wire
from webkiln.build.remote.remote import CHUNK, AbsentError, DeniedError, FullError, RemoteError, UnreachableError, parts

CONNECT_SECONDS, READ_SECONDS = 5.0, 10.0
"""A server that says nothing for so long is taken for dead."""
CONNECTIONS = 8
LARGEST_ENTRY = 16 << 20
DENIED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
FULL = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.INSUFFICIENT_STORAGE)


class HttpRemote:
    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        login = f"{unquote(split.username or '')}:{unquote(split.password or '')}" if "@" in split.netloc else None
        self.url = split._replace(netloc=split.netloc.rpartition("@")[2], path=split.path.rstrip("/")).geturl()
        self._pool = urllib3.PoolManager(
            maxsize=CONNECTIONS,
            block=True,
            headers=urllib3.make_headers(basic_auth=login) if login else {},
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            retries=urllib3.Retry(total=2, connect=1, read=1, status=1, redirect=3, backoff_factor=0.2, raise_on_status=False),
        )

    def entry(self, key: str) -> bytes | None:
        with self._asked("GET", f"ac/{key}", preload_content=False) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                return None
            data = answer.read(LARGEST_ENTRY + 1)
        if len(data) > LARGEST_ENTRY:
            raise RemoteError(f"the entry {key} is larger than {LARGEST_ENTRY} bytes")
        return wire.unwrapped(data)

    def create(self, key: str, entry: bytes, blobs: Sequence[Blob]) -> None:
        with self._asked("HEAD", f"ac/{key}") as found:
            there = found.status != HTTPStatus.NOT_FOUND
        if not there:
            with self._asked("PUT", f"ac/{key}", body=wire.wrapped(entry, blobs), headers={"If-None-Match": "*"}):
                pass

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            found = pool.map(self._holds, blobs)
            return {blob for blob, there in zip(blobs, found, strict=True) if not there}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        headers = {"Range": f"bytes={start}-"} if start else {}
        with self._asked("GET", f"cas/{blob.sha256}", headers=headers, preload_content=False) as answer:
            if answer.status == HTTPStatus.NOT_FOUND:
                raise AbsentError(f"it does not have cas/{blob.sha256}")
            skipped = start if answer.status != HTTPStatus.PARTIAL_CONTENT else 0
            for chunk in answer.stream(CHUNK):
                yield chunk[skipped:]
                skipped = max(0, skipped - len(chunk))

    def write(self, blob: Blob, path: Path) -> None:
        with self._asked("PUT", f"cas/{blob.sha256}", body=parts(path), headers={"Content-Length": str(blob.bytes)}):
            pass

    def close(self) -> None:
        self._pool.clear()

    def _holds(self, blob: Blob) -> bool:
        with self._asked("HEAD", f"cas/{blob.sha256}") as answer:
            return bool(answer.status != HTTPStatus.NOT_FOUND)

    @contextmanager
    def _asked(self, method: str, path: str, headers: dict[str, str] | None = None, **more: Any) -> Iterator[Any]:
        """One request; RemoteError where the answer is no success and, to a question, not that there is nothing."""
        try:
            answer = self._pool.request(method, f"{self.url}/{path}", headers={**self._pool.headers, **(headers or {})}, **more)
            try:
                _check(answer.status, f"{method} {path}", none=method != "PUT")
                yield answer
            finally:
                answer.release_conn()
        except (urllib3.exceptions.TimeoutError, urllib3.exceptions.MaxRetryError, urllib3.exceptions.NewConnectionError) as error:
            raise UnreachableError(f"{method} {path}: {_reason(error)}") from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise RemoteError(f"{method} {path}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    cause = getattr(error, "reason", None) or error
    return str(cause).rpartition(": ")[2] or type(cause).__name__


def _check(status: int, what: str, *, none: bool) -> None:
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES or (none and status == HTTPStatus.NOT_FOUND):
        return
    kind = DeniedError if status in DENIED else FullError if status in FULL else RemoteError
    raise kind(f"{what}: {status} {HTTPStatus(status).phrase if status in set(HTTPStatus) else ''}".rstrip())
