"""Servers of the Remote Execution API, version 2, as a remote cache: ActionCache, ContentAddressableStorage and ByteStream over gRPC.

https://github.com/bazelbuild/remote-apis/blob/main/build/bazel/remote/execution/v2/remote_execution.proto
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from webkiln.build.action import Blob
from webkiln.build.remote import wire
from webkiln.build.remote.remote import CHUNK, AbsentError, DeniedError, FullError, RemoteError, UnreachableError, parts
from webkiln.build.remote.wire import field
from webkiln.errors import ToolError

CALL_SECONDS, STREAM_SECONDS = 15.0, 600.0
ASKED_AT_ONCE = 1000
MESSAGE_BYTES = 16 << 20
V2 = "/build.bazel.remote.execution.v2."
KEY_BYTES = 64
"""The size that is told with a key, which is the digest of no blob."""
INSTANCE, STDOUT_DIGEST, DATA, OFFSET, FINISH = 1, 6, 10, 2, 3


class ReapiRemote:
    """`grpc://host:port/instance`; `grpcs` for TLS. A login in the address is sent as basic authorisation."""

    def __init__(self, url: str) -> None:
        try:
            import grpc
        except ImportError as error:
            raise ToolError(f"the remote cache {url} is read with grpcio, which is not installed; pip install 'webkiln[remote]'") from error
        split = urlsplit(url)
        options = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
        place = split.netloc.rpartition("@")[2]
        secure = split.scheme == "grpcs"
        self._grpc = grpc
        self._channel = (
            grpc.secure_channel(place, grpc.ssl_channel_credentials(), options) if secure else grpc.insecure_channel(place, options)
        )
        self._instance = split.path.strip("/")
        self._metadata = _authorisation(split.username, split.password)

    def entry(self, key: str) -> bytes | None:
        asked = self._named(field(2, _key(key)) + field(3, 1))
        with self._told(f"GetActionResult {key}"):
            try:
                answer = self._call(f"{V2}ActionCache/GetActionResult", asked)
            except self._grpc.RpcError as error:
                if error.code() == self._grpc.StatusCode.NOT_FOUND:
                    return None
                raise
        if not wire.unwrapped(answer) and (elsewhere := wire.texts(answer, STDOUT_DIGEST)):
            sha256 = wire.texts(elsewhere[0], wire.HASH)[0].decode("ascii", "replace")
            return b"".join(self.read(Blob(sha256, wire.whole(elsewhere[0], wire.SIZE)), 0))
        return wire.unwrapped(answer)

    def create(self, key: str, entry: bytes, blobs: Sequence[Blob]) -> None:
        if self.entry(key) is None:
            with self._told(f"UpdateActionResult {key}"):
                self._call(f"{V2}ActionCache/UpdateActionResult", self._named(field(2, _key(key)) + field(3, wire.wrapped(entry, blobs))))

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        by_digest = {blob.sha256: blob for blob in blobs}
        found: set[Blob] = set()
        ordered = list(blobs)
        for at in range(0, len(ordered), ASKED_AT_ONCE):
            with self._told("FindMissingBlobs"):
                asked = self._named(b"".join(field(2, wire.digest(blob)) for blob in ordered[at : at + ASKED_AT_ONCE]))
                answer = self._call(f"{V2}ContentAddressableStorage/FindMissingBlobs", asked)
            names = (wire.texts(item, wire.HASH)[0].decode("ascii", "replace") for item in wire.texts(answer, 2))
            found |= {by_digest[name] for name in names if name in by_digest}
        return found

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        asked = field(1, self._resource(f"blobs/{blob.sha256}/{blob.bytes}")) + field(OFFSET, start)
        with self._told(f"Read {blob.sha256}"):
            stream = self._channel.unary_stream("/google.bytestream.ByteStream/Read")
            for answer in stream(asked, timeout=STREAM_SECONDS, metadata=self._metadata):
                yield from wire.texts(answer, DATA)

    def write(self, blob: Blob, path: Path) -> None:
        resource = self._resource(f"uploads/{uuid4()}/blobs/{blob.sha256}/{blob.bytes}")

        def requests() -> Iterator[bytes]:
            if not blob.bytes:
                yield field(1, resource) + field(FINISH, 1)
            for number, chunk in zip(count(), parts(path), strict=False):
                at = number * CHUNK
                last = at + len(chunk) == blob.bytes
                yield field(1, resource) + field(OFFSET, at) + field(FINISH, int(last)) + field(DATA, chunk)

        with self._told(f"Write {blob.sha256}"):
            self._channel.stream_unary("/google.bytestream.ByteStream/Write")(requests(), timeout=STREAM_SECONDS, metadata=self._metadata)

    def close(self) -> None:
        self._channel.close()

    def _call(self, method: str, asked: bytes) -> bytes:
        call: Callable[..., bytes] = self._channel.unary_unary(method)
        return call(asked, timeout=CALL_SECONDS, metadata=self._metadata)

    def _named(self, asked: bytes) -> bytes:
        return field(INSTANCE, self._instance.encode()) + asked if self._instance else asked

    def _resource(self, name: str) -> bytes:
        return f"{self._instance}/{name}".lstrip("/").encode()

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        codes = self._grpc.StatusCode
        kinds: dict[Any, type[RemoteError]] = {
            codes.UNAVAILABLE: UnreachableError, codes.DEADLINE_EXCEEDED: UnreachableError, codes.UNAUTHENTICATED: DeniedError,
            codes.PERMISSION_DENIED: DeniedError, codes.NOT_FOUND: AbsentError, codes.RESOURCE_EXHAUSTED: FullError,
        }  # fmt: skip
        try:
            yield
        except self._grpc.RpcError as error:
            code = error.code()
            raise kinds.get(code, RemoteError)(f"{what}: {code.name} {error.details() or ''}".rstrip()) from error


def _key(key: str) -> bytes:
    return wire.digest(Blob(key, KEY_BYTES))


def _authorisation(user: str | None, password: str | None) -> list[tuple[str, str]]:
    from base64 import b64encode

    return [("authorization", f"Basic {b64encode(f'{user}:{password or str()}'.encode()).decode()}")] if user else []
