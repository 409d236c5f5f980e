"""What the actions of a build consume: the states of user files, key documents, and source keys.

A *source key* is the transitive key of an action. It digests the parameters, code and tools of the
action and of all its producers, and the user files at the leaves; the digest of a product is
replaced by the source key of its producer. It can be computed before any producer has run, so the
result of a final action is found without its intermediate steps.

A result is stored under what its run consumed, even if the files have changed by then.
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
from webkiln.build.file_stamps import stamp
from webkiln.build.keys import Keys, tree_digest
from webkiln.build.reads import ChangedError
from webkiln.build.sandbox import InputFile, Tree
from webkiln.build.share import Share
from webkiln.build.state import Run
from webkiln.build.tools import Toolchain
from webkiln.errors import RecipeError

SOURCES = {"of": "webkiln.origin/2"}
"""Marks the documents of source keys, in which the digests of products are source keys."""


@dataclass(frozen=True, slots=True)
class SourceKey:
    """A source key, and the states of the user files that it covers."""

    key: str
    files: Mapping[Path, FileState]


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a result was built from: user files and the key document. `declared` is the document
    without discovered inputs.

    A result that was found by its source key has that key and no documents.
    """

    files: Mapping[Path, FileState]
    document: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    source_key: str = ""

    @property
    def run(self) -> Run:
        """The record of this run that the tree keeps."""
        return Run(
            self.document, {os.fspath(path): state.sha256 for path, state in self.files.items()}
        )

    def with_tools_of(self, outcome: Outcome) -> "Consumed":
        """The same with the tools of the machine that computed the result."""
        if outcome.tools is None:
            return self
        tools = {"tools": dict(outcome.tools)}
        return replace(
            self, document={**self.document, **tools}, declared={**self.declared, **tools}
        )


class Consumption:
    """The inputs of one session. Used by several threads."""

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
        """Forget the states of files: some have changed."""
        self.keys = self._fresh_keys()
        self._source_keys.clear()

    def record(self, action: Action, consumed: Consumed) -> None:
        """Record what the result of an action was built from."""
        self._consumed[action.task] = consumed

    def reads(self, action: Action) -> Sequence[str] | None:
        """The names that a run of the action reads, if its source key was computed."""
        return self._reads.get(action.task)

    def local(self, value: Input) -> Tree | None:
        """An input of user files; None for a product. Raises RecipeError where a file cannot be
        read.
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
        """What a run with these inputs and these discovered inputs consumes. With `actual`, the
        tools are those of this machine instead of the locked ones.
        """
        digests, files = digests_of(trees), files_of(trees)
        declared = self.keys.document(action, digests, actual=actual)
        if not action.user_reads.roots:
            return Consumed(files, declared, declared)
        more = discovered(action, reads, self._digests)
        document = self.keys.document(
            action,
            digests,
            actual=actual,
            scripts=scripts_of(action, reads),
            packages=packages_of(reads),
        )
        document["reads"] = more.digests
        return Consumed({**files, **more.files}, document, declared)

    def source_key(self, action: Action) -> SourceKey | None:
        """The source key of an action; None where the discovered inputs of a step are not known."""
        if action.task not in self._source_keys:
            self._source_keys[action.task] = self._compute_source_key(action)
        return self._source_keys[action.task]

    def source_key_of(self, action: Action, results: Mapping[str, ActionResult]) -> str:
        """The source key of a result of this session, computed from what its steps consumed, not
        from the present state of the files.
        """
        return self._source_key_of_run(action, results, {})

    def source_files(self, action: Action) -> Iterator[tuple[Path, FileState]]:
        """The user files that an action and its producers consumed, once for each step."""
        for each in with_producers(action):
            if each.task in self._consumed:
                yield from self._consumed[each.task].files.items()

    def check_one_state(self, action: Action, trees: Mapping[str, Tree]) -> None:
        """Raise RecipeError where steps consumed user files that may never have existed together,
        since some changed in between.
        """
        states = [*self.source_files(action), *files_of(trees).items()]
        begun = min((state.time for _, state in states), default=0.0)
        if all(state.changed < begun for _, state in states):
            return
        for path, state in states:
            if stamp(str(path)) != state.stamp:
                raise RecipeError(f"{path}: changed while this build ran; build again")

    def check_unchanged(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        document: Mapping[str, Any],
        outcome: Outcome,
    ) -> None:
        """Raise ChangedError where the code of an action or its user files changed while it ran:
        the result belongs to no key. A remote worker has compared its code with the key itself.
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
        """Raise ChangedError where the discovered inputs have changed since the run read them."""
        if action.user_reads.roots and not is_same(
            action, outcome, Discovered(consumed.document["reads"], consumed.files)
        ):
            raise ChangedError

    def _compute_source_key(self, action: Action) -> SourceKey | None:
        digests: dict[str, str] = {}
        files: dict[Path, FileState] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product):
                producer_key = self.source_key(value.action)
                if producer_key is None:
                    return None
                digests[role] = _product_key(value, producer_key.key)
                files |= producer_key.files
            else:
                trees = {role: self.local(value) or {}}
                digests |= digests_of(trees)
                files |= files_of(trees)
        document = self.keys.document(action, digests)
        if action.user_reads.roots:
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

    def _source_key_of_run(
        self, action: Action, results: Mapping[str, ActionResult], computed: dict[str, str]
    ) -> str:
        consumed = self._consumed[action.task]
        if consumed.source_key:
            return consumed.source_key
        if action.task not in computed:
            inputs = dict(consumed.document["inputs"])
            for role, value in action.inputs.items():
                if isinstance(value, Product):
                    inputs[role] = _product_key(
                        value, self._source_key_of_run(value.action, results, computed)
                    )
            if action.user_reads.roots:
                declared = canonical.key({**consumed.declared, "inputs": inputs, **SOURCES})
                reads, key = sorted(consumed.document["reads"]), canonical.key(consumed.document)
                self._cache.record_reads(declared, reads, key, results[action.task].provenance)
            computed[action.task] = canonical.key(
                {**consumed.document, "inputs": inputs, **SOURCES}
            )
        return computed[action.task]

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
    """An action and all its producers, direct and transitive."""
    actions = {action.task: action}
    todo = [action]
    while todo:
        for producer in todo.pop().producers:
            if producer.task not in actions:
                actions[producer.task] = producer
                todo.append(producer)
    return [*actions.values()]


def digests_of(trees: Mapping[str, Tree]) -> dict[str, str]:
    """The digest of each input."""
    digests = {}
    for role, tree in trees.items():
        digests[role] = (
            tree_digest({inside: item.sha256 for inside, item in tree.items()})
            if role.endswith("/")
            else tree[""].sha256
        )
    return digests


def files_of(trees: Mapping[str, Tree]) -> dict[Path, FileState]:
    """The states of the user files in trees."""
    items = (item for tree in trees.values() for item in tree.values())
    return {
        item.local: item.state
        for item in items
        if item.local is not None and item.state is not None
    }


def per_file_keys(
    document: Mapping[str, Any], per_file: PerFile, rest: Mapping[str, Tree], items: Tree
) -> dict[str, str]:
    """The keys of the files of a folder, by name."""
    return {
        name: canonical.key(
            {**document, "inputs": digests_of(rest) | {per_file.source: item.sha256}}
        )
        for name, item in items.items()
    }


def _product_key(value: Product, key: str) -> str:
    """Replaces the digest of a product in a source key, given the source key of its producer."""
    return canonical.key({"origin": key, "path": value.path, "pattern": value.pattern})
