"""Buckets as a remote cache, by way of obstore: s3://, gs:// and az://, with the credentials that
the
provider's own variables name.

obstore's calls run in an event loop of their own, where each wait has a deadline.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any

from webkiln.build.action import Blob
from webkiln.build.remote.entries import LARGEST
from webkiln.build.remote.remote import (
    ANSWER_SECONDS,
    AbsentError,
    DeniedError,
    RemoteError,
    UnreachableError,
    parts,
)
from webkiln.build.remote.timeouts import Deadline, Turns
from webkiln.errors import MissingPackageError

CONNECTIONS = 8
CLIENT = {"connect_timeout": "5s", "timeout": "1d", "read_timeout": "1d"}
"""Deadlines are kept here; obstore would repeat what it gives up itself."""
RETRIES = {"max_retries": 1, "retry_timeout": timedelta(seconds=5)}
PART = 5 << 20
"""What is uploaded by one request; providers take no smaller parts."""
UPLOAD_SLOWEST = 50_000
"""Bytes a second. How much of a part was sent cannot be seen, so that this is all that limits it.
"""
SMALL = 1 << 20
"""Larger blobs are uploaded one after the other."""


class ObjectRemote:
    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise MissingPackageError(
                f"the remote cache {url} is read with obstore, which is not installed; pip install"
                " 'webkiln[remote]'",
                "obstore",
            ) from error
        self._do, self._errors = obstore, obstore.exceptions
        client: Any = {**CLIENT, "allow_http": _says_http()}
        retries: Any = RETRIES
        with self._told():
            self._store = from_url(url, client_options=client, retry_config=retries)
        self._large = Turns(SMALL)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="webkiln-objects", daemon=True)
        self._thread.start()

    def entry(self, key: str) -> bytes | None:
        data = bytearray()
        try:
            for chunk in self._stream(_place("ac", key), 0, LARGEST + 1):
                data += chunk
        except AbsentError:
            return None
        return bytes(data)

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        del blobs
        mode: Any = "overwrite" if overwrite else "create"
        with self._told(), suppress(self._errors.AlreadyExistsError):
            self._wait(
                lambda: self._do.put_async(self._store, _place("ac", key), entry, mode=mode),
                _seconds(len(entry)),
            )

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            found = pool.map(self._holds, blobs)
            return {blob for blob, there in zip(blobs, found, strict=True) if not there}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        return self._stream(_place("cas", blob.sha256), start, blob.bytes, blob.bytes)

    def write(self, blob: Blob, path: Path) -> None:
        with self._large.take(blob.bytes), self._told():
            if blob.bytes <= PART:
                self._wait(
                    lambda: self._do.put_async(
                        self._store, _place("cas", blob.sha256), path.read_bytes()
                    ),
                    _seconds(blob.bytes),
                )
            else:
                self._upload(blob, path)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_SECONDS)

    def _upload(self, blob: Blob, path: Path) -> None:
        """Store a large blob in parts, one after the other, each of which has its time."""

        async def upload() -> None:
            overdue = self._loop.time() + _seconds(2 * PART)

            def read() -> Iterator[bytes]:
                nonlocal overdue
                for chunk in parts(path):
                    yield chunk
                    overdue = self._loop.time() + _seconds(2 * PART)

            options: Any = {"use_multipart": True, "chunk_size": PART, "max_concurrency": 1}
            task = asyncio.ensure_future(
                _awaited(
                    lambda: self._do.put_async(
                        self._store, _place("cas", blob.sha256), read(), **options
                    )
                )
            )
            while not task.done():
                await asyncio.wait([task], timeout=1.0)
                if not task.done() and self._loop.time() > overdue:
                    task.cancel()
                    raise TimeoutError
            task.result()

        asyncio.run_coroutine_threadsafe(upload(), self._loop).result()

    def _stream(self, place: str, start: int, end: int, size: int | None = None) -> Iterator[bytes]:
        """The bytes of an object from `start` to `end`, at most; RemoteError where it has not the
        `size` that is expected.
        """
        if start == end:
            return
        deadline = Deadline()
        with self._told():
            options: Any = {"range": {"offset": start}} if start else {}
            found = self._wait(
                lambda: self._do.get_async(self._store, place, options=options), deadline.left()
            )
            if size is not None and found.meta["size"] != size:
                raise RemoteError(f"{place} has {found.meta['size']} bytes there, expected {size}")
            stream = found.stream(min_chunk_size=1)
            while start < end:
                try:
                    chunk = bytes(self._wait(stream.__anext__, deadline.left()))
                except StopAsyncIteration:
                    return
                deadline.moved(len(chunk))
                start += len(chunk)
                yield chunk

    def _holds(self, blob: Blob) -> bool:
        with self._told():
            try:
                found = self._wait(
                    lambda: self._do.head_async(self._store, _place("cas", blob.sha256)),
                    ANSWER_SECONDS,
                )
            except FileNotFoundError:
                return False
            return int(found["size"]) == blob.bytes

    def _wait(self, call: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        """The value of an awaitable that `call` makes in the loop. Raises TimeoutError."""
        return asyncio.run_coroutine_threadsafe(
            asyncio.wait_for(_awaited(call), seconds), self._loop
        ).result()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise AbsentError(_reason(error)) from error
        except TimeoutError as error:
            raise UnreachableError("no answer in time") from error
        except (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError) as error:
            raise DeniedError(_reason(error)) from error
        except self._errors.BaseError as error:
            if "InvalidCertificate" in str(error):
                raise UnreachableError(
                    "its certificate is not trusted; name its authority's in SSL_CERT_FILE"
                ) from error
            kind = (
                UnreachableError
                if "error sending request" in str(error) or "timed out" in str(error)
                else RemoteError
            )
            raise kind(_reason(error)) from error
        except (OSError, ValueError) as error:
            raise RemoteError(_reason(error)) from error


async def _awaited(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def _seconds(size: int) -> float:
    """How long the upload of so many bytes may take."""
    return ANSWER_SECONDS + size / UPLOAD_SLOWEST


def _says_http() -> bool:
    """Whether the environment names a service that is reached without TLS, as one on this machine
    is.
    """
    places = (
        value
        for name, value in os.environ.items()
        if name.startswith(("AWS_ENDPOINT", "AZURE_", "AZURITE_", "GOOGLE_"))
    )
    return any(value.startswith("http://") for value in places)


def _place(part: str, name: str) -> str:
    return f"{part}/{name[:2]}/{name}"


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0].strip()
