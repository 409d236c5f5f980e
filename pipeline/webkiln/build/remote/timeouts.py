"""Timeouts of connections by the wall clock, checked at every read and every write."""

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from webkiln.build.remote.remote import ANSWER_SECONDS, SLOWEST, UnreachableError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer as Buffer

PIECE = 1 << 16


class Deadline:
    """The first byte is due after `ANSWER_SECONDS`. Later bytes are due that long after the last
    one, and at a rate of at least `SLOWEST` bytes a second.
    """

    def __init__(self) -> None:
        self._due = time.monotonic() + ANSWER_SECONDS

    def moved(self, count: int) -> None:
        self._due = min(self._due + count / SLOWEST, time.monotonic() + ANSWER_SECONDS)

    def allow(self, seconds: float) -> None:
        """Extend the deadline once."""
        self._due += seconds

    def left(self) -> float:
        """The seconds until bytes are due. Raises UnreachableError where they are overdue."""
        left = self._due - time.monotonic()
        if left <= 0:
            raise UnreachableError(
                f"nothing for {ANSWER_SECONDS:.0f} s, or less than {SLOWEST // 1000} KB a second"
            )
        return left


class Turns:
    """Serialises transfers of more than `small` bytes, so that each has the full bandwidth.

    After one times out, waiting transfers fail at once.
    """

    def __init__(self, small: int) -> None:
        self._small = small
        self._lock = Lock()
        self._late = False

    @contextmanager
    def take(self, size: int) -> Iterator[None]:
        """Wait for a turn. Raises UnreachableError if an earlier transfer timed out."""
        if size <= self._small:
            yield
            return
        with self._lock:
            if self._late:
                raise UnreachableError("an earlier transfer was too slow")
            try:
                yield
            except UnreachableError:
                self._late = True
                raise


class TimedSocket:
    """The part of a connected socket that http.client uses, with a deadline for the request, for
    the head of the answer, and for its body.

    It reads no more bytes of head and body than expected.
    """

    def __init__(self, connected: socket.socket) -> None:
        # Bytes in the buffer of the system count as sent, and must arrive before the answer is due.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE)
        self._socket = connected
        self.expect(0)

    def begin(self) -> None:
        """Called before a request is sent."""
        self._deadline, self._counts = Deadline(), True

    def expect(self, most: int) -> None:
        """Called before the head of an answer, of at most `most` bytes, is read."""
        self._deadline, self._counts, self._most = Deadline(), False, most

    def expect_body(self, most: int) -> None:
        """Called after the head was read, before the body of at most `most` bytes."""
        self._deadline, self._counts, self._most = Deadline(), True, most

    def sendall(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._deadline.left())
            sent = self._socket.send(view[:PIECE])
            self._deadline.moved(sent)
            view = view[sent:]

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_Reader(self, self._socket.makefile("rb", buffering=0)))

    def close(self) -> None:
        self._socket.close()

    def receive(self, raw: io.RawIOBase, buffer: "Buffer") -> int:
        self._socket.settimeout(self._deadline.left())
        count = raw.readinto(buffer) or 0
        if self._counts:
            self._deadline.moved(count)
        self._most -= count
        if self._most < 0:
            raise OSError("it sends more bytes than expected")
        return count


class _Reader(io.RawIOBase):
    def __init__(self, timed: TimedSocket, raw: io.RawIOBase) -> None:
        self._timed = timed
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "Buffer") -> int:
        return self._timed.receive(self._raw, buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
