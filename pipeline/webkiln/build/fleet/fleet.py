"""The machines of a fleet as a build sees them: requests go to the scheduler of dask at
`$WEBKILN_EXECUTOR`, and files through the remote cache.

What a machine answers is checked before it is used. One that is lost has its requests done by
others, one that lies is asked no more, and what no machine can do is done here. With a step go
those that need nothing but what it makes: their answers are kept until the build comes to them.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import random
from threading import Lock
from typing import Any

from webkiln import canonical
from webkiln.build.action import FLEET, Action, ActionResult, Blob, Product
from webkiln.build.executor import failure
from webkiln.build.files import beside
from webkiln.build.fleet.address import VARIABLE, address
from webkiln.build.fleet.remote_action import Files, Made, RemoteAction, resources
from webkiln.build.fleet.scheduler import GoneError, NobodyError, Scheduler
from webkiln.build.outputs import expected
from webkiln.build.progress import warn
from webkiln.build.remote.entries import is_sound
from webkiln.build.remote.shared import VARIABLE as CACHE_VARIABLE
from webkiln.build.remote.shared import WRITE_VARIABLE, SharedCache
from webkiln.build.sandbox import MissingInput, Tree
from webkiln.build.store import LocalStore
from webkiln.errors import RecipeError

CHECKS_VARIABLE = "WEBKILN_EXECUTOR_CHECKS"
HERE = {"fetch", "tune"}
"""Stages that run where the user is: they read what lies there, or measure that machine."""
UNEQUAL = {"verify", "reference", "report"}
"""Stages whose results hold times, or what a framework computes in an order of its own: two
machines may answer differently and both be right.
"""


def fleet_from_environment(store: LocalStore, shared: SharedCache | None) -> "Fleet | None":
    """The fleet that the environment names, if any; RecipeError where there is no remote cache that
    its results could go through.
    """
    given = address()
    if given is None:
        return None
    if shared is None or not shared.writes:
        raise RecipeError(
            f"{VARIABLE} is {given}, but "
            + (
                f"{CACHE_VARIABLE} names no remote cache"
                if shared is None
                else f"{WRITE_VARIABLE} is not 1"
            )
            + "; what machines of a fleet make and read goes through a remote cache that all of"
            " them reach and may write"
        )
    return Fleet(given, store, shared)


@dataclass(frozen=True, slots=True)
class Planned:
    """An action whose turn comes after that of others: its inputs but for those which these make,
    and the keys that its result may get, without inputs.
    """

    action: Action
    trees: Mapping[str, Tree]
    documents: Sequence[Mapping[str, Any]]


Plan = Callable[[Action, Collection[str]], Planned | None]
"""What is known of an action before the tasks with these names have run; None where it needs
others, too, or may not have to run.
"""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a worker made of an request: the number of its table of tools comes last."""

    worker: str
    request: RemoteAction
    result: ActionResult
    table: int


class Fleet:
    """Asked by several threads at once."""

    def __init__(self, place: str, store: LocalStore, shared: SharedCache) -> None:
        self.place = place
        self._scheduler = Scheduler(place)
        self._store = store
        self._shared = shared
        self._lock = Lock()
        self._checks = float(os.environ.get(CHECKS_VARIABLE) or 0)
        self._consumers: dict[str, list[Action]] = defaultdict(list)
        self._early: dict[str, _Answer] = {}
        self._liars: set[str] = set()
        self._unfit: dict[str, set[str]] = defaultdict(set)
        self._makers: dict[str, str] = {}
        self._disputes: dict[str, list[_Answer]] = {}
        self._told: set[str] = set()

    def expect(self, actions: Iterable[Action]) -> None:
        """Learn what a build will ask for."""
        for action in actions:
            for producer in action.producers:
                self._consumers[producer.task].append(action)

    def accepts(self, action: Action) -> bool:
        """Whether an action may run elsewhere: one that runs code of the user's reads what lies
        here.
        """
        return not self._scheduler.is_gone and action.stage not in HERE and not action.roots

    def perform(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        documents: Sequence[Mapping[str, Any]],
        tell: Callable[[str], None],
        predict: Plan = lambda action, others: None,
    ) -> tuple[ActionResult, Mapping[str, str]] | None:
        """The result of an action and the versions of the tools that made it; None where it has to
        run
        here. `documents`: the keys that a result may get, the preferred one first.

        Raises the stage's UserError, and MissingInput where inputs have to be made again.
        """
        if any(name.startswith("user/") for name in documents[0]["code"]):
            return None
        steps = [Planned(action, trees, documents)]
        request = self._request(steps[0])
        self._blame()
        found = self._answered_early(request)
        if found is None:
            steps += self._following(action, predict)
            here = [
                blob
                for step in steps
                for blob in self._blobs(step.trees)
                if self._store.is_here(blob)
            ]
            if not self._shared.upload_blobs(here, self._path):
                self._without(f"{self._shared.place} does not take what it needs")
                return None
            found = self._answered(
                [(action, request), *((step.action, self._request(step)) for step in steps[1:])],
                trees,
                tell,
                frozenset(),
            )
        if found is not None and self._is_checked(action):
            again = self._answered([(action, request)], trees, tell, frozenset([found.worker]))
            if again is not None and again.result.outputs != found.result.outputs:
                self._disputes[action.task] = [found, again]
                self._warn(
                    f"{found.worker} and {again.worker} made different results of {action.task}; it"
                    " runs here"
                )
                return None
        if found is None:
            return None
        with self._lock:
            self._makers |= {blob.sha256: found.worker for blob in found.result.outputs.values()}
        return found.result, request.tools[found.table]

    def resolve_disputes(self, action: Action, result: ActionResult) -> None:
        """Tell which of the machines was wrong that made different results of what this one made
        now.
        """
        for theirs in self._disputes.pop(action.task, ()):
            if theirs.result.outputs != result.outputs:
                self._exclude(
                    theirs.worker, f"made another result of {action.task} than this machine"
                )

    def close(self) -> None:
        self._scheduler.close()

    def _request(self, step: Planned) -> RemoteAction:
        action = step.action
        inputs: dict[str, Files | Made] = {
            role: Made(value.action.task, value.path, value.pattern)
            for role, value in action.inputs.items()
            if isinstance(value, Product) and role not in step.trees
        }
        for role, tree in step.trees.items():
            inputs[role] = {
                inside: self._blob(item.sha256, item.blob, item.local)
                for inside, item in tree.items()
            }
        tables = tuple(
            dict.fromkeys(canonical.dumps(document["tools"]) for document in step.documents)
        )
        code, tools = step.documents[0]["code"], tuple(map(canonical.loads, tables))
        return RemoteAction(
            action.task,
            action.stage,
            inputs,
            action.outputs,
            action.params,
            code,
            tools,
            action.timeout,
            self._shared.unavailable,
        )

    def _following(self, action: Action, predict: Plan) -> list[Planned]:
        """The steps that can go with one, since they need what it makes, the same programs, and
        nothing that is not known. While workers are idle, only as far as there is nothing that
        several could do at once.
        """
        found: dict[str, Planned] = {}
        programs = resources(action, 0).keys()
        last = [] if action.per_file is not None else [action.task]
        while last:
            known = {action.task, *found}
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
                if not self._unfit.get(_need(step.documents[0]["code"], step.documents))
            ]
            if len(steps) > 1 and not self._scheduler.is_busy:
                break
            found |= {step.action.task: step for step in steps}
            last = [step.action.task for step in steps]
        return [*found.values()]

    def _answered_early(self, request: RemoteAction) -> _Answer | None:
        """What a worker that did the step before has made of this one as well, if it is the same
        request.
        """
        with self._lock:
            early = self._early.pop(request.task, None)
        if (
            early is None
            or early.worker in self._liars
            or replace(early.request, doubted=request.doubted) != request
        ):
            return None
        return early

    def _answered(
        self,
        steps: Sequence[tuple[Action, RemoteAction]],
        trees: Mapping[str, Tree],
        tell: Callable[[str], None],
        other: frozenset[str],
    ) -> _Answer | None:
        """What a worker, not one of `other`, has made of the first of these steps; None where no
        worker does it. What it has made of the others is kept.
        """
        action, request = steps[0]
        need = _need(request.code, [{"tools": table} for table in request.tools])
        again = False
        while True:
            asked = self._asked(steps, self._liars | self._unfit[need] | other, tell)
            if asked is None:
                return None
            worker, answers = asked
            first = answers[0] if isinstance(answers, Sequence) and answers else None
            answer = first if isinstance(first, Mapping) else {}
            match answer.get("status"):
                case "done":
                    if (found := self._believed(worker, steps, answers)) is not None:
                        return found
                case "unfit":
                    self._unfit[need].add(worker)
                    self._warn(f"{worker} cannot do {action.stage}: {answer['text']}")
                case "missing":
                    self._mend(worker, [*map(str, answer.get("digests", ()))], trees, again=again)
                    again = True
                case "user" | "internal" if "text" in answer:
                    raise failure(
                        f"{action.task}: the stage {action.stage} failed on {worker}; please report"
                        " this",
                        answer,
                    )
                case _:
                    self._exclude(worker, f"answered {action.task} with what is no answer")

    def _believed(
        self, worker: str, steps: Sequence[tuple[Action, RemoteAction]], answers: Sequence[Any]
    ) -> _Answer | None:
        """The first of a worker's answers, if all of them may be true, and what they name is where
        it should be.
        """
        found: list[_Answer] = []
        made: dict[str, Files] = {}
        for (action, request), answer in zip(steps, answers, strict=False):
            if not (isinstance(answer, Mapping) and answer.get("status") == "done"):
                break  # it is asked for again where its turn comes
            result = _result(answer)
            if not (
                is_sound(result)
                and not expected(action).fault(result.outputs)
                and answer.get("tools") in range(len(request.tools))
            ):
                self._exclude(
                    worker,
                    f"answered {action.task} with other outputs than {', '.join(action.outputs)}",
                )
                return None
            found.append(_Answer(worker, request.after(made), result, answer["tools"]))
            made[action.task] = result.outputs
        blobs = [*dict.fromkeys(blob for outputs in made.values() for blob in outputs.values())]
        if self._shared.lacks(blobs):
            self._exclude(
                worker,
                f"says that outputs of {found[0].request.task} are in {self._shared.place}, which"
                " does not have them",
            )
            return None
        self._store.mark_remote(blobs)
        self._shared.mark_available(blob.sha256 for blob in blobs)
        for (action, _), each in zip(steps, found, strict=False):
            if fault := expected(action).fault_of_manifest(each.result.outputs, self._store.read):
                self._exclude(worker, f"answered {action.task} with a result that {fault}")
                return None
        with self._lock:
            self._early |= {each.request.task: each for each in found[1:]}
        return found[0]

    def _mend(
        self, worker: str, digests: Sequence[str], trees: Mapping[str, Tree], *, again: bool
    ) -> None:
        """Have what a worker could not read stored again, or made again."""
        items = [
            item for tree in trees.values() for item in tree.values() if item.sha256 in digests
        ]
        blobs = [self._blob(item.sha256, item.blob, item.local) for item in items]
        here = [blob for blob in blobs if self._store.is_here(blob)]
        if len(here) < len(items):
            self._shared.mark_unavailable(digests)
            self._blame()
            self._store.unmark_remote(digests)
            raise MissingInput(
                [item for item, blob in zip(items, blobs, strict=True) if blob not in here]
            )
        if again or not items:
            self._exclude(
                worker,
                f"does not find what this build stored in {self._shared.place}; is its"
                f" {CACHE_VARIABLE} the same?",
            )
        self._shared.upload_blobs(here, self._path, force=digests)

    def _asked(
        self,
        steps: Sequence[tuple[Action, RemoteAction]],
        avoided: Collection[str],
        tell: Callable[[str], None],
    ) -> tuple[str, Any] | None:
        """Answers and whose they are; None where no worker can answer."""
        size = sum(blob.bytes for _, request in steps for blob in request.blobs())
        needed: dict[str, float] = {}
        for action, _ in steps:
            more = resources(action, size)
            needed |= {name: max(amount, needed.get(name, 0.0)) for name, amount in more.items()}
        action = steps[0][0]
        try:
            return self._scheduler.ask(
                [request.to_json() for _, request in steps], action.task, needed, avoided, tell
            )
        except GoneError as gone:
            self._warn(f"{gone}; the build goes on here until it does")
        except NobodyError as nobody:
            self._without(f"{action.stage}: {nobody}")
        return None

    def _is_checked(self, action: Action) -> bool:
        return action.stage not in UNEQUAL and random() < self._checks  # noqa: S311  # which ones are checked is no secret worth keeping

    def _blobs(self, trees: Mapping[str, Tree]) -> Iterable[Blob]:
        return (
            self._blob(item.sha256, item.blob, item.local)
            for tree in trees.values()
            for item in tree.values()
        )

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
        with self._lock:
            blamed = {
                sha256: self._makers.pop(sha256)
                for sha256 in self._shared.unavailable & self._makers.keys()
            }
        for sha256, worker in blamed.items():
            self._exclude(worker, f"stored other bytes than those of {sha256}, or they are gone")

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


def _need(code: Mapping[str, str], documents: Iterable[Mapping[str, Any]]) -> str:
    """What tells requests apart that a worker may be unfit for."""
    tables = dict.fromkeys(canonical.dumps(document["tools"]) for document in documents)
    return canonical.key(
        {"code": dict(code), "tools": [canonical.loads(table) for table in tables]}
    )


def _result(answer: Mapping[str, Any]) -> ActionResult:
    """What an answer says; nothing where that has not the form of a result."""
    try:
        outputs = {
            path: Blob(str(sha256), int(size)) for path, (sha256, size) in answer["outputs"].items()
        }
        return ActionResult(outputs, str(answer["printed"]), FLEET)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ActionResult({})
