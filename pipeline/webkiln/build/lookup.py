"""Finds results of actions without executing anything.

Four checks answer "is this up to date?"; each is explained in the module that owns it. This module
compares keys and, before them, source keys.

* The *key* of an action digests its stage, parameters, code, tools, environment and the digests of
  its inputs (`keys.py`). The manifest of a task in `.webkiln/` records the key that its last result
  belongs to. If the key that the tree has now is the same and the blobs exist, the result is up to
  date. Else the action cache is queried by that key. Keys of products digest their bytes, so an
  action whose inputs were rebuilt with equal bytes is up to date (early cut-off).
* The *source key* replaces the digests of products by the source keys of their producers
  (`consumption.py`). It finds the result of a final action without its intermediate steps.
* *Discovered inputs* are those that user code read in its last run (`discovered_inputs.py`). They
  complete the key of such an action.
* *Stamps* prove that nothing changed since a bundle was found to be up to date, without computing
  any key (`stamps.py`).
"""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from webkiln import canonical
from webkiln.build.action import Action, ActionResult, Input, PerFile, Product
from webkiln.build.cache import ActionCache
from webkiln.build.consumption import Consumed, Consumption, SourceKey, digests_of, per_file_keys
from webkiln.build.outputs import expected, single
from webkiln.build.per_file import FileResults
from webkiln.build.sandbox import InputFile, Tree
from webkiln.build.state import TreeState
from webkiln.errors import ToolError

Obtain = Callable[[Action], ActionResult | None]
"""The result of a producer; None where it has none."""


class Lookup:
    """The results of one session.

    `known`: the results of tasks that this session found or executed. `suspects`: tasks whose
    results from a remote cache may be wrong, so that only results built here count for them.
    """

    def __init__(self, state: TreeState, cache: ActionCache, consumption: Consumption) -> None:
        self._state = state
        self._cache = cache
        self._consumption = consumption
        self._predicted: dict[str, ActionResult | None] = {}
        self.known: dict[str, ActionResult] = {}
        self.suspects: set[str] = set()

    def current(self, action: Action) -> ActionResult | None:
        """The result of an action if it is up to date. Executes nothing and changes nothing."""
        if action.task in self.known:
            return self.known[action.task]
        manifest = self._state.manifest(action.task)
        if manifest is None or not self._cache.trusts(manifest.result.provenance):
            return None
        if not all(map(self._cache.store.has, manifest.result.outputs.values())):
            return None
        source = self._consumption.source_key(action) if manifest.source_key is not None else None
        if source is not None and manifest.source_key == source.key:
            return self.adopt(source, action, manifest.result)
        trees = self.trees(action, self.current)
        if trees is None:
            return None
        for actual in (False, True):
            try:
                consumed = self._consumption.of(action, trees, manifest.reads, actual=actual)
            except ToolError:
                return None
            if canonical.key(consumed.document) == manifest.key:
                self._consumption.record(action, consumed)
                self.known[action.task] = manifest.result
                return manifest.result
        return None

    def predict(self, action: Action) -> ActionResult | None:
        """The result that a build would get for an action without executing anything: it is up to
        date, or a cache has it. Changes nothing in the tree.
        """
        if action.task not in self._predicted:
            self._predicted[action.task] = self.current(action) or self._predict(action)
        return self._predicted[action.task]

    def _predict(self, action: Action) -> ActionResult | None:
        source = self._consumption.source_key(action) if action.final else None
        if source is not None and (cached := self.cached(action, source.key)) is not None:
            return cached
        trees = self.trees(action, self.predict)
        if trees is None:
            return None
        if action.per_file is not None:
            results = self.find_per_file(action, action.per_file, trees)
            return None if results.missing else results.combined()
        match = self.find(action, trees)
        return None if match is None else match[1]

    def consumed(self, action: Action) -> Consumed | None:
        """What a run of the action would consume now; None while one of its inputs is not built."""
        trees = self.trees(action, self.current)
        if trees is None:
            return None
        manifest = self._state.manifest(action.task)
        return self._consumption.of(action, trees, manifest.reads if manifest is not None else ())

    def adopt(self, source: SourceKey, action: Action, result: ActionResult) -> ActionResult:
        """Use a result that was found by its source key."""
        self._consumption.record(action, Consumed(source.files, source_key=source.key))
        self.known[action.task] = result
        return result

    def cached(self, action: Action, key: str) -> ActionResult | None:
        """The entry that the caches have for a key."""
        return self._cache.get(key, expected(action), built_only=action.task in self.suspects)

    def cached_file(self, action: Action, per_file: PerFile, key: str) -> ActionResult | None:
        """The entry of one file of an action that is cached file by file."""
        return self._cache.get(
            key, single(per_file.result), built_only=action.task in self.suspects
        )

    def find(
        self, action: Action, trees: Mapping[str, Tree]
    ) -> tuple[Consumed, ActionResult] | None:
        """What the caches have for an action with these inputs."""
        digests = digests_of(trees)
        for actual in self._toolchains(action):
            declared = self._consumption.keys.document(action, digests, actual=actual)
            for reads in (
                self._cache.reads(canonical.key(declared)) if action.user_reads.roots else [()]
            ):
                consumed = self._consumption.of(action, trees, reads, actual=actual)
                cached = self.cached(action, canonical.key(consumed.document))
                if cached is not None:
                    return consumed, cached
        return None

    def find_per_file(
        self, action: Action, per_file: PerFile, trees: Mapping[str, Tree]
    ) -> FileResults:
        """What the caches have for an action that is cached file by file."""
        rest = {role: tree for role, tree in trees.items() if role != per_file.source}
        names = {
            inside: item.sha256 + PurePosixPath(inside).suffix
            for inside, item in trees[per_file.source].items()
        }
        items = {names[inside]: item for inside, item in trees[per_file.source].items()}
        for actual in self._toolchains(action):
            document = self._consumption.keys.document(action, digests_of(trees), actual=actual)
            keys = per_file_keys(document, per_file, rest, items)
            results = {
                name: result
                for name in names.values()
                if (result := self.cached_file(action, per_file, keys[name])) is not None
            }
            files = FileResults(per_file, document, names, items, results)
            if not files.missing:
                break
        return files

    def _toolchains(self, action: Action) -> Iterator[bool]:
        """Whether to look up results of the actual tools: False first, for the locked tools, which
        need not be installed; then True, if the tools of this machine differ.
        """
        yield False
        locked, actual = (
            self._consumption.keys.document(action, {}, actual=actual)["tools"]
            for actual in (False, True)
        )
        if locked != actual:
            yield True

    def trees(self, action: Action, obtain: Obtain) -> dict[str, Tree] | None:
        """The inputs of an action; None where the producer of one has no result."""
        inputs = {role: self.tree(value, obtain) for role, value in action.inputs.items()}
        trees = {role: tree for role, tree in inputs.items() if tree is not None}
        return trees if len(trees) == len(inputs) else None

    def tree(self, value: Input, obtain: Obtain) -> Tree | None:
        """The files of one input; None where its producer has no result."""
        if not isinstance(value, Product):
            return self._consumption.local(value)
        result = obtain(value.action)
        if result is None:
            return None
        if not value.path.endswith("/"):
            blob = result.outputs[value.path]
            return {"": InputFile(blob.sha256, blob, value.action)}
        return {
            path.removeprefix(value.path): InputFile(blob.sha256, blob, value.action)
            for path, blob in result.outputs.items()
            if path.startswith(value.path)
            and fnmatchcase(path.removeprefix(value.path), value.pattern)
        }
