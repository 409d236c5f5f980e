"""The connection to dask's scheduler: the live workers, and the answers to requests.

Answers are events of dask, which carry the address of the worker and pass through the scheduler. No
result is fetched from a worker, which may be gone by then.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Condition, Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from webkiln.build.fleet.client import RECONNECT_SECONDS, connect, leave, listens
from webkiln.errors import ToolError

if TYPE_CHECKING:
    from distributed import Client, Future

POLL_SECONDS = 1.0
"""How often the list of workers is read."""
PATIENCE_SECONDS = 15.0
"""A worker without a sign of life for this long counts as lost. A build waits as long for a worker
that replaces the last one that could run a step, and for the scheduler.
"""
CONNECT_SECONDS = 30.0
"""How long the first connection may take."""
LOSSES = 3
"""The number of workers that may be lost with one request."""


class NoWorkerError(Exception):
    """No worker answers. The message says why."""


class SchedulerLostError(NoWorkerError):
    """The scheduler does not answer."""


@dataclass(slots=True)
class _Machine:
    """A worker. `heard` is the time of its last sign of life, and `beat` that time by the
    scheduler's clock.
    """

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
    """A request in progress. `worker` is empty if it ended without an answer."""

    workers: frozenset[str]
    future: "Future | None" = None
    ended: Event = field(default_factory=Event)
    worker: str = ""
    answer: Any = None
    error: BaseException | None = None


class Scheduler:
    """Used by several threads. Connects on the first request, and reconnects whenever the
    connection is lost.
    """

    def __init__(self, address: str) -> None:
        self.address = address
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
    def is_closed(self) -> bool:
        """Whether the scheduler has not answered for so long that requests no longer wait for it.
        It may come back.
        """
        lost_at = self._lost_at
        return lost_at is not None and monotonic() - lost_at > PATIENCE_SECONDS

    @property
    def _is_connected(self) -> bool:
        """Whether the connection is open. The client keeps running when its scheduler shuts down in
        order.
        """
        client = self._client
        link = client.scheduler_comm if client is not None and client.status == "running" else None
        return link is not None and not link.comm.closed()

    @property
    def is_busy(self) -> bool:
        """Whether every processor of the fleet is busy."""
        with self._changed:
            return self._busy[""] >= self._room("")

    def ask(
        self,
        request: Sequence[Mapping[str, Any]],
        task: str,
        needed: Mapping[str, float],
        avoided: Collection[str],
        report: Callable[[str], None],
    ) -> tuple[str, Any]:
        """The address of a worker, and its answer. The worker offers what is needed and is not one
        of `avoided`.

        Raises NoWorkerError where there is none, and ToolError where the request seems to kill the
        workers that execute it.
        """
        self._connect()
        for _ in range(LOSSES):
            with self._slot(needed, avoided, report) as workers:
                sent = self._send(request, task, needed, workers)
                while not sent.ended.wait(POLL_SECONDS):
                    report(f"runs in {self.address}")
                if sent.future is not None:
                    sent.future.release()
            if sent.worker:
                return sent.worker, sent.answer
            if sent.error is not None:
                raise _failure(task, sent.error)
        raise NoWorkerError(f"{LOSSES} workers were lost while running {task}")

    def close(self) -> None:
        self._closed.set()
        client, self._client = self._client, None
        if client is not None:
            leave(client)

    def _connect(self) -> None:
        with self._connecting:
            if self._failed is not None:
                raise self._failed
            if self._client is not None or self._lost_at is not None:
                return
            try:
                self._client = self._new_client(CONNECT_SECONDS)
            except ToolError as error:
                self._failed = error
                raise
            self._update_workers()
            Thread(target=self._watch, name="webkiln-fleet", daemon=True).start()

    def _new_client(self, seconds: float) -> "Client":
        client = connect(self.address, seconds)
        client.subscribe_topic(client.id, self._handle_answer)
        return client

    @contextmanager
    def _slot(
        self, needed: Mapping[str, float], avoided: Collection[str], report: Callable[[str], None]
    ) -> Iterator[list[str]]:
        """The workers that can run a request, as soon as enough processors and programs are free. A
        request that waits here cannot be lost with a worker.
        """
        names = ["", *(name for name in needed if name != "memory")]
        with self._changed:
            while not (workers := self._capable(needed, avoided)) or any(
                self._busy[name] >= self._room(name) for name in names
            ):
                if self._closed.is_set():
                    raise SchedulerLostError(f"{self.address} is closed")
                if not workers:
                    self._expect(needed, avoided)
                self._changed.wait(POLL_SECONDS)
                report(f"waiting for {self.address}")
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
        """The number of steps that the fleet can run at once; with a name, of those that need a
        program.
        """
        machines = [
            machine for machine in self._machines.values() if machine.listed and machine.is_alive
        ]
        return sum(
            machine.offers.get(name, 0) if name else machine.processors for machine in machines
        )

    def _expect(self, needed: Mapping[str, float], avoided: Collection[str]) -> None:
        """Raise NoWorkerError unless a capable worker was alive a moment ago, which another one may
        replace.
        """
        if self.is_closed:
            raise SchedulerLostError(f"{self.address} does not answer")
        machines = [machine for worker, machine in self._machines.items() if worker not in avoided]
        if self._is_connected and not any(
            machine.is_alive and machine.fits(needed) for machine in machines
        ):
            what = ", ".join(f"{amount:g} {name}" for name, amount in needed.items())
            raise NoWorkerError(f"no worker offers the resources that it needs ({what})")

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

    def _handle_answer(self, event: tuple[float, Any]) -> None:
        """Handle an answer. Called by a thread of dask."""
        message = event[1]
        if (
            isinstance(message, Mapping)
            and "request" in message
            and (sent := self._sent.pop(message["request"], None)) is not None
        ):
            sent.worker, sent.answer = str(message["worker"]), message["answer"]
            sent.ended.set()

    def _end(self, key: str, future: "Future | None" = None) -> None:
        """Record that no answer will come; without effect if it has come already."""
        if (sent := self._sent.pop(key, None)) is not None:
            if future is not None and future.status == "error":
                sent.error = future.exception()
            sent.ended.set()

    def _watch(self) -> None:
        while not self._closed.wait(POLL_SECONDS):
            try:
                if self._is_connected:
                    self._update_workers()
                else:
                    self._reconnect()
            except Exception:  # noqa: BLE001, S112  # the next iteration retries
                continue

    def _update_workers(self) -> None:
        """Update the list of workers, and end the requests of those without a sign of life."""
        client = self._client
        assert client is not None
        listed: Mapping[str, Any] = {}
        with suppress(Exception):  # a connection may end in any way; it is checked again later
            listed = client.sync(
                client.scheduler.identity, n_workers=-1, callback_timeout=PATIENCE_SECONDS
            )["workers"]
            self._record_workers(listed)
        with self._changed:
            silent = [worker for worker in listed if not self._machines[worker].is_alive]
            gone = [
                key
                for key, sent in [*self._sent.items()]
                if not self._capable({}, self._machines.keys() - sent.workers)
            ]
            self._changed.notify_all()
        if silent:
            with suppress(Exception):
                processing = client.sync(
                    client.scheduler.processing, workers=silent, callback_timeout=PATIENCE_SECONDS
                )
                gone += [key for keys in processing.values() for key in keys]
        for key in gone:
            self._end(key)

    def _record_workers(self, listed: Mapping[str, Any]) -> None:
        with self._changed:
            for worker, machine in self._machines.items():
                machine.listed = worker in listed
            for worker, message in listed.items():
                known = self._machines.get(worker)
                if known is None or known.beat != message["last_seen"]:
                    self._machines[worker] = _Machine(
                        message["resources"], message["nthreads"], monotonic(), message["last_seen"]
                    )

    def _reconnect(self) -> None:
        """Try to reconnect once. Requests in progress are lost with the scheduler."""
        with self._changed:
            client = self._client
            if self._lost_at is None:
                self._lost_at = monotonic()
            self._client = None
        for key in [*self._sent]:
            self._end(key)
        if client is not None:
            leave(client)
        if not listens(self.address):
            return
        try:
            again = self._new_client(RECONNECT_SECONDS)
        except ToolError:
            return
        with self._changed:
            self._client, self._lost_at = again, None
            for machine in self._machines.values():
                machine.heard, machine.listed = monotonic(), False
        self._update_workers()
        if self._closed.is_set():
            leave(again)


def _failure(task: str, error: BaseException) -> Exception:
    from distributed import KilledWorker

    if isinstance(error, KilledWorker):
        return ToolError(
            f"{task}: {error.allowed_failures} workers were lost while running it, the last one"
            f" {error.last_worker.address}; they may have run out of memory"
        )
    return NoWorkerError(f"submitting {task} failed: {type(error).__name__}: {error}")
