"""The machines of a fleet as a build sees them: errands go to the scheduler of dask at `$WEBKILN_EXECUTOR`, and files through the remote cache.

What a machine answers is checked before it is used. One that is lost has its errands done by others, one that lies is asked no more, and what no
machine can do is done here.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from random import random
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from webkiln import canonical
from webkiln.build.action import FLEET, Action, ActionResult, Blob
from webkiln.build.executor import failure
from webkiln.build.files import beside
from webkiln.build.fleet.errand import Errand, resources
from webkiln.build.outputs import expected
from webkiln.build.progress import warn
from webkiln.build.remote.entries import is_sound
from webkiln.build.remote.shared import VARIABLE as CACHE_VARIABLE
from webkiln.build.remote.shared import WRITE_VARIABLE, SharedCache
from webkiln.build.sandbox import MissingInput, Tree
from webkiln.build.store import LocalStore
from webkiln.errors import RecipeError, ToolError, missing_package

if TYPE_CHECKING:
    from distributed import Client, Future

VARIABLE, CHECKS_VARIABLE = "WEBKILN_EXECUTOR", "WEBKILN_EXECUTOR_CHECKS"
SCHEMES = ("tcp://", "tls://")
HERE = {"fetch", "tune"}
"""Stages that run where the user is: they read what lies there, or measure that machine."""
UNEQUAL = {"verify", "reference", "report"}
"""Stages whose results hold times, or what a framework computes in an order of its own: two machines may answer differently and both be right."""
ANSWER_SECONDS = 1.0
IDLE_SECONDS = 30.0
"""So long a build waits for a machine that could do what no other can."""
CONNECT_SECONDS = 15.0
LOSSES = 3
"""So many machines may be lost with one errand; then it is the errand that ends them."""
AT_ONCE = 64
"""Steps that a build with a fleet has under way at once."""


def address() -> str | None:
    """Where the scheduler is, if the environment names one. Raises RecipeError where that is no address."""
    given = os.environ.get(VARIABLE, "")
    if given and not given.startswith(SCHEMES):
        raise RecipeError(f"{VARIABLE} is {given!r}, expected the address of a scheduler of dask, such as tcp://build.local:8786")
    return given or None


def of_environment(store: LocalStore, shared: SharedCache | None) -> "Fleet | None":
    """The fleet that the environment names, if any; RecipeError where there is no remote cache that its results could go through."""
    given = address()
    if given is None:
        return None
    if shared is None or not shared.writes:
        raise RecipeError(
            f"{VARIABLE} is {given}, but "
            + (f"{CACHE_VARIABLE} names no remote cache" if shared is None else f"{WRITE_VARIABLE} is not 1")
            + "; what machines of a fleet make and read goes through a remote cache that all of them reach and may write"
        )
    return Fleet(given, store, shared)


class _NobodyError(Exception):
    """No worker is left that could do what is asked."""


class Fleet:
    """Asked by several threads at once; connects when it is first asked."""

    def __init__(self, place: str, store: LocalStore, shared: SharedCache) -> None:
        self.place = place
        self._store = store
        self._shared = shared
        self._lock = Lock()
        self._client: Client | None = None
        self._checks = float(os.environ.get(CHECKS_VARIABLE) or 0)
        self._failed: ToolError | None = None
        self._lost = False
        self._liars: set[str] = set()
        self._unfit: dict[str, set[str]] = defaultdict(set)
        self._makers: dict[str, str] = {}
        self._disputes: dict[str, list[tuple[str, ActionResult]]] = {}
        self._told: set[str] = set()
        self._looking = Lock()
        self._workers: Mapping[str, Mapping[str, Any]] = {}
        self._asked_at = -ANSWER_SECONDS

    def takes(self, action: Action) -> bool:
        """Whether an action may run elsewhere: one that runs code of the user's reads what lies here."""
        return not self._lost and action.stage not in HERE and not action.roots

    def perform(
        self, action: Action, trees: Mapping[str, Tree], documents: Sequence[Mapping[str, Any]], tell: Callable[[str], None]
    ) -> tuple[ActionResult, Mapping[str, str]] | None:
        """The result of an action and the versions of the tools that made it; None where it has to run here. `documents`: the keys that a result may
        get, the preferred one first.

        Raises the stage's UserError, and MissingInput where inputs have to be made again.
        """
        code = documents[0]["code"]
        if any(name.startswith("user/") for name in code):
            return None
        inputs = {
            role: {inside: self._blob(item.sha256, item.blob, item.local) for inside, item in tree.items()} for role, tree in trees.items()
        }
        here = [blob for tree in inputs.values() for blob in tree.values() if self._store.is_here(blob)]
        if not self._shared.deliver(here, self._path):
            self._without(f"{self._shared.place} does not take what it needs")
            return None
        tables = tuple(dict.fromkeys(canonical.dumps(document["tools"]) for document in documents))
        errand = Errand(
            action.task, action.stage, inputs, action.outputs, action.params, code, tuple(map(canonical.loads, tables)), action.timeout,
            self._shared.refused,
        )  # fmt: skip
        self._blame()
        found = self._answered(action, errand, trees, tell, frozenset())
        if found is not None and self._is_checked(action):
            again = self._answered(action, errand, trees, tell, frozenset([found[0]]))
            if again is not None and again[1].outputs != found[1].outputs:
                self._disputes[action.task] = [found[:2], again[:2]]
                self._warn(f"{found[0]} and {again[0]} made different results of {action.task}; it runs here")
                return None
        if found is None:
            return None
        maker, result, table = found
        with self._lock:
            self._makers |= {blob.sha256: maker for blob in result.outputs.values()}
        return result, errand.tools[table]

    def settle(self, action: Action, result: ActionResult) -> None:
        """Tell which of the machines was wrong that made different results of what this one made now."""
        for worker, theirs in self._disputes.pop(action.task, ()):
            if theirs.outputs != result.outputs:
                self._exclude(worker, f"made another result of {action.task} than this machine")

    def close(self) -> None:
        if self._client is not None:
            self._client.close()

    def _answered(
        self, action: Action, errand: Errand, trees: Mapping[str, Tree], tell: Callable[[str], None], other: frozenset[str]
    ) -> tuple[str, ActionResult, int] | None:
        """The worker that did it, not one of `other`, what it made, and the number of its table of tools; None where no worker does it."""
        need = canonical.key({"code": dict(errand.code), "tools": [dict(table) for table in errand.tools]})
        size = sum(blob.bytes for tree in errand.inputs.values() for blob in tree.values())
        again = False
        while True:
            asked = self._asked(errand, resources(action, size), self._liars | self._unfit[need] | other, tell)
            if asked is None:
                return None
            worker, answer = asked
            match answer.get("status") if isinstance(answer, Mapping) else None:
                case "done":
                    result = self._believed(worker, action, errand, answer)
                    if result is not None:
                        return worker, result, answer["tools"]
                case "unfit":
                    self._unfit[need].add(worker)
                    self._warn(f"{worker} cannot do {action.stage}: {answer['text']}")
                case "missing":
                    self._mend(worker, [*map(str, answer.get("digests", ()))], trees, again=again)
                    again = True
                case "user" | "internal" if "text" in answer:
                    raise failure(f"{action.task}: the stage {action.stage} failed on {worker}; please report this", answer)
                case _:
                    self._exclude(worker, f"answered {action.task} with what is no answer")

    def _believed(self, worker: str, action: Action, errand: Errand, answer: Mapping[str, Any]) -> ActionResult | None:
        """A result, if it may be one, and is where it should be."""
        try:
            result = ActionResult(
                {path: Blob(str(sha256), int(size)) for path, (sha256, size) in answer["outputs"].items()}, str(answer["printed"]), FLEET
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            result = ActionResult({})
        complete = is_sound(result) and not expected(action).fault(result.outputs)
        if not (complete and answer.get("tools") in range(len(errand.tools))):
            self._exclude(worker, f"answered {action.task} with other outputs than {', '.join(action.outputs)}")
            return None
        if self._shared.lacks(list(result.outputs.values())):
            self._exclude(worker, f"says that outputs of {action.task} are in {self._shared.place}, which does not have them")
            return None
        self._store.note(result.outputs.values())
        self._shared.accept(blob.sha256 for blob in result.outputs.values())
        if fault := expected(action).fault_of_manifest(result.outputs, self._store.read):
            self._exclude(worker, f"answered {action.task} with a result that {fault}")
            return None
        return result

    def _mend(self, worker: str, digests: Sequence[str], trees: Mapping[str, Tree], *, again: bool) -> None:
        """Have what a worker could not read stored again, or made again."""
        items = [item for tree in trees.values() for item in tree.values() if item.sha256 in digests]
        blobs = [self._blob(item.sha256, item.blob, item.local) for item in items]
        here = [blob for blob in blobs if self._store.is_here(blob)]
        if len(here) < len(items):
            self._shared.refuse(digests)
            self._blame()
            self._store.forget(digests)
            raise MissingInput([item for item, blob in zip(items, blobs, strict=True) if blob not in here])
        if again or not items:
            self._exclude(worker, f"does not find what this build stored in {self._shared.place}; is its {CACHE_VARIABLE} the same?")
        self._shared.deliver(here, self._path, anyway=digests)

    def _asked(self, errand: Errand, needed: Mapping[str, float], avoided: set[str], tell: Callable[[str], None]) -> tuple[str, Any] | None:
        """One answer and whose it is; None where no worker can answer."""
        from distributed import KilledWorker

        client = self._connected()
        if client is None:
            return None
        capable = self._capable(client, needed, avoided)
        if not capable:
            what = ", ".join(f"{amount:g} {name}" for name, amount in needed.items())
            self._without(f"no machine offers it what {errand.stage} needs ({what})")
            return None
        try:
            for _ in range(LOSSES):
                answered = self._awaited(client, errand, needed, avoided, capable if avoided else None, tell)
                if answered is not None:
                    return answered
        except KilledWorker as error:
            raise ToolError(
                f"{errand.task}: {LOSSES} machines of the fleet were lost with it, the last one {error.last_worker.address}; did they run out of memory?"
            ) from error
        except _NobodyError:
            self._without("all machines that could do it are gone")
        except Exception as error:  # noqa: BLE001  # whatever a connection or a worker raises that is none of the stage's errors
            if client.status == "running":
                self._without(f"asking for it failed: {type(error).__name__}: {error}")
            else:
                self._lost = True
                self._warn(f"{self.place} does not answer any more; the build goes on here")
        else:
            self._without(f"{LOSSES} answers were lost with the machines that had them")
        return None

    def _awaited(
        self,
        client: "Client",
        errand: Errand,
        needed: Mapping[str, float],
        avoided: set[str],
        workers: Sequence[str] | None,
        tell: Callable[[str], None],
    ) -> tuple[str, Any] | None:
        """An answer and whose it is; None where it was lost with its worker. Raises what was raised where it was made, _NobodyError where no worker is
        left, OSError where the scheduler is gone."""
        future = self._submit(client, errand, needed, workers)
        ended, waits = Event(), 0.0
        future.add_done_callback(lambda _: ended.set())
        # Not future.result, whose time-out cancels the one transfer that the answers of all threads are part of.
        while not ended.wait(ANSWER_SECONDS):
            if client.status != "running":
                raise OSError(client.status)
            tell(f"in {self.place}")
            waits = 0.0 if self._capable(client, needed, avoided) else waits + ANSWER_SECONDS
            if waits > IDLE_SECONDS:
                future.cancel()
                raise _NobodyError
        with suppress(CancelledError):
            answer = future.result()
            holders = client.who_has([future])[future.key]
            return (holders[0], answer) if holders else None
        return None

    def _submit(self, client: "Client", errand: Errand, needed: Mapping[str, float], workers: Sequence[str] | None) -> "Future":
        from webkiln.build.fleet.labour import perform

        key = f"{errand.task}-{uuid4().hex[:12]}"
        return client.submit(perform, errand.to_json(), key=key, resources=dict(needed), workers=workers, pure=False)

    def _capable(self, client: "Client", needed: Mapping[str, float], avoided: set[str]) -> list[str]:
        """The addresses of the workers that offer what is needed."""
        # Steps that are asked for at once share a look.
        with self._looking:
            if monotonic() > self._asked_at + ANSWER_SECONDS:
                self._workers = client.scheduler_info(n_workers=-1)["workers"]
                self._asked_at = monotonic()
        return [
            worker
            for worker, said in self._workers.items()
            if worker not in avoided and all(said["resources"].get(name, 0) >= amount for name, amount in needed.items())
        ]

    def _connected(self) -> "Client | None":
        with self._lock:
            if self._failed is not None:
                raise self._failed
            if self._client is None and not self._lost:
                try:
                    self._client = connect(self.place)
                except ToolError as error:
                    self._failed = error
                    raise
        return None if self._lost else self._client

    def _is_checked(self, action: Action) -> bool:
        return action.stage not in UNEQUAL and random() < self._checks  # noqa: S311  # which ones are checked is no secret worth keeping

    def _blob(self, sha256: str, blob: Blob | None, local: Path | None) -> Blob:
        """The blob of an input; a file of the user's becomes one, with the bytes that it has now."""
        if blob is not None:
            return blob
        assert local is not None
        known = Blob(sha256, local.stat().st_size)
        if self._store.is_here(known):
            return known
        copy = beside(self._store.path(sha256))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(local.read_bytes())
        return self._store.put(copy)

    def _path(self, blob: Blob) -> Path:
        return self._store.path(blob.sha256)

    def _blame(self) -> None:
        """Ask those no more whose bytes were not what they said."""
        for sha256 in self._shared.refused & self._makers.keys():
            self._exclude(self._makers.pop(sha256), f"stored other bytes than those of {sha256}, or they are gone")

    def _exclude(self, worker: str, why: str) -> None:
        self._liars.add(worker)
        self._warn(f"{worker} {why}; it is asked no more")

    def _without(self, why: str) -> None:
        self._warn(f"what {self.place} cannot do runs here: {why}")

    def _warn(self, message: str) -> None:
        with self._lock:
            told = message in self._told
            self._told.add(message)
        if not told:
            warn(message)


def connect(place: str) -> "Client":
    """A client of the scheduler at an address. Raises ToolError where there is none, with how to start one."""
    try:
        from distributed import Client
    except ImportError as error:
        raise missing_package(error, "a fleet") or ToolError(str(error)) from error
    try:
        return Client(place, timeout=CONNECT_SECONDS, set_as_default=False)
    except OSError as error:
        raise ToolError(
            f"{VARIABLE}: no scheduler answers at {place} ({error}); start one with `dask scheduler`, and workers with `webkiln worker {place}`; or unset {VARIABLE}"
        ) from error
