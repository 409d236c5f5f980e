"""Runs actions, producers first. Results in a cache are not computed again. Runs an action again if
its inputs change meanwhile, or if blobs are missing.
"""

from collections.abc import Mapping
from dataclasses import replace
from threading import Lock, RLock

from webkiln import canonical
from webkiln.build.action import BUILT, Action, ActionResult, Input, combined_provenance
from webkiln.build.build_log import BuildLog
from webkiln.build.cache import ActionCache
from webkiln.build.consumption import (
    Consumed,
    Consumption,
    SourceKey,
    digests_of,
    with_producers,
)
from webkiln.build.discovered_inputs import names_of
from webkiln.build.execution import Execution
from webkiln.build.lookup import Lookup
from webkiln.build.per_file import PerFileExecution
from webkiln.build.reads import ChangedError
from webkiln.build.sandbox import MissingInput, Tree
from webkiln.build.state import TreeState
from webkiln.errors import (
    MissingPackageError,
    OutputError,
    RecipeError,
    ToolError,
    UnsupportedError,
    UserError,
    VerificationError,
    WebkilnError,
)

ATTEMPTS = 4
OWN_FAULTS = (OutputError, RecipeError, UnsupportedError, VerificationError)
"""Errors that no damaged input causes."""


class Runner:
    """Obtains the results of actions for several threads. One thread runs a task at a time.

    `missing`: modules that an action needed and that are not installed.
    """

    def __init__(
        self,
        state: TreeState,
        cache: ActionCache,
        consumption: Consumption,
        lookup: Lookup,
        log: BuildLog,
        execution: Execution,
    ) -> None:
        self._state = state
        self._cache = cache
        self._consumption = consumption
        self._lookup = lookup
        self._log = log
        self._execution = execution
        self._per_file = PerFileExecution(cache, consumption, lookup, execution)
        self._missed: set[str] = set()
        self._locks: dict[str, RLock] = {}
        self._lock = Lock()
        self.missing: set[str] = set()

    def run(self, action: Action) -> ActionResult:
        """The result of an action. Its producers run first where needed."""
        with self._lock:
            lock = self._locks.setdefault(action.task, RLock())
        with lock:
            try:
                result = self._lookup.current(action) or self._obtain(action)
            except MissingPackageError as error:
                self.missing.add(error.module)
                raise
            self._lookup.known[action.task] = result
            return result

    def rerun(self, action: Action) -> ActionResult:
        """Execute an action even if the cache has its result, and replace that."""
        result = self._lookup.known[action.task] = self._run_steps(action, overwrite=True)
        return result

    def run_again(self, producer: Action) -> None:
        """Rebuild a result whose blobs are gone. Its manifest and its cache entry are misses
        without them.
        """
        self._lookup.known.pop(producer.task, None)
        self.run(producer)

    def restore(self, action: Action) -> bool:
        """Whether a cache has a final result under its source key. No producer is checked."""
        try:
            source = self._consumption.source_key(action)
        except UserError:
            return False  # reported when the step runs
        if source is None:
            return False
        cached = self._lookup.cached(action, source.key)
        if cached is None:
            self._missed.add(source.key)
            return False
        manifest = self._state.manifest(action.task)
        if manifest is None or manifest.result.outputs != cached.outputs:
            self._log.hit(action, cached)
            self._save_by_source(source, action, cached)
        self._lookup.adopt(source, action, cached)
        return True

    def _obtain(self, action: Action) -> ActionResult:
        self._cache.register(self._state.root)
        source = self._consumption.source_key(action) if action.final else None
        if (
            source is not None
            and source.key not in self._missed
            and (cached := self._lookup.cached(action, source.key)) is not None
        ):
            self._log.hit(action, cached)
            self._save_by_source(source, action, cached)
            return self._lookup.adopt(source, action, cached)
        result = self._run_steps(action)
        if action.final:
            known = [
                match
                for each in with_producers(action)
                if (match := self._lookup.known.get(each.task)) is not None
            ]
            provenance = combined_provenance(each.provenance for each in (result, *known))
            results = {**self._lookup.known, action.task: result}
            self._cache.put(
                self._consumption.source_key_of(action, results),
                replace(result, provenance=provenance),
            )
        return result

    def _save_by_source(self, source: SourceKey, action: Action, result: ActionResult) -> None:
        self._state.save(
            action.task,
            {"origin": source.key},
            result,
            {path: state.sha256 for path, state in source.files.items()},
        )

    def _run_steps(self, action: Action, *, overwrite: bool = False) -> ActionResult:
        failed: WebkilnError | None = None
        for _ in range(ATTEMPTS):
            try:
                trees = self._trees(action)
            except WebkilnError:
                if failed is None:
                    raise
                raise failed from None
            try:
                if action.final:
                    self._consumption.check_one_state(action, trees)
                result = self._obtain_once(action, trees, overwrite=overwrite)
            except MissingInput as missing:
                for producer in missing.producers:
                    self.run_again(producer)
            except ChangedError:
                self._consumption.invalidate()
            except WebkilnError as error:
                if failed is not None or isinstance(error, OWN_FAULTS):
                    raise
                if not self._suspect(action) and digests_of(self._trees(action)) == digests_of(
                    trees
                ):
                    raise
                failed = error
            else:
                if failed is not None and self._cache.shared is not None:
                    self._cache.shared.blame(action.task)
                return result
        raise failed or ToolError(
            f"{action.task}: its inputs keep changing while it runs, or the cache"
            f" {self._cache.root} loses what is written"
        )

    def _trees(self, action: Action) -> dict[str, Tree]:
        """The inputs of an action. Producers run first where needed.

        Running one producer can show that the result of another is suspect; then all inputs are
        obtained again.
        """
        while True:
            suspects = len(self._lookup.suspects)
            trees = {role: self._required(value) for role, value in action.inputs.items()}
            if len(self._lookup.suspects) == suspects:
                return trees

    def _suspect(self, action: Action) -> bool:
        """Make the next attempt build here the inputs of an action that came from a remote cache.
        False where no unsigned result is among them.
        """
        producers = [each.task for each in with_producers(action) if each is not action]
        known = {
            task: result
            for task in producers
            if (result := self._lookup.known.get(task)) is not None
        }
        foreign = {
            task for task, result in known.items() if result.provenance not in BUILT
        } - self._lookup.suspects
        if not foreign or self._cache.signer is not None:
            return False
        self._lookup.suspects |= foreign
        for task in known:
            self._lookup.known.pop(task, None)
            self._state.forget(task)
        return True

    def _obtain_once(
        self, action: Action, trees: Mapping[str, Tree], *, overwrite: bool
    ) -> ActionResult:
        if action.per_file is not None:
            files = self._lookup.find_per_file(action, action.per_file, trees)
            if not files.missing:
                self._log.hit(action, ActionResult({}))
            else:
                files = self._per_file.complete(action, trees, files)
            consumed, result = files.consumed(trees), files.combined()
        else:
            consumed, result = self._find_or_execute(action, trees, overwrite=overwrite)
        self._consumption.record(action, consumed)
        states = self._consumption.source_files(action) if action.final else consumed.files.items()
        self._state.save(
            action.task,
            consumed.document,
            result,
            {path: state.sha256 for path, state in states},
        )
        return result

    def _find_or_execute(
        self, action: Action, trees: Mapping[str, Tree], *, overwrite: bool
    ) -> tuple[Consumed, ActionResult]:
        if not overwrite and (match := self._lookup.find(action, trees)) is not None:
            self._log.hit(action, match[1])
            return match
        declared = self._consumption.keys.document(action, digests_of(trees), actual=True)
        result, outcome = self._execution.execute(action, trees)
        reads = names_of(action, outcome)
        consumed = self._consumption.of(action, trees, reads, actual=True).with_tools_of(outcome)
        self._consumption.check_unchanged(action, trees, declared, outcome)
        self._consumption.check_reads(action, consumed, outcome)
        key = canonical.key(consumed.document)
        self._cache.put(key, result, overwrite=overwrite)
        if action.user_reads.roots:
            self._cache.record_reads(canonical.key(declared), reads, key)
        return consumed, result

    def _required(self, value: Input) -> Tree:
        tree = self._lookup.tree(value, self.run)
        assert tree is not None
        return tree
