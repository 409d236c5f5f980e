"""What the actions of a build consume: the user's files as they were state, key documents, and keys
of
sources.

A result is stored under what its run consumed, never under what is there when it is stored.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import (
    Action,
    ActionResult,
    Folder,
    Input,
    Local,
    Modules,
    PerFile,
    Product,
)
from webkiln.build.cache import ActionCache
from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests, FileState
from webkiln.build.discovered_inputs import Discovered, discovered, is_same, packages_of, scripts_of
from webkiln.build.executor import Outcome
from webkiln.build.keys import Keys, tree_digest
from webkiln.build.reads import ChangedError, stamp
from webkiln.build.sandbox import InputFile, Tree
from webkiln.build.share import Share
from webkiln.build.state import Run
from webkiln.build.tools import Toolchain
from webkiln.errors import RecipeError

SOURCES = {"of": "webkiln.source_key/2"}
"""In the documents of source keys, which have source keys in place of the digests of products."""


@dataclass(frozen=True, slots=True)
class SourceKey:
    """The key of an action by all that leads to it, and the files of the user's among that, as they
    were state.
    """

    key: str
    files: Mapping[Path, FileState]


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a result was made from: the user's files, and the key document; `declared` is that
    without
    what the run discovered.

    A result that was found by its source key has that key and no documents.
    """

    files: Mapping[Path, FileState]
    document: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    source_key: str = ""

    @property
    def run(self) -> Run:
        """What the tree remembers of it."""
        return Run(
            self.document, {os.fspath(path): state.sha256 for path, state in self.files.items()}
        )

    def with_tools_of(self, outcome: Outcome) -> "Consumed":
        """The same with the tools of the machine that made the result."""
        if outcome.tools is None:
            return self
        tools = {"tools": dict(outcome.tools)}
        return replace(
            self, document={**self.document, **tools}, declared={**self.declared, **tools}
        )


class Consumption:
    """Of one session, for several threads at once."""

    def __init__(
        self,
        share: Share,
        digests: FileDigests,
        derived: Derived,
        toolchain: Toolchain,
        cache: ActionCache,
    ) -> None:
        self._share = share
        self._digests = digests
        self._derived = derived
        self._toolchain = toolchain
        self._cache = cache
        self._consumed: dict[str, Consumed] = {}
        self._source_keys: dict[str, SourceKey | None] = {}
        self._reads: dict[str, Sequence[str]] = {}
        self.keys = self._fresh_keys()

    def invalidate(self) -> None:
        """Forget what was state of the user's files and of webkiln's own: some have changed."""
        self.keys = self._fresh_keys()
        self._source_keys.clear()

    def record(self, action: Action, consumed: Consumed) -> None:
        """Remember what the result of an action was made from."""
        self._consumed[action.task] = consumed

    def reads(self, action: Action) -> Sequence[str] | None:
        """What a run of the action is known to read, if its source key was asked for."""
        return self._reads.get(action.task)

    def local(self, value: Input) -> Tree | None:
        """An input of the user's files; None for a product. Raises RecipeError where a file cannot
        be read.
        """
        match value:
            case Local(path):
                return {"": self._local(path)}
            case Folder(files):
                return {name: self._local(path) for name, path in files}
            case Modules():
                return {name: self._local(path) for name, path in self.keys.modules(value).items()}
        return None

    def of(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        reads: Sequence[str],
        *,
        actual: bool = False,
    ) -> Consumed:
        """What a run consumes that has these inputs and reads these files besides; with `actual`,
        with the tools of this machine.
        """
        digests, files = digests_of(trees), files_of(trees)
        declared = self.keys.document(action, digests, actual=actual)
        if not action.roots:
            return Consumed(files, declared, declared)
        found = discovered(action, reads, self._digests)
        document = self.keys.document(
            action,
            digests,
            actual=actual,
            scripts=scripts_of(action, reads),
            packages=packages_of(reads),
        )
        document["reads"] = found.digests
        return Consumed({**files, **found.files}, document, declared)

    def source_key(self, action: Action) -> SourceKey | None:
        """The key of an action by the files, parameters, code and tools of all that leads to it;
        None
        where it is not known what a step on the way reads.
        """
        if action.task not in self._source_keys:
            self._source_keys[action.task] = self._find_source_key(action)
        return self._source_keys[action.task]

    def source_key_of(self, action: Action, results: Mapping[str, ActionResult]) -> str:
        """The source key of a result that this session has: of what its steps consumed, whatever
        the files are now.
        """
        return self._consumed_by_sources(action, results, {})

    def files_behind(self, action: Action) -> Iterator[tuple[Path, FileState]]:
        """The files of the user's that were consumed for what leads to an action, once for each
        step that did.
        """
        for each in with_producers(action):
            if each.task in self._consumed:
                yield from self._consumed[each.task].files.items()

    def check_one_state(self, action: Action, trees: Mapping[str, Tree]) -> None:
        """RecipeError where steps consumed files of the user's that may never have been there at
        one time, since some changed in between.
        """
        state = [*self.files_behind(action), *files_of(trees).items()]
        begun = min((file.time for _, file in state), default=0.0)
        if all(file.changed < begun for _, file in state):
            return
        for path, file in state:
            if stamp(str(path)) != file.stamp:
                raise RecipeError(f"{path}: changed while this build ran; build again")

    def check_unchanged(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        document: Mapping[str, Any],
        outcome: Outcome,
    ) -> None:
        """ChangedError where an action's code or the user's files among its inputs changed while it
        ran: the result belongs to no key. Another machine that ran it has compared its code with
        the key's.
        """
        for path, state in files_of(trees).items():
            if stamp(str(path)) != state.stamp:
                raise ChangedError
        if outcome.tools is not None or (
            self.keys.code(action) == document["code"] and self.keys.is_unchanged(action)
        ):
            return
        if self._fresh_keys().code(action) != document["code"]:
            raise ChangedError

    @staticmethod
    def check_reads(action: Action, consumed: Consumed, outcome: Outcome) -> None:
        """ChangedError where what the run read is not what is there now."""
        if action.roots and not is_same(
            action, outcome, Discovered(consumed.document["reads"], consumed.files)
        ):
            raise ChangedError

    def _find_source_key(self, action: Action) -> SourceKey | None:
        digests: dict[str, str] = {}
        files: dict[Path, FileState] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product):
                found = self.source_key(value.action)
                if found is None:
                    return None
                digests[role] = _by_source(value, found.key)
                files |= found.files
            else:
                trees = {role: self.local(value) or {}}
                digests |= digests_of(trees)
                files |= files_of(trees)
        document = self.keys.document(action, digests)
        if action.roots:
            known = self._cache.reads(canonical.key(document | SOURCES))
            if not known:
                return None
            reads = self._reads[action.task] = known[0]
            more = discovered(action, reads, self._digests)
            document = self.keys.document(
                action, digests, scripts=scripts_of(action, reads), packages=packages_of(reads)
            )
            document["reads"] = more.digests
            files |= more.files
        return SourceKey(canonical.key(document | SOURCES), files)

    def _consumed_by_sources(
        self, action: Action, results: Mapping[str, ActionResult], found: dict[str, str]
    ) -> str:
        consumed = self._consumed[action.task]
        if consumed.source_key:
            return consumed.source_key
        if action.task not in found:
            inputs = dict(consumed.document["inputs"])
            for role, value in action.inputs.items():
                if isinstance(value, Product):
                    inputs[role] = _by_source(
                        value, self._consumed_by_sources(value.action, results, found)
                    )
            if action.roots:
                declared = canonical.key({**consumed.declared, "inputs": inputs, **SOURCES})
                reads, key = sorted(consumed.document["reads"]), canonical.key(consumed.document)
                self._cache.record_reads(declared, reads, key, results[action.task].provenance)
            found[action.task] = canonical.key({**consumed.document, "inputs": inputs, **SOURCES})
        return found[action.task]

    def _local(self, path: Path) -> InputFile:
        try:
            state = self._digests.observe(path)
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error
        return InputFile(state.sha256, local=path, state=state)

    def _fresh_keys(self) -> Keys:
        return Keys(
            self._share, Closures(self._share, self._digests, self._derived), self._toolchain
        )


def with_producers(action: Action) -> list[Action]:
    """An action and all that leads to it."""
    found = {action.task: action}
    todo = [action]
    while todo:
        for producer in todo.pop().producers:
            if producer.task not in found:
                found[producer.task] = producer
                todo.append(producer)
    return [*found.values()]


def digests_of(trees: Mapping[str, Tree]) -> dict[str, str]:
    """The digest of each input."""
    found = {}
    for role, tree in trees.items():
        found[role] = (
            tree_digest({inside: item.sha256 for inside, item in tree.items()})
            if role.endswith("/")
            else tree[""].sha256
        )
    return found


def files_of(trees: Mapping[str, Tree]) -> dict[Path, FileState]:
    """The files of the user's in trees."""
    items = (item for tree in trees.values() for item in tree.values())
    return {
        item.local: item.state
        for item in items
        if item.local is not None and item.state is not None
    }


def per_file_keys(
    document: Mapping[str, Any], per_file: PerFile, rest: Mapping[str, Tree], items: Tree
) -> dict[str, str]:
    """The key of each file of a folder, by its name."""
    return {
        name: canonical.key(
            {**document, "inputs": digests_of(rest) | {per_file.source: item.sha256}}
        )
        for name, item in items.items()
    }


def _by_source(value: Product, key: str) -> str:
    """What stands for a product in a source key, where its action has this one."""
    return canonical.key({"origin": key, "path": value.path, "pattern": value.pattern})
