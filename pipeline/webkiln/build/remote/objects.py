"""Buckets as a remote cache, by way of obstore: s3://, gs:// and az://, with the credentials that the provider's own variables name."""

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from webkiln.build.action import Blob
from webkiln.build.remote.remote import AbsentError, DeniedError, RemoteError, UnreachableError
from webkiln.errors import ToolError

CONNECTIONS = 8
CLIENT = {"connect_timeout": "5s", "timeout": "60s"}
RETRIES = {"max_retries": 2, "retry_timeout": timedelta(seconds=20)}
PART = 8 << 20


class ObjectRemote:
    def __init__(self, url: str) -> None:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise ToolError(
                f"the remote cache {url} is read with obstore, which is not installed; pip install 'webkiln[remote]'"
            ) from error
        self._do, self._errors = obstore, obstore.exceptions
        client: Any = {**CLIENT, "allow_http": _says_http()}
        retries: Any = RETRIES
        with self._told():
            self._store = from_url(url, client_options=client, retry_config=retries)

    def entry(self, key: str) -> bytes | None:
        with self._told():
            try:
                return bytes(self._do.get(self._store, _place("ac", key)).bytes())
            except FileNotFoundError:
                return None

    def create(self, key: str, entry: bytes, blobs: Sequence[Blob]) -> None:
        del blobs
        with self._told(), suppress(self._errors.AlreadyExistsError):
            self._do.put(self._store, _place("ac", key), entry, mode="create")

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        with ThreadPoolExecutor(CONNECTIONS) as pool:
            found = pool.map(self._holds, blobs)
            return {blob for blob, there in zip(blobs, found, strict=True) if not there}

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        with self._told():
            for at in range(start, blob.bytes, PART):
                yield bytes(self._do.get_range(self._store, _place("cas", blob.sha256), start=at, end=min(at + PART, blob.bytes)))

    def write(self, blob: Blob, path: Path) -> None:
        with self._told():
            self._do.put(self._store, _place("cas", blob.sha256), path)

    def close(self) -> None:
        return

    def _holds(self, blob: Blob) -> bool:
        with self._told():
            try:
                return int(self._do.head(self._store, _place("cas", blob.sha256))["size"]) == blob.bytes
            except FileNotFoundError:
                return False

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise AbsentError(_reason(error)) from error
        except (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError) as error:
            raise DeniedError(_reason(error)) from error
        except self._errors.BaseError as error:
            kind = UnreachableError if "error sending request" in str(error) or "timed out" in str(error) else RemoteError
            raise kind(_reason(error)) from error
        except OSError as error:
            raise RemoteError(_reason(error)) from error


def _says_http() -> bool:
    """Whether the environment names a service that is reached without TLS, as one on this machine is."""
    places = (value for name, value in os.environ.items() if name.startswith(("AWS_ENDPOINT", "AZURE_", "AZURITE_", "GOOGLE_")))
    return any(value.startswith("http://") for value in places)


def _place(part: str, name: str) -> str:
    return f"{part}/{name[:2]}/{name}"


def _reason(error: Exception) -> str:
    return str(error).partition("\n")[0].strip()
