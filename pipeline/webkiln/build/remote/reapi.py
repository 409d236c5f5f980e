"""Servers of the Remote Execution API, version 2, as a remote cache: ActionCache,
ContentAddressableStorage and ByteStream over gRPC.

https://github.com/bazelbuild/remote-apis, build/bazel/remote/execution/v2/remote_execution.proto
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Timer
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from webkiln.build.action import Blob
from webkiln.build.remote import wire
from webkiln.build.remote.entries import DIGEST, LARGEST
from webkiln.build.remote.network import PORTS, authorities, login_of, proxy
from webkiln.build.remote.remote import (
    ANSWER_SECONDS,
    SLOWEST,
    AbsentError,
    DeniedError,
    FullError,
    RemoteError,
    UnreachableError,
    parts,
)
from webkiln.build.remote.timeouts import Deadline, Turns
from webkiln.build.remote.wire import field
from webkiln.errors import MissingPackageError

QUERY_BATCH = 1000
MESSAGE_BYTES = 2 * LARGEST
PART = 64 << 10
"""The bytes in one request of an upload."""
MOST_EMPTY = 8
USUAL_MESSAGE, MESSAGE_RATE = 2 << 20, 200_000
"""A message is visible only when it is complete. These bytes of one are given additional time, at
this rate in bytes a second.
"""
SMALL = 64 << 10
"""Larger blobs are transferred one after the other in each direction, so that each message has the
full bandwidth.
"""
V2 = "/build.bazel.remote.execution.v2."
KEY_BYTES = 64
"""The size that is sent with a key, which is not the digest of a blob."""
INSTANCE, STDOUT_DIGEST, DATA, OFFSET, FINISH = 1, 6, 10, 2, 3


class ReapiRemote:
    """`grpc://host:port/instance`, or `grpcs` for TLS. A login in the address is sent as basic
    authorisation.
    """

    def __init__(self, url: str) -> None:
        try:
            import grpc
        except ImportError as error:
            raise MissingPackageError(
                f"the remote cache {url} requires grpcio, which is not installed; pip install"
                " 'webkiln[remote]'",
                "grpc",
            ) from error
        split = urlsplit(url)
        options: list[tuple[str, int | str]] = [
            ("grpc.max_receive_message_length", MESSAGE_BYTES),
            ("grpc.max_send_message_length", MESSAGE_BYTES),
        ]
        host = split.netloc.rpartition("@")[2]
        secure = split.scheme == "grpcs"
        through = proxy(split.scheme, split.hostname or "", split.port or PORTS[split.scheme])
        # Otherwise gRPC would read the variables itself, in lower case only.
        options.append(
            ("grpc.enable_http_proxy", 0) if through is None else ("grpc.http_proxy", through.url)
        )
        self._grpc = grpc
        self._channel = (
            grpc.secure_channel(host, grpc.ssl_channel_credentials(_roots()), options)
            if secure
            else grpc.insecure_channel(host, options)
        )
        self._instance = split.path.strip("/")
        self._metadata = _authorisation(split.username, split.password)
        self._reading, self._writing = Turns(SMALL), Turns(SMALL)

    def entry(self, key: str) -> bytes | None:
        request = self._named(field(2, _key(key)) + field(3, 1))
        with self._translated(f"GetActionResult {key}"):
            try:
                answer = self._call(f"{V2}ActionCache/GetActionResult", request)
            except self._grpc.RpcError as error:
                if error.code() == self._grpc.StatusCode.NOT_FOUND:
                    return None
                raise
        if wire.unwrapped(answer) or not (digests := wire.values(answer, STDOUT_DIGEST)):
            return wire.unwrapped(answer)
        stored = Blob(_hash(digests[0]), wire.integer(digests[0], wire.SIZE))
        if stored.bytes > LARGEST:
            raise RemoteError(f"the entry {key} is larger than {LARGEST} bytes")
        return _joined(self.read(stored, 0), stored.bytes)

    def create(
        self, key: str, entry: bytes, blobs: Sequence[Blob], *, overwrite: bool = False
    ) -> None:
        del overwrite  # the service has no such condition
        with self._translated(f"UpdateActionResult {key}"):
            self._call(
                f"{V2}ActionCache/UpdateActionResult",
                self._named(field(2, _key(key)) + field(3, wire.wrapped(entry, blobs))),
            )

    def missing(self, blobs: Collection[Blob]) -> set[Blob]:
        by_digest = {blob.sha256: blob for blob in blobs}
        absent: set[Blob] = set()
        ordered = list(blobs)
        for at in range(0, len(ordered), QUERY_BATCH):
            with self._translated("FindMissingBlobs"):
                request = self._named(
                    b"".join(field(2, wire.digest(blob)) for blob in ordered[at : at + QUERY_BATCH])
                )
                answer = self._call(f"{V2}ContentAddressableStorage/FindMissingBlobs", request)
            names = map(_hash, wire.values(answer, 2))
            absent |= {by_digest[name] for name in names if name in by_digest}
        return absent

    def read(self, blob: Blob, start: int) -> Iterator[bytes]:
        request = field(1, self._resource(f"blobs/{blob.sha256}/{blob.bytes}")) + field(
            OFFSET, start
        )
        with self._reading.take(blob.bytes), self._translated(f"Read {blob.sha256}"):
            call = self._channel.unary_stream("/google.bytestream.ByteStream/Read")(
                request,
                timeout=ANSWER_SECONDS + (blob.bytes - start) / SLOWEST,
                metadata=self._metadata,
            )
            deadline, left, empty = Deadline(), blob.bytes - start, 0
            try:
                while left > 0:
                    with _cancelled(
                        call, deadline.left() + min(left, USUAL_MESSAGE) / MESSAGE_RATE
                    ):
                        answer = next(call, None)
                    if answer is None:
                        return
                    deadline.moved(len(answer))
                    chunks = wire.values(answer, DATA)
                    empty += not any(chunks)
                    if empty > MOST_EMPTY:
                        raise RemoteError(f"Read {blob.sha256}: messages without data")
                    for chunk in chunks:
                        left -= len(chunk)
                        yield chunk
            finally:
                call.cancel()

    def write(self, blob: Blob, path: Path) -> None:
        resource = self._resource(f"uploads/{uuid4()}/blobs/{blob.sha256}/{blob.bytes}")

        def requests(deadline: Deadline) -> Iterator[bytes]:
            if not blob.bytes:
                yield field(1, resource) + field(FINISH, 1)
            at = 0
            for chunk in parts(path, PART):
                last = at + len(chunk) == blob.bytes
                yield (
                    field(1, resource)
                    + field(OFFSET, at)
                    + field(FINISH, int(last))
                    + field(DATA, chunk)
                )
                deadline.moved(len(chunk))
                at += len(chunk)
            # The transport has buffered all bytes and is still sending.
            deadline.allow(min(blob.bytes, USUAL_MESSAGE) / MESSAGE_RATE)

        with self._writing.take(blob.bytes), self._translated(f"Write {blob.sha256}"):
            most, deadline = ANSWER_SECONDS + blob.bytes / SLOWEST, Deadline()
            call = self._channel.stream_unary("/google.bytestream.ByteStream/Write").future(
                requests(deadline), timeout=most, metadata=self._metadata
            )
            self._finish(call, deadline)

    def _finish(self, call: Any, deadline: Deadline) -> None:
        """Wait until an upload has ended. Raises its error, and UnreachableError where it is too
        slow.
        """
        try:
            while True:
                with suppress(self._grpc.FutureTimeoutError):
                    call.result(timeout=min(deadline.left(), 1.0))
                    return
        finally:
            call.cancel()

    def close(self) -> None:
        self._channel.close()

    def _call(self, method: str, request: bytes) -> bytes:
        call: Callable[..., bytes] = self._channel.unary_unary(method)
        return call(request, timeout=ANSWER_SECONDS, metadata=self._metadata)

    def _named(self, request: bytes) -> bytes:
        return field(INSTANCE, self._instance.encode()) + request if self._instance else request

    def _resource(self, name: str) -> bytes:
        return f"{self._instance}/{name}".lstrip("/").encode()

    @contextmanager
    def _translated(self, what: str) -> Iterator[None]:
        codes = self._grpc.StatusCode
        kinds: dict[Any, type[RemoteError]] = {
            codes.UNAVAILABLE: UnreachableError,
            codes.DEADLINE_EXCEEDED: UnreachableError,
            codes.UNAUTHENTICATED: DeniedError,
            codes.PERMISSION_DENIED: DeniedError,
            codes.NOT_FOUND: AbsentError,
            codes.RESOURCE_EXHAUSTED: FullError,
        }
        try:
            yield
        except self._grpc.FutureCancelledError as error:
            raise UnreachableError(f"{what}: no answer in time") from error
        except self._grpc.RpcError as error:
            code = error.code()
            if code == codes.CANCELLED:
                raise UnreachableError(f"{what}: no answer in time") from error
            raise kinds.get(code, RemoteError)(
                f"{what}: {code.name} {error.details() or ''}".rstrip()
            ) from error


@contextmanager
def _cancelled(call: Any, seconds: float) -> Iterator[None]:
    """Cancel a call after this time."""
    timer = Timer(seconds, call.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _joined(chunks: Iterator[bytes], size: int) -> bytes:
    """The bytes of an entry of this size. Raises RemoteError where the size differs."""
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > size:
            break
    if len(data) != size:
        raise RemoteError(f"an entry of {size} bytes has {len(data)} bytes")
    return bytes(data)


def _hash(digest: bytes) -> str:
    """The SHA-256 in a digest message. Raises RemoteError where it is invalid."""
    hashes = [text.decode("ascii", "replace") for text in wire.values(digest, wire.HASH)]
    if len(hashes) != 1 or DIGEST.fullmatch(hashes[0]) is None:
        raise RemoteError("it answers with an invalid digest")
    return hashes[0]


def _key(key: str) -> bytes:
    return wire.digest(Blob(key, KEY_BYTES))


def _roots() -> bytes | None:
    """The certificates in the file that the environment names; gRPC does not support folders.
    Raises RemoteError where they cannot be read.
    """
    certificates = authorities()
    if certificates is None or certificates.is_dir():
        return None
    try:
        return certificates.read_bytes()
    except OSError as error:
        raise RemoteError(
            f"the certificates in {certificates} cannot be read: {error.strerror}"
        ) from error


def _authorisation(user: str | None, password: str | None) -> list[tuple[str, str]]:
    return [("authorization", login_of(user, password))] if user else []
