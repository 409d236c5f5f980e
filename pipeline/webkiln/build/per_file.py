"""Actions that are cached file by file: the results of their files, and the execution of those that
are missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from webkiln.build.action import Action, ActionResult, PerFile, combined_provenance
from webkiln.build.cache import ActionCache
from webkiln.build.consumption import Consumed, Consumption, files_of, per_file_keys
from webkiln.build.sandbox import InputFile, Tree
from webkiln.build.single_flight import Claims

if TYPE_CHECKING:
    from webkiln.build.execution import Execution
    from webkiln.build.lookup import Lookup


@dataclass(frozen=True, slots=True)
class FileResults:
    """`names`: path in the input folder -> the name that the stage sees. `items` are the input
    files, and `results` the results that exist, by these names.
    """

    per_file: PerFile
    document: Mapping[str, Any]
    names: Mapping[str, str]
    items: Tree
    results: Mapping[str, ActionResult]

    @property
    def missing(self) -> dict[str, InputFile]:
        return {name: item for name, item in self.items.items() if name not in self.results}

    def consumed(self, trees: Mapping[str, Tree]) -> Consumed:
        return Consumed(files_of(trees), self.document, self.document)

    def combined(self) -> ActionResult:
        """The results of all files as one."""
        outputs = {
            self.per_file.result
            + PurePosixPath(inside).with_suffix(self.per_file.suffix).as_posix(): self.results[
                name
            ].outputs[self.per_file.result]
            for inside, name in self.names.items()
        }
        return ActionResult(
            outputs,
            provenance=combined_provenance(result.provenance for result in self.results.values()),
        )


class PerFileExecution:
    """Executes actions for the files whose results are missing."""

    def __init__(
        self, cache: ActionCache, consumption: Consumption, lookup: "Lookup", execution: "Execution"
    ) -> None:
        self._cache = cache
        self._consumption = consumption
        self._lookup = lookup
        self._execution = execution
        self._claims = Claims()

    def complete(
        self, action: Action, trees: Mapping[str, Tree], files: FileResults
    ) -> FileResults:
        """Execute an action for all of its missing files together, and cache each result
        separately. A result that another step computes meanwhile is awaited.
        """
        per_file = files.per_file
        rest = {role: tree for role, tree in trees.items() if role != per_file.source}
        keys = per_file_keys(files.document, per_file, rest, files.items)
        while files.missing:
            missing = {keys[name]: name for name in files.missing}
            claimed = self._claims.claim(missing)
            try:
                if claimed:
                    files = self._execute(
                        action, trees, rest, files, [missing[key] for key in claimed]
                    )
            finally:
                self._claims.release(claimed)
            others = missing.keys() - claimed
            self._claims.wait(others)
            awaited = {
                missing[key]: result
                for key in others
                if (result := self._lookup.cached_file(action, per_file, key)) is not None
            }
            files = replace(files, results={**files.results, **awaited})
        return files

    def _execute(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        rest: Mapping[str, Tree],
        files: FileResults,
        names: Sequence[str],
    ) -> FileResults:
        """Execute an action for the files with these names."""
        per_file, items = files.per_file, {name: files.items[name] for name in sorted(names)}
        result, outcome = self._execution.execute(
            action, {**rest, per_file.source: items}, [*items]
        )
        self._consumption.check_unchanged(action, trees, files.document, outcome)
        document = dict(Consumed({}, files.document).with_tools_of(outcome).document)
        keys = per_file_keys(document, per_file, rest, items)
        results = {**files.results}
        for name in items:
            blob = result.outputs[per_file.result + PurePosixPath(name).stem + per_file.suffix]
            results[name] = replace(result, outputs={per_file.result: blob}, printed="")
            self._cache.put(keys[name], results[name])
        return replace(files, document=document, results=results)
