"""Buckets as a remote cache, through obstore: s3://, gs:

and az://, with the credentials in the provider's own variables.

obstore runs in an event loop of its own, in which each wait has a deadline.
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
"""Timeouts are handled here; obstore would retry after its own."""
RETRIES = {"max_retries": 1, "retry_timeout": timedelta(seconds=5)}
PART = 5 << 20
"""The size of an upload request. Providers accept no smaller parts."""
UPLOAD_SLOWEST = 50_000
"""Bytes a second. The progress within a part is not visible, so this is the only limit."""
SMALL = 1 << 20
"""Larger blobs are uploaded one after the other."""


class ObjectRemote:
    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise MissingPackageError(
                f"the remote cache {url} requires obstore, which is not installed; pip install"
                " 'webkiln[remote]'",
                "obstore",
            ) from error
        self._do, self._errors = obstore, obstore.exceptions
        client: Any = {**CLIENT, "allow_http": _allows_http()}
        retries: Any = RETRIES
        with self._translated():
            self._store = from_url(url, client_options=client, retry_config=retries)
        self._large = Turns(SMALL)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="webkiln-objects", daemon=True)
        self._thread.start()

    def entry(self, key: str) -> bytes | None:
        data = bytearray()
        try:
            for chunk in self._stream(_object_path("ac", key), 0, LARGEST + 1):
                data += chunk
        except AbsentError:
            return None
        return bytes(data)

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        del blobs
        mode: Any = "overwrite" if overwrite else "create"
        with self._translated(), suppress(self._errors.AlreadyExistsError):
            self._wait(
                lambda: self._do.put_async(self._store, _object_path("ac", key), entry, mode=mode),
                _seconds(len(entry)),
            )

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            present = pool.map(self._holds, blobs)
            return {blob for blob, is_present in zip(blobs, present, strict=True) if not is_present}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        return self._stream(_object_path("cas", blob.sha256), start, blob.bytes, blob.bytes)

    def write(self, blob: Blob, path: Path) -> None:
        with self._large.take(blob.bytes), self._translated():
            if blob.bytes <= PART:
                self._wait(
                    lambda: self._do.put_async(
                        self._store, _object_path("cas", blob.sha256), path.read_bytes()
                    ),
                    _seconds(blob.bytes),
                )
            else:
                self._upload(blob, path)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_SECONDS)

    def _upload(self, blob: Blob, path: Path) -> None:
        """Upload a large blob in parts, one after the other, each with its own deadline."""

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
                        self._store, _object_path("cas", blob.sha256), read(), **options
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

    def _stream(self, path: str, start: int, end: int, size: int | None = None) -> Iterator[bytes]:
        """The bytes of an object from `start` to at most `end`. Raises RemoteError where it has
        another size than `size`.
        """
        if start == end:
            return
        deadline = Deadline()
        with self._translated():
            options: Any = {"range": {"offset": start}} if start else {}
            answer = self._wait(
                lambda: self._do.get_async(self._store, path, options=options), deadline.left()
            )
            if size is not None and answer.meta["size"] != size:
                raise RemoteError(f"{path} has {answer.meta['size']} bytes there, expected {size}")
            stream = answer.stream(min_chunk_size=1)
            while start < end:
                try:
                    chunk = bytes(self._wait(stream.__anext__, deadline.left()))
                except StopAsyncIteration:
                    return
                deadline.moved(len(chunk))
                start += len(chunk)
                yield chunk

    def _holds(self, blob: Blob) -> bool:
        with self._translated():
            try:
                metadata = self._wait(
                    lambda: self._do.head_async(self._store, _object_path("cas", blob.sha256)),
                    ANSWER_SECONDS,
                )
            except FileNotFoundError:
                return False
            return int(metadata["size"]) == blob.bytes

    def _wait(self, call: Callable[[], Awaitable[Any]], seconds: float) -> Any:
        """The value of an awaitable that `call` creates in the loop. Raises TimeoutError."""
        return asyncio.run_coroutine_threadsafe(
            asyncio.wait_for(_awaited(call), seconds), self._loop
        ).result()

    @contextmanager
    def _translated(self) -> Iterator[None]:
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
                    "its certificate is not trusted; set SSL_CERT_FILE to the certificate of its"
                    " authority"
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
    """The maximal duration of an upload of `size` bytes."""
    return ANSWER_SECONDS + size / UPLOAD_SLOWEST


def _allows_http() -> bool:
    """Whether the environment names a service without TLS, such as one on this machine."""
    endpoints = (
        value
        for name, value in os.environ.items()
        if name.startswith(("AWS_ENDPOINT", "AZURE_", "AZURITE_", "GOOGLE_"))
    )
    return any(value.startswith("http://") for value in endpoints)


def _object_path(part: str, name: str) -> str:
    return f"{part}/{name[:2]}/{name}"


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0].strip()
