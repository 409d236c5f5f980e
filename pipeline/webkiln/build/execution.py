"""Executes actions: on a worker of the fleet where it accepts them, else in a sandbox here."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from threading import Lock

from webkiln.build.action import Action, ActionResult, Product
from webkiln.build.build_log import BuildLog
from webkiln.build.cache import ActionCache
from webkiln.build.consumption import Consumption, digests_of
from webkiln.build.executor import Executor, Job, LocalPool, Outcome, Watch
from webkiln.build.fleet.fleet import Fleet
from webkiln.build.fleet.requests import Planned
from webkiln.build.lookup import Lookup
from webkiln.build.observer import library
from webkiln.build.progress import warn
from webkiln.build.sandbox import Tree, collect_outputs, output_paths, place_inputs, sandbox
from webkiln.build.share import Share
from webkiln.build.state import TreeState


class NotCachedError(Exception):
    """An action would have to be executed in a session that only looks up results."""


class Execution:
    """Used by several threads. With `lookups_only`, nothing is executed, and NotCachedError is
    raised. A given `executor` is shared, and not closed with the session.
    """

    def __init__(
        self,
        share: Share,
        state: TreeState,
        cache: ActionCache,
        consumption: Consumption,
        lookup: Lookup,
        log: BuildLog,
        fleet: Fleet | None,
        executor: Executor | None,
    ) -> None:
        self._share = share
        self._state = state
        self._cache = cache
        self._consumption = consumption
        self._lookup = lookup
        self._log = log
        self._fleet = fleet
        self._executor = executor
        self._owns_executor = executor is None
        self._lock = Lock()
        self.lookups_only = False

    def close(self) -> None:
        if self._executor is not None and self._owns_executor:
            self._executor.close()

    def execute(
        self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str] = ()
    ) -> tuple[ActionResult, Outcome]:
        """Run the stage of an action on these inputs and store its outputs. `objects` names the
        files that an action that is cached file by file runs for.
        """
        if self.lookups_only:
            raise NotCachedError
        by_fleet = self._fleet is not None and self._fleet.accepts(action)
        remote = self._execute_by_fleet(action, trees, objects) if by_fleet else None
        if remote is not None:
            return remote
        with sandbox(self._cache.sandboxes) as folder:
            inputs = place_inputs(self._cache.store, folder / "in", trees)
            outputs = output_paths(folder / "out", action.outputs)
            stage, code = self._share.stage(action.stage), self._consumption.keys.code(action)
            with self._log.execution(action, objects, retry=by_fleet):
                watch = self._watch(action, folder)
                update = partial(self._log.progress.update, action.task)
                outcome = self.executor.execute(
                    Job(
                        action.task,
                        stage,
                        inputs,
                        outputs,
                        action.params,
                        code,
                        action.timeout,
                        watch,
                        update,
                    )
                )
                result = ActionResult(
                    collect_outputs(self._cache.store, folder / "out", action.outputs, action.task),
                    outcome.printed,
                )
        for program in outcome.unobserved:
            warn(
                f"{action.task}: runs {program}, whose reads cannot be observed; list the files"
                " that it reads as reads = [...] in the recipe (--reads)"
            )
        if self._fleet is not None:
            self._fleet.resolve_disputes(action, result)
        self._log.progress.done(action.task, result.printed)
        return result, outcome

    def _execute_by_fleet(
        self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str]
    ) -> tuple[ActionResult, Outcome] | None:
        """The result of a remote worker; None where the action has to run here."""
        assert self._fleet is not None
        documents = [
            self._consumption.keys.document(action, digests_of(trees), actual=actual)
            for actual in (False, True)
        ]
        with self._log.execution(action, objects):
            remote = self._fleet.perform(
                action,
                trees,
                documents,
                partial(self._log.progress.update, action.task),
                self._plan,
            )
        if remote is None:
            return None
        result, tools = remote
        self._log.progress.done(action.task, result.printed)
        return result, Outcome(result.printed, tools=tools)

    def _plan(self, action: Action, pending: Collection[str]) -> Planned | None:
        """An action as it is known before the `pending` tasks have run; None where it also needs
        others that have not run, or where its result may be known.
        """
        if (
            action.per_file is not None
            or action.task in self._lookup.known
            or self._state.manifest(action.task) is not None
        ):
            return None
        trees: dict[str, Tree] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product) and value.action.task in pending:
                continue
            tree = self._lookup.tree(value, lambda producer: self._lookup.known.get(producer.task))
            if tree is None:
                return None
            trees[role] = tree
        return Planned(
            action,
            trees,
            [
                self._consumption.keys.document(action, {}, actual=actual)
                for actual in (False, True)
            ],
        )

    def _watch(self, action: Action, folder: Path) -> Watch | None:
        if not action.user_reads.roots:
            return None
        own = (
            self._share.package.parent,
            *(self._share.root / name for name in ("stages", "kernels", "runtime")),
            folder,
        )
        (folder / "tmp").mkdir()
        return Watch(action.user_reads.roots, own, folder / "tmp", self._observer)

    @cached_property
    def _observer(self) -> Path | None:
        return library(self._cache.root)

    def expect(self, actions: Iterable[Action]) -> None:
        """Announce the actions to come, to the progress display and the fleet."""
        actions = [*actions]
        self._log.expect(actions)
        if self._fleet is not None:
            self._fleet.expect(actions)

    @property
    def executor(self) -> Executor:
        """The executor of this session, started on first use."""
        with self._lock:
            if self._executor is None:
                self._executor = LocalPool(self._share.package.parent, homes=self._cache.sandboxes)
            return self._executor
