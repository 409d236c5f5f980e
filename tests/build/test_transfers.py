"""Transfers from slow, stalling and failing remote caches."""

import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.build.hostile import Hostile
from tests.build.hostile_reapi import HostileReapi
from webkiln import canonical
from webkiln.build.action import Blob
from webkiln.build.remote.remote import UnreachableError
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.timeouts import Deadline, Turns


@contextmanager
def throttled(port: int, rate: int) -> Iterator[int]:
    """Run a proxy that forwards a limited number of bytes per second in each direction, over all
    connections, and yield its port.
    """
    ended, locks = threading.Event(), (threading.Lock(), threading.Lock())
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    listening.bind(("127.0.0.1", 0))
    listening.listen(64)

    def pump(source: socket.socket, target: socket.socket, lock: threading.Lock) -> None:
        try:
            while data := source.recv(2048):
                with lock:
                    time.sleep(len(data) / rate)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            target.close()

    def accept() -> None:
        while not ended.is_set():
            try:
                near, _ = listening.accept()
            except OSError:
                return
            far = socket.socket()
            far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            far.connect(("127.0.0.1", port))
            for pair in ((near, far, locks[0]), (far, near, locks[1])):
                threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with closing(listening):
        yield listening.getsockname()[1]
        ended.set()
        with closing(socket.socket()) as waking:
            waking.connect_ex(listening.getsockname())


@pytest.mark.usefixtures("impatient")
@pytest.mark.long
@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_slow_but_steady_remote_is_used(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 200 KB per second, several blobs are transferred both ways for longer than the timeout of
    an answer.
    """
    output: list[str] = []
    monkeypatch.setattr("webkiln.build.remote.connection.warn", output.append)
    contents = [random.Random(number).randbytes(200_000) for number in range(4)]
    paths = {
        Blob(canonical.digest(data), len(data)): tmp_path / f"{number}"
        for number, data in enumerate(contents)
    }
    for path, data in zip(paths.values(), contents, strict=True):
        path.write_bytes(data)
    server = (
        Hostile(lambda method, name: "")
        if scheme == "http"
        else HostileReapi(lambda method, name: "")
    )
    retained = []
    try:
        with throttled(server.port, 200_000) as port:
            shared = SharedCache(f"{scheme}://127.0.0.1:{port}", writes=True)
            assert shared.upload_blobs(paths, paths.__getitem__)
            shared.download(
                paths, lambda blob: tmp_path / blob.sha256, lambda blob, path: retained.append(blob)
            )
            shared.close()
    finally:
        server.close()
    assert not output
    assert set(retained) == set(paths)


def test_a_stall_is_noticed_after_a_fast_start(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("webkiln.build.remote.timeouts.time.monotonic", lambda: now[0])
    deadline = Deadline()
    for _ in range(100):
        now[0] += 1
        deadline.moved(1 << 20)
    now[0] += 9.9
    assert deadline.left() > 0
    deadline.moved(1)
    now[0] += 0.2
    with pytest.raises(UnreachableError):
        deadline.left()


def test_transfers_after_a_late_one_are_not_started() -> None:
    slots = Turns(10)
    with slots.take(11):
        pass
    with pytest.raises(UnreachableError, match="too late"), slots.take(11):
        raise UnreachableError("too late")
    with pytest.raises(UnreachableError, match="earlier"), slots.take(11):
        pytest.fail("it was started")
    with slots.take(10):
        pass


def test_large_blobs_that_stall_are_requested_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webkiln.build.remote.timeouts.ANSWER_SECONDS", 1.0)
    blobs = [Blob(64 * digit, 100_000) for digit in "abcdef"]
    with closing(HostileReapi(lambda method, name: "stalled stream")) as server:
        shared = SharedCache(server.url)
        shared.download(
            blobs,
            lambda blob: tmp_path / blob.sha256,
            lambda blob, path: pytest.fail("it has no bytes"),
        )
        assert server.counts == {"grpc stalled stream": 1}
        shared.close()
