"""The fleet as a build uses it: remote actions go to the dask scheduler at `$WEBKILN_EXECUTOR`, and
files through the remote cache.

Answers of workers are checked before they are used. If a worker is lost, others execute its
actions. A worker that sends wrong answers gets no more work. Actions that no worker can execute run
here. Steps that consume only outputs of an action are sent together with it; their answers are kept
until the build needs them.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import random
from threading import Lock
from typing import Any

from webkiln.build.action import FLEET, Action, ActionResult, Blob
from webkiln.build.executor import failure
from webkiln.build.fleet.address import VARIABLE, scheduler_address
from webkiln.build.fleet.remote_action import Files, RemoteAction, resources
from webkiln.build.fleet.requests import Plan, Planned, Requests, requirements_key
from webkiln.build.fleet.scheduler import NoWorkerError, Scheduler, SchedulerLostError
from webkiln.build.outputs import expected
from webkiln.build.progress import warn
from webkiln.build.remote.entries import is_sound
from webkiln.build.remote.shared import VARIABLE as CACHE_VARIABLE
from webkiln.build.remote.shared import WRITE_VARIABLE, SharedCache
from webkiln.build.sandbox import MissingInput, Tree
from webkiln.build.store import LocalStore
from webkiln.errors import RecipeError

CHECKS_VARIABLE = "WEBKILN_EXECUTOR_CHECKS"
LOCAL = {"fetch", "tune"}
"""Stages that run on the user's machine: they read its files, or measure it."""
NONDETERMINISTIC = {"verify", "reference", "report"}
"""Stages whose results contain times, or depend on the order in which a framework computes: two
machines may return different results that are both right.
"""


def fleet_from_environment(store: LocalStore, shared: SharedCache | None) -> "Fleet | None":
    """The fleet that the environment names, if any. Raises RecipeError without a remote cache for
    its results.
    """
    address = scheduler_address()
    if address is None:
        return None
    if shared is None or not shared.writes:
        raise RecipeError(
            f"{VARIABLE} is {address}, but "
            + (
                f"{CACHE_VARIABLE} names no remote cache"
                if shared is None
                else f"{WRITE_VARIABLE} is not 1"
            )
            + "; workers of a fleet exchange files through a remote cache that all of them can"
            " read and write"
        )
    return Fleet(address, store, shared)


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer of a worker to a request. `table` is the index of the tools that it used."""

    worker: str
    request: RemoteAction
    result: ActionResult
    table: int


class Fleet:
    """Used by several threads."""

    def __init__(self, address: str, store: LocalStore, shared: SharedCache) -> None:
        self.address = address
        self._scheduler = Scheduler(address)
        self._store = store
        self._requests = Requests(store, shared)
        self._shared = shared
        self._lock = Lock()
        self._checks = float(os.environ.get(CHECKS_VARIABLE) or 0)
        self._consumers: dict[str, list[Action]] = defaultdict(list)
        self._early: dict[str, _Answer] = {}
        self._excluded: set[str] = set()
        self._unfit: dict[str, set[str]] = defaultdict(set)
        self._workers_by_blob: dict[str, str] = {}
        self._disputes: dict[str, list[_Answer]] = {}
        self._warned: set[str] = set()

    def expect(self, actions: Iterable[Action]) -> None:
        """Announce the actions of a build."""
        for action in actions:
            for producer in action.producers:
                self._consumers[producer.task].append(action)

    def accepts(self, action: Action) -> bool:
        """Whether an action may run elsewhere. One with user code reads files of this machine."""
        is_local = action.stage in LOCAL or bool(action.user_reads.roots)
        return not is_local and not self._scheduler.is_closed

    def perform(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        documents: Sequence[Mapping[str, Any]],
        report: Callable[[str], None],
        predict: Plan = lambda action, others: None,
    ) -> tuple[ActionResult, Mapping[str, str]] | None:
        """The result of an action and the versions of the tools that computed it; None where it has
        to run here. `documents`: the key documents that a result may get, the preferred one first.

        Raises the UserError of the stage, and MissingInput where inputs have to be rebuilt.
        """
        if any(name.startswith("user/") for name in documents[0]["code"]):
            return None
        steps = [Planned(action, trees, documents)]
        request = self._requests.build(steps[0])
        self._exclude_corrupt()
        answer = self._early_answer(request)
        if answer is None:
            steps += self._followers(action, predict)
            here = [
                blob
                for step in steps
                for blob in self._requests.blobs(step.trees)
                if self._store.is_here(blob)
            ]
            if not self._shared.upload_blobs(here, self._path):
                self._warn_local(f"{self._shared.address} does not accept its inputs")
                return None
            answer = self._execute(
                [
                    (action, request),
                    *((step.action, self._requests.build(step)) for step in steps[1:]),
                ],
                trees,
                report,
                frozenset(),
            )
        if answer is not None and self._is_checked(action):
            again = self._execute([(action, request)], trees, report, frozenset([answer.worker]))
            if again is not None and again.result.outputs != answer.result.outputs:
                self._disputes[action.task] = [answer, again]
                self._warn(
                    f"{answer.worker} and {again.worker} returned different results for"
                    f" {action.task}; it runs here"
                )
                return None
        if answer is None:
            return None
        with self._lock:
            self._workers_by_blob |= {
                blob.sha256: answer.worker for blob in answer.result.outputs.values()
            }
        return answer.result, request.tools[answer.table]

    def resolve_disputes(self, action: Action, result: ActionResult) -> None:
        """Exclude the workers whose results for an action differ from that of this machine."""
        for theirs in self._disputes.pop(action.task, ()):
            if theirs.result.outputs != result.outputs:
                self._exclude(
                    theirs.worker, f"returned another result for {action.task} than this machine"
                )

    def close(self) -> None:
        self._scheduler.close()

    def _followers(self, action: Action, predict: Plan) -> list[Planned]:
        """The steps that can be sent with an action: they need its outputs, the same programs, and
        nothing unknown. While workers are idle, the chain ends where several steps could run in
        parallel.
        """
        planned: dict[str, Planned] = {}
        programs = resources(action, 0).keys()
        last = [] if action.per_file is not None else [action.task]
        while last:
            known = {action.task, *planned}
            nexts = {
                each.task: each
                for task in last
                for each in self._consumers.get(task, ())
                if each.task not in known
            }
            steps = [
                step
                for each in nexts.values()
                if self.accepts(each)
                and resources(each, 0).keys() == programs
                and (step := predict(each, known)) is not None
            ]
            steps = [
                step
                for step in steps
                if not self._unfit.get(requirements_key(step.documents[0]["code"], step.documents))
            ]
            if len(steps) > 1 and not self._scheduler.is_busy:
                break
            planned |= {step.action.task: step for step in steps}
            last = [step.action.task for step in steps]
        return [*planned.values()]

    def _early_answer(self, request: RemoteAction) -> _Answer | None:
        """The answer of a worker that ran this step together with the one before, if the request is
        the same.
        """
        with self._lock:
            early = self._early.pop(request.task, None)
        if (
            early is None
            or early.worker in self._excluded
            or replace(early.request, doubted=request.doubted) != request
        ):
            return None
        return early

    def _execute(
        self,
        steps: Sequence[tuple[Action, RemoteAction]],
        trees: Mapping[str, Tree],
        report: Callable[[str], None],
        other: frozenset[str],
    ) -> _Answer | None:
        """The answer of a worker, not in `other`, for the first of these steps; None where no
        worker executes it. The answers for the other steps are kept.
        """
        action, request = steps[0]
        need = requirements_key(request.code, [{"tools": table} for table in request.tools])
        again = False
        while True:
            submitted = self._submit(steps, self._excluded | self._unfit[need] | other, report)
            if submitted is None:
                return None
            worker, answers = submitted
            first = answers[0] if isinstance(answers, Sequence) and answers else None
            answer = first if isinstance(first, Mapping) else {}
            match answer.get("status"):
                case "done":
                    if (accepted := self._accept(worker, steps, answers)) is not None:
                        return accepted
                case "unfit":
                    self._unfit[need].add(worker)
                    self._warn(f"{worker} cannot do {action.stage}: {answer['text']}")
                case "missing":
                    self._repair(worker, [*map(str, answer.get("digests", ()))], trees, again=again)
                    again = True
                case "user" | "internal" if "text" in answer:
                    raise failure(
                        f"{action.task}: the stage {action.stage} failed on {worker}; please report"
                        " this",
                        answer,
                    )
                case _:
                    self._exclude(worker, f"sent an invalid answer for {action.task}")

    def _accept(
        self, worker: str, steps: Sequence[tuple[Action, RemoteAction]], answers: Sequence[Any]
    ) -> _Answer | None:
        """The first of a worker's answers, if all of them are plausible and their outputs are in
        the remote cache.
        """
        answered: list[_Answer] = []
        outputs_by_task: dict[str, Files] = {}
        for (action, request), answer in zip(steps, answers, strict=False):
            if not (isinstance(answer, Mapping) and answer.get("status") == "done"):
                break  # it is requested again when the build needs it
            result = _result(answer)
            if not (
                is_sound(result)
                and not expected(action).fault(result.outputs)
                and answer.get("tools") in range(len(request.tools))
            ):
                self._exclude(
                    worker,
                    f"answered {action.task} with outputs other than {', '.join(action.outputs)}",
                )
                return None
            answered.append(
                _Answer(worker, request.after(outputs_by_task), result, answer["tools"])
            )
            outputs_by_task[action.task] = result.outputs
        blobs = [
            *dict.fromkeys(
                blob for outputs in outputs_by_task.values() for blob in outputs.values()
            )
        ]
        if self._shared.lacks(blobs):
            self._exclude(
                worker,
                f"claims that outputs of {answered[0].request.task} are in {self._shared.address},"
                " but they are missing there",
            )
            return None
        self._store.mark_remote(blobs)
        self._shared.mark_available(blob.sha256 for blob in blobs)
        for (action, _), each in zip(steps, answered, strict=False):
            if fault := expected(action).fault_of_manifest(each.result.outputs, self._store.read):
                self._exclude(worker, f"answered {action.task} with a result that {fault}")
                return None
        with self._lock:
            self._early |= {each.request.task: each for each in answered[1:]}
        return answered[0]

    def _repair(
        self, worker: str, digests: Sequence[str], trees: Mapping[str, Tree], *, again: bool
    ) -> None:
        """Upload again, or have rebuilt, the inputs that a worker could not read."""
        items = [
            item for tree in trees.values() for item in tree.values() if item.sha256 in digests
        ]
        blobs = [self._requests.blob(item.sha256, item.blob, item.local) for item in items]
        here = [blob for blob in blobs if self._store.is_here(blob)]
        if len(here) < len(items):
            self._shared.mark_unavailable(digests)
            self._exclude_corrupt()
            self._store.unmark_remote(digests)
            raise MissingInput(
                [item for item, blob in zip(items, blobs, strict=True) if blob not in here]
            )
        if again or not items:
            self._exclude(
                worker,
                f"does not find the blobs that this build stored in {self._shared.address}; check"
                f" that its {CACHE_VARIABLE} is the same",
            )
        self._shared.upload_blobs(here, self._path, force=digests)

    def _submit(
        self,
        steps: Sequence[tuple[Action, RemoteAction]],
        avoided: Collection[str],
        report: Callable[[str], None],
    ) -> tuple[str, Any] | None:
        """The answers, with the worker that sent them; None where no worker can answer."""
        size = sum(blob.bytes for _, request in steps for blob in request.blobs())
        needed: dict[str, float] = {}
        for action, _ in steps:
            more = resources(action, size)
            needed |= {name: max(amount, needed.get(name, 0.0)) for name, amount in more.items()}
        action = steps[0][0]
        try:
            return self._scheduler.ask(
                [request.to_json() for _, request in steps], action.task, needed, avoided, report
            )
        except SchedulerLostError as gone:
            self._warn(f"{gone}; the build continues here until it does")
        except NoWorkerError as nobody:
            self._warn_local(f"{action.stage}: {nobody}")
        return None

    def _is_checked(self, action: Action) -> bool:
        # A sample of results, so predictable numbers do no harm.
        return action.stage not in NONDETERMINISTIC and random() < self._checks  # noqa: S311

    def _path(self, blob: Blob) -> Path:
        return self._store.path(blob.sha256)

    def _exclude_corrupt(self) -> None:
        """Exclude the workers that stored bytes not matching their digests."""
        with self._lock:
            blamed = {
                sha256: self._workers_by_blob.pop(sha256)
                for sha256 in self._shared.unavailable & self._workers_by_blob.keys()
            }
        for sha256, worker in blamed.items():
            self._exclude(worker, f"stored bytes that do not match {sha256}, or they are gone")

    def _exclude(self, worker: str, why: str) -> None:
        self._excluded.add(worker)
        self._warn(f"{worker} {why}; it gets no more work")

    def _warn_local(self, why: str) -> None:
        self._warn(f"actions that {self.address} cannot run are executed here: {why}")

    def _warn(self, message: str) -> None:
        with self._lock:
            warned = message in self._warned
            self._warned.add(message)
        if not warned:
            warn(message)


def _result(answer: Mapping[str, Any]) -> ActionResult:
    """The result in an answer; empty where the answer is malformed."""
    try:
        outputs = {
            path: Blob(str(sha256), int(size)) for path, (sha256, size) in answer["outputs"].items()
        }
        return ActionResult(outputs, str(answer["printed"]), FLEET)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ActionResult({})
