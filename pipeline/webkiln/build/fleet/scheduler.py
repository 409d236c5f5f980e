"""dask's scheduler as a build sees it: which workers there are, and who answers an request.

Answers are events of dask, which say whose they are and pass through the scheduler; no result is
fetched from a worker, which may be gone by then.
"""

import logging
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition, Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from webkiln.build.fleet.address import VARIABLE
from webkiln.errors import ToolError, missing_package

if TYPE_CHECKING:
    from distributed import Client, Future

LOOK_SECONDS = 1.0
"""How often the workers are looked at."""
PATIENCE_SECONDS = 15.0
"""A worker that gives no sign of life for so long is as good as lost. So long, too, a build waits
for
a worker to take the place of the last one that could do a step, and for the scheduler.
"""
CONNECT_SECONDS, AGAIN_SECONDS = 30.0, 3.0
"""How long the first connection may take, and an attempt to connect again."""
LOSSES = 3
"""So many workers may be lost with one request."""


class NobodyError(Exception):
    """No worker answers: the message says why."""


class GoneError(NobodyError):
    """The scheduler does not answer."""


@dataclass(slots=True)
class _Machine:
    """A worker, when it last gave a sign of life, and the time of that by the scheduler's clock."""

    offers: Mapping[str, float]
    processors: int
    heard: float
    beat: float
    listed: bool = True

    @property
    def is_alive(self) -> bool:
        return monotonic() - self.heard <= PATIENCE_SECONDS

    def fits(self, needed: Mapping[str, float]) -> bool:
        return all(self.offers.get(name, 0) >= amount for name, amount in needed.items())


@dataclass(slots=True)
class _Sent:
    """An request under way. `worker` is empty where it ended without an answer."""

    workers: frozenset[str]
    future: "Future | None" = None
    ended: Event = field(default_factory=Event)
    worker: str = ""
    answer: Any = None
    error: BaseException | None = None


class Scheduler:
    """Asked by several threads at once. Connects when it is first asked, and again whenever the
    connection is lost.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._connecting = Lock()
        self._changed = Condition()
        self._client: Client | None = None
        self._failed: ToolError | None = None
        self._lost_at: float | None = None
        self._closed = Event()
        self._machines: dict[str, _Machine] = {}
        self._sent: dict[str, _Sent] = {}
        self._busy: Counter[str] = Counter()

    @property
    def is_gone(self) -> bool:
        """Whether the scheduler has not answered for so long that nobody waits for it. It may come
        back.
        """
        lost_at = self._lost_at
        return lost_at is not None and monotonic() - lost_at > PATIENCE_SECONDS

    @property
    def _is_connected(self) -> bool:
        """Whether nobody has closed the connection. A client goes on running whose scheduler has
        ended in order.
        """
        client = self._client
        link = client.scheduler_comm if client is not None and client.status == "running" else None
        return link is not None and not link.comm.closed()

    @property
    def is_busy(self) -> bool:
        """Whether every processor of the fleet has something to do."""
        with self._changed:
            return self._busy[""] >= self._room("")

    def ask(
        self,
        request: Sequence[Mapping[str, Any]],
        task: str,
        needed: Mapping[str, float],
        avoided: Collection[str],
        tell: Callable[[str], None],
    ) -> tuple[str, Any]:
        """What a worker answers that offers what is needed and is not one of those avoided, after
        its
        address.

        Raises NobodyError where none does, and ToolError where the request seems to end the
        machines that do it.
        """
        self._connect()
        for _ in range(LOSSES):
            with self._turn(needed, avoided, tell) as workers:
                sent = self._send(request, task, needed, workers)
                while not sent.ended.wait(LOOK_SECONDS):
                    tell(f"in {self.place}")
                if sent.future is not None:
                    sent.future.release()
            if sent.worker:
                return sent.worker, sent.answer
            if sent.error is not None:
                raise _failure(task, sent.error)
        raise NobodyError(f"{LOSSES} workers were lost with {task}")

    def close(self) -> None:
        self._closed.set()
        client, self._client = self._client, None
        if client is not None:
            _leave(client)

    def _connect(self) -> None:
        with self._connecting:
            if self._failed is not None:
                raise self._failed
            if self._client is not None or self._lost_at is not None:
                return
            try:
                self._client = self._joined(CONNECT_SECONDS)
            except ToolError as error:
                self._failed = error
                raise
            self._look()
            Thread(target=self._watch, name="webkiln-fleet", daemon=True).start()

    def _joined(self, seconds: float) -> "Client":
        client = connect(self.place, seconds)
        client.subscribe_topic(client.id, self._hear)
        return client

    @contextmanager
    def _turn(
        self, needed: Mapping[str, float], avoided: Collection[str], tell: Callable[[str], None]
    ) -> Iterator[list[str]]:
        """The workers that can do something, once as many processors and programs are free: what
        waits here is lost with no worker.
        """
        names = ["", *(name for name in needed if name != "memory")]
        with self._changed:
            while not (workers := self._capable(needed, avoided)) or any(
                self._busy[name] >= self._room(name) for name in names
            ):
                if self._closed.is_set():
                    raise GoneError(f"{self.place} is closed")
                if not workers:
                    self._expect(needed, avoided)
                self._changed.wait(LOOK_SECONDS)
                tell(f"waits for {self.place}")
            self._busy.update(names)
        try:
            yield workers
        finally:
            with self._changed:
                self._busy.subtract(names)
                self._changed.notify_all()

    def _capable(self, needed: Mapping[str, float], avoided: Collection[str]) -> list[str]:
        if not self._is_connected:
            return []
        return [
            worker
            for worker, machine in self._machines.items()
            if worker not in avoided
            and machine.listed
            and machine.is_alive
            and machine.fits(needed)
        ]

    def _room(self, name: str) -> float:
        """How many steps may run at once in the fleet, or how many of those that need a program."""
        machines = [
            machine for machine in self._machines.values() if machine.listed and machine.is_alive
        ]
        return sum(
            machine.offers.get(name, 0) if name else machine.processors for machine in machines
        )

    def _expect(self, needed: Mapping[str, float], avoided: Collection[str]) -> None:
        """Raises NobodyError where no worker that could do something was here a moment ago, whose
        place another one may take.
        """
        if self.is_gone:
            raise GoneError(f"{self.place} does not answer")
        machines = [machine for worker, machine in self._machines.items() if worker not in avoided]
        if self._is_connected and not any(
            machine.is_alive and machine.fits(needed) for machine in machines
        ):
            what = ", ".join(f"{amount:g} {name}" for name, amount in needed.items())
            raise NobodyError(f"no machine offers it what it needs ({what})")

    def _send(
        self,
        request: Sequence[Mapping[str, Any]],
        task: str,
        needed: Mapping[str, float],
        workers: Sequence[str],
    ) -> _Sent:
        from webkiln.build.fleet.worker import perform

        key = f"{task}-{uuid4().hex[:12]}"
        sent = self._sent[key] = _Sent(frozenset(workers))
        client = self._client
        if client is None:
            self._end(key)
            return sent
        try:
            sent.future = client.submit(
                perform,
                list(request),
                client.id,
                key,
                key=key,
                resources=dict(needed),
                workers=workers,
                pure=False,
            )
            sent.future.add_done_callback(lambda future: self._end(key, future))
        except Exception as error:  # noqa: BLE001  # a connection may end in any way
            if client.status == "running":
                sent.error = error
            self._end(key)
        return sent

    def _hear(self, event: tuple[float, Any]) -> None:
        """Take an answer. Called by dask's own thread."""
        said = event[1]
        if (
            isinstance(said, Mapping)
            and "request" in said
            and (sent := self._sent.pop(said["request"], None)) is not None
        ):
            sent.worker, sent.answer = str(said["worker"]), said["answer"]
            sent.ended.set()

    def _end(self, key: str, future: "Future | None" = None) -> None:
        """Note that there will be no answer; where it was heard there is nothing to note."""
        if (sent := self._sent.pop(key, None)) is not None:
            if future is not None and future.status == "error":
                sent.error = future.exception()
            sent.ended.set()

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                if self._is_connected:
                    self._look()
                else:
                    self._reconnect()
            except Exception:  # noqa: BLE001, S112  # a connection may end in any way, and the next look is near
                continue

    def _look(self) -> None:
        """See which workers there are, and end the requests of those that give no sign of life."""
        client = self._client
        assert client is not None
        found: Mapping[str, Any] = {}
        with suppress(
            Exception
        ):  # a connection may end in any way; whether it has is looked at next
            found = client.sync(
                client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE_SECONDS
            )["workers"]
            self._note(found)
        with self._changed:
            silent = [worker for worker in found if not self._machines[worker].is_alive]
            gone = [
                key
                for key, sent in [*self._sent.items()]
                if not self._capable({}, self._machines.keys() - sent.workers)
            ]
            self._changed.notify_all()
        if silent:
            with suppress(Exception):
                held = client.sync(
                    client.scheduler.processing, workers=silent, callback_timeout=PATIENCE_SECONDS
                )
                gone += [key for keys in held.values() for key in keys]
        for key in gone:
            self._end(key)

    def _note(self, found: Mapping[str, Any]) -> None:
        with self._changed:
            for worker, machine in self._machines.items():
                machine.listed = worker in found
            for worker, said in found.items():
                known = self._machines.get(worker)
                if known is None or known.beat != said["last_seen"]:
                    self._machines[worker] = _Machine(
                        said["resources"], said["nthreads"], monotonic(), said["last_seen"]
                    )

    def _reconnect(self) -> None:
        """Try once. Requests that were under way are lost with the scheduler."""
        with self._changed:
            client = self._client
            if self._lost_at is None:
                self._lost_at = monotonic()
            self._client = None
        for key in [*self._sent]:
            self._end(key)
        if client is not None:
            _leave(client)
        if not _listens(self.place):
            return
        try:
            again = self._joined(AGAIN_SECONDS)
        except ToolError:
            return
        with self._changed:
            self._client, self._lost_at = again, None
            for machine in self._machines.values():
                machine.heard, machine.listed = monotonic(), False
        self._look()
        if self._closed.is_set():
            _leave(again)


def connect(place: str, seconds: float) -> "Client":
    """A client of the scheduler at an address. Raises ToolError where there is none, with how to
    start one.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_package(error, "a fleet") or ToolError(str(error)) from error
    # What becomes of connections is told by the build.
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        return Client(place, timeout=seconds, set_as_default=False)
    except OSError as error:
        raise ToolError(
            f"{VARIABLE}: no scheduler answers at {place} ({error}); start one with `dask"
            f" scheduler`, and workers with `webkiln worker {place}`; or unset {VARIABLE}"
        ) from error


def _leave(client: "Client") -> None:
    """Close a client, whose scheduler may be gone."""

    def close() -> None:
        with suppress(Exception):
            client.close(AGAIN_SECONDS)

    closing = Thread(target=close, daemon=True)
    closing.start()
    closing.join(AGAIN_SECONDS)


def _listens(place: str) -> bool:
    parts = urlsplit(place)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 8786), AGAIN_SECONDS).close()
    except OSError:
        return False
    return True


def _failure(task: str, error: BaseException) -> Exception:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return ToolError(
            f"{task}: {error.allowed_failures} machines of the fleet were lost with it, the last"
            f" one {error.last_worker.address}; did they run out of memory?"
        )
    return NobodyError(f"asking for {task} failed: {type(error).__name__}: {error}")
