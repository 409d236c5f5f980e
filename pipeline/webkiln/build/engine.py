"""The build engine: skips actions that are up to date, takes cached results, executes the rest."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from threading import Lock, RLock
from typing import Any, Self

from webkiln import canonical
from webkiln.build.action import BUILT, Action, ActionResult, Each, Folder, Input, Local, Modules, Product, joint
from webkiln.build.cache import ActionCache, cache_folder
from webkiln.build.claims import Claims
from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests, Seen
from webkiln.build.discovered import Discovered, discovered, is_same, names_of, packages_of, path_of, scripts_of
from webkiln.build.executor import Executor, Job, LocalPool, Outcome, Watch
from webkiln.build.fleet.fleet import Foreseen
from webkiln.build.fleet.fleet import of_environment as fleet_of_environment
from webkiln.build.keys import Keys, tree_digest
from webkiln.build.observer import library
from webkiln.build.outputs import expected, single
from webkiln.build.progress import Progress, Silent, warn
from webkiln.build.publish import Publisher
from webkiln.build.reads import ChangedError, stamp
from webkiln.build.remote.shared import of_environment
from webkiln.build.remote.signing import of_environment as key_of_environment
from webkiln.build.sandbox import InputFile, MissingInput, Tree, collect, lay_out, outputs_in, sandbox
from webkiln.build.settled import SETTLED, Settled
from webkiln.build.share import Share, share
from webkiln.build.state import TreeState
from webkiln.build.tools import Toolchain
from webkiln.errors import OutputError, RecipeError, ToolError, UnsupportedError, UserError, VerificationError, WebkilnError

ATTEMPTS = 4
OWN_FAULTS = (OutputError, RecipeError, UnsupportedError, VerificationError)
"""Errors that no damaged input causes."""
ORIGIN = {"of": "webkiln.origin/2"}
"""What tells keys by origins from those by inputs."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The key of an action by all that leads to it, and the files of the user's among that, as they were seen."""

    key: str
    files: Mapping[Path, Seen]


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a result that this session knows was made from: files of the user's, and the key document; `declared` lacks what the run discovered.

    A result that was found by its `origin` has no documents.
    """

    files: Mapping[Path, Seen]
    document: Mapping[str, Any] = field(default_factory=dict)
    declared: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ""


class Engine:
    """One build session: inputs are looked at once, and every action has one result.

    `state` is the folder for manifests (`.webkiln`), `cache` the folder shared between trees.
    """

    def __init__(
        self,
        state: Path,
        *,
        cache: Path | None = None,
        shared: Share | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.share = shared or share()
        self.state = TreeState(state.absolute())
        self.cache = ActionCache(cache or cache_folder(), of_environment(), key_of_environment())
        self.cache.check()
        self.progress = progress or Silent()
        self._executor = executor
        self._owns_executor = executor is None
        self._digests = FileDigests(self.state.root / "digests.json")
        self._derived = Derived(self.cache.root / "derived.json")
        self.fleet = fleet_of_environment(self.cache.store, self.cache.shared)
        self._toolchain = Toolchain(self.share.root, self._derived, installed=self.share.installed, fleet=self.fleet is not None)
        self._keys = self._fresh_keys()
        self._publisher = Publisher(self.cache.store, self._digests, self.cache.root / "published")
        self._known: dict[str, ActionResult] = {}
        self._origins: dict[str, Origin | None] = {}
        self._missed: set[str] = set()
        self._consumed: dict[str, Consumed] = {}
        self._seen: dict[str, Sequence[str]] = {}
        self._suspects: set[str] = set()
        self._locks: dict[str, RLock] = {}
        self._claims = Claims()
        self._lock = Lock()
        self._cached_only = False
        self._seconds: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._executor is not None and self._owns_executor:
            self._executor.close()
        if self.fleet is not None:
            self.fleet.close()
        with suppress(OutputError):  # what is not remembered is digested again
            self._digests.save()
            self._derived.save()
            if "settled" in self.__dict__:
                self.settled.save()
            if self._seconds:
                self.state.save_durations(self._seconds)
        if (shared := self.cache.shared) is not None:
            if shared.busy:
                self.progress.start(shared.place)
            shared.close(lambda text: self.progress.tell(shared.place, text))
        self.progress.close()

    def run(self, action: Action) -> ActionResult:
        """The result of an action, whose producers are run first where needed."""
        with self._lock:
            lock = self._locks.setdefault(action.task, RLock())
        with lock:
            result = self.current(action) or self._obtain(action)
            self._known[action.task] = result
            return result

    def renew(self, action: Action) -> ActionResult:
        """Execute an action whatever the cache has, which then has the new result."""
        result = self._known[action.task] = self._by_steps(action, anew=True)
        return result

    def data(self, result: ActionResult, path: str) -> bytes:
        """The bytes of one output of a result."""
        return self.cache.store.file(result.outputs[path]).read_bytes()

    def current(self, action: Action) -> ActionResult | None:
        """The result of an action if it is up to date; executes nothing and changes nothing."""
        if action.task in self._known:
            return self._known[action.task]
        manifest = self.state.manifest(action.task)
        if manifest is None or not self.cache.trusts(manifest.result.provenance):
            return None
        if not all(map(self.cache.store.has, manifest.result.outputs.values())):
            return None
        origin = self._origin(action) if manifest.origin is not None else None
        if origin is not None and manifest.origin == origin.key:
            self._consumed[action.task] = Consumed(origin.files, origin=origin.key)
            self._known[action.task] = manifest.result
            return manifest.result
        inputs = {role: self._tree(value, self.current) for role, value in action.inputs.items()}
        if any(tree is None for tree in inputs.values()):
            return None
        trees = {role: tree for role, tree in inputs.items() if tree is not None}
        for actual in (False, True):
            try:
                consumed = self._consumption(action, trees, manifest.reads, actual=actual)
            except ToolError:
                return None
            if canonical.key(consumed.document) == manifest.key:
                self._consumed[action.task] = consumed
                self._known[action.task] = manifest.result
                return manifest.result
        return None

    def document(self, action: Action) -> dict[str, Any] | None:
        """The key document that the action has now, or None while an input of it is not built."""
        inputs = {role: self._tree(value, self.current) for role, value in action.inputs.items()}
        if any(tree is None for tree in inputs.values()):
            return None
        manifest = self.state.manifest(action.task)
        trees = {role: tree for role, tree in inputs.items() if tree is not None}
        return dict(self._consumption(action, trees, manifest.reads if manifest is not None else ()).document)

    def _consumption(self, action: Action, trees: Mapping[str, Tree], reads: Sequence[str], *, actual: bool = False) -> Consumed:
        """What a run consumes that has these inputs and reads these files besides."""
        digests, files = _digests(trees), _files(trees)
        declared = self._keys.document(action, digests, actual=actual)
        if not action.roots:
            return Consumed(files, declared, declared)
        found = discovered(action, reads, self._digests)
        document = self._keys.document(action, digests, actual=actual, scripts=scripts_of(action, reads), packages=packages_of(reads))
        document["reads"] = found.digests
        return Consumed({**files, **found.files}, document, declared)

    def published(self, action: Action, role: str, folder: Path) -> bool:
        """Whether `folder` holds an up-to-date action's output `role`, unchanged."""
        result = self.current(action)
        return result is not None and self._publisher.intact(result, role, folder)

    @cached_property
    def settled(self) -> Settled:
        """Which bundles of this tree need nothing."""
        signer = self.cache.signer
        return Settled(self.state.root / SETTLED, self.share, self._digests, signer.key_id if signer is not None else "")

    def settle(self, action: Action, role: str, folder: Path, facts: str) -> None:
        """Note that an action is up to date and published, where files alone tell whether it still is: not where code of the user's runs."""
        result = self.current(action)
        if result is not None and not any(each.roots for each in _behind(action)):
            made_of = {path: seen.sha256 for path, seen in self._files_behind(action)}
            self.settled.note(action.task, facts, made_of | self._publisher.places(result, role, folder))

    def files(self, action: Action) -> frozenset[Path]:
        """The files of the user's that an up-to-date action's result depends on, those that its run found too."""
        found: set[Path] = set()
        for each in _behind(action):
            manifest = self.state.manifest(each.task)
            names = self._seen.get(each.task, manifest.reads if manifest is not None else ())
            reads = (path_of(each, name) for name in names)
            found |= {path for path in reads if path is not None and path.is_file()}
            for value in each.inputs.values():
                match value:
                    case Local(path):
                        found.add(path)
                    case Folder(files):
                        found |= {path for _, path in files}
                    case Modules():
                        found |= set(self._keys.modules(value).values())
        return frozenset(found)

    def reserve(self, folder: Path) -> AbstractContextManager[None]:
        """Keep an output folder for this build, from its checks to its last file; another build waits."""
        return self._publisher.reserve(folder, warn)

    def check_folder(self, folder: Path, names: Iterable[str], *, force: bool = False) -> None:
        """OutputError where files of these names could not be published into `folder`; asked before anything is built for it."""
        self._publisher.check(folder, names, force=force)

    def publish(self, action: Action, role: str, folder: Path, *, whole: bool = True, force: bool = False) -> None:
        """Write an output into `folder`; `whole`: what an earlier build put there goes. `force` overwrites what no build wrote."""
        with self.reserve(folder):
            for _ in range(ATTEMPTS):
                if self._publisher.publish(self.run(action), role, folder, whole=whole, force=force):
                    return
                self._again(action)
        raise ToolError(f"{self.cache.root}: blobs of {action.task} are damaged as soon as they are written; check the disk")

    def clean(self, action: Action, folder: Path | None) -> list[str]:
        """Forget an action's result, and delete what was published of it, but for what has changed since, which is returned; the cache keeps its
        bytes."""
        self._known.pop(action.task, None)
        self.state.forget(action.task)
        return [] if folder is None else self._publisher.remove(folder)

    def restore(self, action: Action) -> bool:
        """Whether a final result is known by what all steps to it consume, here or in the remote cache. None of them is looked at."""
        try:
            origin = self._origin(action)
        except UserError:
            return False  # told where the step runs
        if origin is None:
            return False
        found = self._cached(action, origin.key)
        if found is None:
            self._missed.add(origin.key)
            return False
        manifest = self.state.manifest(action.task)
        if manifest is None or manifest.result.outputs != found.outputs:
            self._hit(action, found)
            self.state.save(action.task, {"origin": origin.key}, found)
        self._consumed[action.task] = Consumed(origin.files, origin=origin.key)
        self._known[action.task] = found
        return True

    def available(self, action: Action) -> bool:
        """Whether an action's result can be had without executing anything."""
        told, self.progress, self._cached_only = self.progress, Silent(), True
        try:
            self.run(action)
        except (_NotCached, UserError):
            self._origins.clear()
            return False
        finally:
            self.progress, self._cached_only = told, False
        return True

    def _obtain(self, action: Action) -> ActionResult:
        self.cache.register(self.state.root)
        origin = self._origin(action) if action.final else None
        if origin is not None and origin.key not in self._missed and (found := self._cached(action, origin.key)) is not None:
            self._hit(action, found)
            self.state.save(action.task, {"origin": origin.key}, found)
            self._consumed[action.task] = Consumed(origin.files, origin=origin.key)
            return found
        result = self._by_steps(action)
        if action.final:
            known = [found for each in _behind(action) if (found := self._known.get(each.task)) is not None]
            provenance = joint(each.provenance for each in (result, *known))
            self.cache.put(self._made_from(action, {}), replace(result, provenance=provenance))
        return result

    def _made_from(self, action: Action, found: dict[str, str]) -> str:
        """The key by its origin of a result that this session knows: of what its steps consumed, whatever the files are now."""
        consumed = self._consumed[action.task]
        if consumed.origin:
            return consumed.origin
        if action.task not in found:
            inputs = dict(consumed.document["inputs"])
            for role, value in action.inputs.items():
                if isinstance(value, Product):
                    inputs[role] = _by_origin(value, self._made_from(value.action, found))
            if action.roots:
                declared = canonical.key({**consumed.declared, "inputs": inputs, **ORIGIN})
                result = self._known[action.task]
                self.cache.note_reads(declared, sorted(consumed.document["reads"]), canonical.key(consumed.document), result.provenance)
            found[action.task] = canonical.key({**consumed.document, "inputs": inputs, **ORIGIN})
        return found[action.task]

    def _cached(self, action: Action, key: str) -> ActionResult | None:
        return self.cache.get(key, expected(action), built=action.task in self._suspects)

    def _origin(self, action: Action) -> Origin | None:
        """The key of an action by the files, parameters, code and tools of all that leads to it; None where it is not known what a step on the way reads."""
        if action.task not in self._origins:
            self._origins[action.task] = self._find_origin(action)
        return self._origins[action.task]

    def _find_origin(self, action: Action) -> Origin | None:
        digests: dict[str, str] = {}
        files: dict[Path, Seen] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product):
                origin = self._origin(value.action)
                if origin is None:
                    return None
                digests[role] = _by_origin(value, origin.key)
                files |= origin.files
            else:
                trees = {role: self._required(value)}
                digests |= _digests(trees)
                files |= _files(trees)
        document = self._keys.document(action, digests)
        if action.roots:
            known = self.cache.reads(canonical.key(document | ORIGIN))
            if not known:
                return None
            reads = self._seen[action.task] = known[0]
            found = discovered(action, reads, self._digests)
            document = self._keys.document(action, digests, scripts=scripts_of(action, reads), packages=packages_of(reads))
            document["reads"] = found.digests
            files |= found.files
        return Origin(canonical.key(document | ORIGIN), files)

    def _by_steps(self, action: Action, *, anew: bool = False) -> ActionResult:
        failed: WebkilnError | None = None
        for _ in range(ATTEMPTS):
            try:
                trees = self._trees(action)
            except WebkilnError:
                if failed is None:
                    raise
                raise failed from None
            try:
                self._check_one_state(action, trees)
                result = self._obtain_once(action, trees, anew=anew)
            except MissingInput as missing:
                for producer in missing.producers:
                    self._again(producer)
            except ChangedError:
                self._keys = self._fresh_keys()
                self._origins.clear()
            except WebkilnError as error:
                if failed is not None or isinstance(error, OWN_FAULTS):
                    raise
                if not self._suspect(action) and _digests(self._trees(action)) == _digests(trees):
                    raise
                failed = error
            else:
                if failed is not None and self.cache.shared is not None:
                    self.cache.shared.blame(action.task)
                return result
        raise failed or ToolError(f"{action.task}: its inputs change while it runs, or its cache {self.cache.root} loses what is written")

    def _trees(self, action: Action) -> dict[str, Tree]:
        """The inputs of an action. Producers run first where needed.

        Making one input can show that another, already taken, is suspect; all are then taken again.
        """
        while True:
            suspects = len(self._suspects)
            trees = {role: self._required(value) for role, value in action.inputs.items()}
            if len(self._suspects) == suspects:
                return trees

    def _suspect(self, action: Action) -> bool:
        """Have the next attempt build here what a remote cache gave for the inputs of an action; False where no unsigned result is among them."""
        behind = [each.task for each in _behind(action) if each is not action]
        known = {task: result for task in behind if (result := self._known.get(task)) is not None}
        foreign = {task for task, result in known.items() if result.provenance not in BUILT} - self._suspects
        if not foreign or self.cache.signer is not None:
            return False
        self._suspects |= foreign
        for task in known:
            self._known.pop(task, None)
            self.state.forget(task)
        return True

    def _obtain_once(self, action: Action, trees: Mapping[str, Tree], *, anew: bool) -> ActionResult:
        if action.each is not None:
            consumed, result = self._obtain_each(action, action.each, trees)
        else:
            consumed, result = self._obtain_whole(action, trees, anew=anew)
        self._consumed[action.task] = consumed
        self.state.save(action.task, consumed.document, result)
        return result

    def _obtain_whole(self, action: Action, trees: Mapping[str, Tree], *, anew: bool) -> tuple[Consumed, ActionResult]:
        digests = _digests(trees)
        for actual in (False, True):
            declared = self._keys.document(action, digests, actual=actual)
            for reads in () if anew else self.cache.reads(canonical.key(declared)) if action.roots else [()]:
                consumed = self._consumption(action, trees, reads, actual=actual)
                found = self._cached(action, canonical.key(consumed.document))
                if found is not None:
                    self._hit(action, found)
                    return consumed, found
        result, outcome = self._execute(action, trees)
        reads = names_of(action, outcome)
        consumed = self._consumption(action, trees, reads, actual=True)
        consumed = replace(consumed, document=_by(outcome, consumed.document), declared=_by(outcome, consumed.declared))
        self._check_unmoved(action, trees, declared)
        if action.roots and not is_same(action, outcome, Discovered(consumed.document["reads"], consumed.files)):
            raise ChangedError
        key = canonical.key(consumed.document)
        self.cache.put(key, result, anew=anew)
        if action.roots:
            self.cache.note_reads(canonical.key(declared), reads, key)
        return consumed, result

    def _obtain_each(self, action: Action, each: Each, trees: Mapping[str, Tree]) -> tuple[Consumed, ActionResult]:
        """Take each file's result from the cache, execute the missing ones together, and cache each on its own."""
        rest = {role: tree for role, tree in trees.items() if role != each.source}
        names = {inside: item.sha256 + PurePosixPath(inside).suffix for inside, item in trees[each.source].items()}
        items = {names[inside]: item for inside, item in trees[each.source].items()}
        for actual in (False, True):
            document = self._keys.document(action, _digests(trees), actual=actual)
            keys = _keys_of_each(document, each, rest, items)
            one, built = single(each.result), action.task in self._suspects
            parts = {name: found for name in names.values() if (found := self.cache.get(keys[name], one, built=built))}
            if len(parts) == len(items):
                self._hit(action, ActionResult({}))
                break
        else:
            while missing := {keys[name]: name for name in items if name not in parts}:
                claimed = self._claims.claim(missing)
                try:
                    if mine := {missing[key]: items[missing[key]] for key in claimed}:
                        made, document = self._make_each(action, each, trees, rest, mine, document)
                        parts |= made
                finally:
                    self._claims.release(claimed)
                # What another step makes of the same file need not be made twice.
                self._claims.wait(missing.keys() - claimed)
                parts |= {missing[key]: found for key in missing.keys() - claimed if (found := self.cache.get(key, one, built=built))}
        outputs = {
            each.result + PurePosixPath(inside).with_suffix(each.suffix).as_posix(): parts[name].outputs[each.result]
            for inside, name in names.items()
        }
        return Consumed(_files(trees), document, document), ActionResult(
            outputs, provenance=joint(part.provenance for part in parts.values())
        )

    def _make_each(
        self, action: Action, each: Each, trees: Mapping[str, Tree], rest: Mapping[str, Tree], items: Tree, document: Mapping[str, Any]
    ) -> tuple[dict[str, ActionResult], dict[str, Any]]:
        """The results of some files, by their names, which are then in the cache; and the document with the tools that made them."""
        made, outcome = self._execute(action, {**rest, each.source: items}, sorted(items))
        self._check_unmoved(action, trees, document)
        document = _by(outcome, document)
        keys, parts = _keys_of_each(document, each, rest, items), {}
        for name in items:
            object_ = made.outputs[each.result + PurePosixPath(name).stem + each.suffix]
            parts[name] = replace(made, outputs={each.result: object_}, printed="")
            self.cache.put(keys[name], parts[name])
        return parts, document

    def _hit(self, action: Action, result: ActionResult) -> None:
        self.state.log(action.task, "hit", stage=action.stage)
        self.progress.hit(action.task, result.printed)

    def _execute(self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str] = ()) -> tuple[ActionResult, Outcome]:
        if self._cached_only:
            raise _NotCached
        asked = self.fleet is not None and self.fleet.takes(action)
        made = self._by_fleet(action, trees, objects) if asked else None
        if made is not None:
            return made
        with sandbox(self.cache.sandboxes) as folder:
            inputs = lay_out(self.cache.store, folder / "in", trees)
            outputs = outputs_in(folder / "out", action.outputs)
            stage, code = self.share.stage(action.stage), self._keys.code(action)
            with self._telling(action, objects, again=asked):
                watch = self._watch(action, folder)
                tell = partial(self.progress.tell, action.task)
                outcome = self.executor.execute(Job(action.task, stage, inputs, outputs, action.params, code, action.timeout, watch, tell))
                result = ActionResult(collect(self.cache.store, folder / "out", action.outputs, action.task), outcome.printed)
        for program in outcome.unseen:
            warn(f"{action.task}: {program} is run, and what it reads is not seen; list that as reads = [...] in the recipe (--reads)")
        if self.fleet is not None:
            self.fleet.settle(action, result)
        self.progress.done(action.task, result.printed)
        return result, outcome

    def _by_fleet(self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str]) -> tuple[ActionResult, Outcome] | None:
        """What another machine makes of it; None where it has to run here."""
        assert self.fleet is not None
        documents = [self._keys.document(action, _digests(trees), actual=actual) for actual in (False, True)]
        with self._telling(action, objects):
            made = self.fleet.perform(action, trees, documents, partial(self.progress.tell, action.task), self._foreseen)
        if made is None:
            return None
        result, tools = made
        self.progress.done(action.task, result.printed)
        return result, Outcome(result.printed, tools=tools)

    def _foreseen(self, action: Action, before: Collection[str]) -> Foreseen | None:
        """What is known of an action before these tasks have run; None where it needs others, too, or where its result may be known."""
        if action.each is not None or action.task in self._known or self.state.manifest(action.task) is not None:
            return None
        trees: dict[str, Tree] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product) and value.action.task in before:
                continue
            tree = self._tree(value, lambda producer: self._known.get(producer.task))
            if tree is None:
                return None
            trees[role] = tree
        return Foreseen(action, trees, [self._keys.document(action, {}, actual=actual) for actual in (False, True)])

    @contextmanager
    def _telling(self, action: Action, objects: Sequence[str], *, again: bool = False) -> Iterator[None]:
        """Log an execution, show it, and keep how long it took; `again` one that the fleet was asked for in vain."""
        if not again:
            self.state.log(action.task, "execute", stage=action.stage, objects=list(objects))
            self.progress.start(action.task)
        begun = time.monotonic()
        try:
            yield
        except BaseException as error:
            self.progress.fail(action.task)
            if isinstance(error, UserError) and action.source:
                error.args = (re.sub(r"^source\b", lambda _: action.source, str(error)),)
            raise
        self._seconds[action.task] = round(time.monotonic() - begun, 3)

    def _watch(self, action: Action, folder: Path) -> Watch | None:
        if not action.roots:
            return None
        own = (self.share.package.parent, *(self.share.root / name for name in ("stages", "kernels", "runtime")), folder)
        (folder / "tmp").mkdir()
        return Watch(action.roots, own, folder / "tmp", self._observer)

    @cached_property
    def _observer(self) -> Path | None:
        return library(self.cache.root)

    def expect(self, actions: Iterable[Action]) -> None:
        """Say which actions are to come, for the progress display and the fleet."""
        seconds, actions = self.state.durations(), [*actions]
        self.progress.expect({action.task: seconds.get(action.task) for action in actions})
        if self.fleet is not None:
            self.fleet.expect(actions)

    @property
    def executor(self) -> Executor:
        with self._lock:
            if self._executor is None:
                self._executor = LocalPool(self.share.package.parent, homes=self.cache.sandboxes)
            return self._executor

    def _check_unmoved(self, action: Action, trees: Mapping[str, Tree], document: Mapping[str, Any]) -> None:
        """A result made while its code or its local inputs changed belongs to no key."""
        for tree in trees.values():
            for item in tree.values():
                if item.local is not None and item.seen is not None and stamp(str(item.local)) != item.seen.stamp:
                    raise ChangedError
        if self._fresh_keys().code(action) != document["code"]:
            raise ChangedError

    def _files_behind(self, action: Action) -> Iterator[tuple[Path, Seen]]:
        """The files of the user's that this session consumed for what leads to an action, once for each step that did."""
        for each in _behind(action):
            if each.task in self._consumed:
                yield from self._consumed[each.task].files.items()

    def _check_one_state(self, action: Action, trees: Mapping[str, Tree]) -> None:
        """RecipeError where steps consumed files of the user's that may never have been there at one time, since some changed in between."""
        if not action.final:
            return
        seen = [*self._files_behind(action), *_files(trees).items()]
        begun = min((file.time for _, file in seen), default=0.0)
        if all(file.changed < begun for _, file in seen):
            return
        for path, file in seen:
            if stamp(str(path)) != file.stamp:
                raise RecipeError(f"{path}: changed while this build ran; build again")

    def _again(self, producer: Action) -> None:
        """Make a result again whose blobs are gone: without them its manifest and its cache entry are misses."""
        self._known.pop(producer.task, None)
        self.run(producer)

    def _required(self, value: Input) -> Tree:
        tree = self._tree(value, self.run)
        assert tree is not None
        return tree

    def _tree(self, value: Input, obtain: Callable[[Action], ActionResult | None]) -> Tree | None:
        if isinstance(value, Local):
            return {"": self._local(value.path)}
        if isinstance(value, Folder):
            return {name: self._local(path) for name, path in value.files}
        if isinstance(value, Modules):
            return {name: self._local(path) for name, path in self._keys.modules(value).items()}
        result = obtain(value.action)
        if result is None:
            return None
        if not value.path.endswith("/"):
            blob = result.outputs[value.path]
            return {"": InputFile(blob.sha256, blob, value.action)}
        return {
            path.removeprefix(value.path): InputFile(blob.sha256, blob, value.action)
            for path, blob in result.outputs.items()
            if path.startswith(value.path) and fnmatchcase(path.removeprefix(value.path), value.pattern)
        }

    def _local(self, path: Path) -> InputFile:
        try:
            seen = self._digests.look(path)
            return InputFile(seen.sha256, local=path, seen=seen)
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error

    def _fresh_keys(self) -> Keys:
        return Keys(self.share, Closures(self.share, self._digests, self._derived), self._toolchain)


class _NotCached(Exception):
    """Raised where only cached results are wanted and there is none."""


def _behind(action: Action) -> list[Action]:
    """An action and all that leads to it."""
    found = {action.task: action}
    todo = [action]
    while todo:
        for producer in todo.pop().producers:
            if producer.task not in found:
                found[producer.task] = producer
                todo.append(producer)
    return [*found.values()]


def _by(outcome: Outcome, document: Mapping[str, Any]) -> dict[str, Any]:
    """The key document of a result, with the tools of the machine that made it."""
    return {**document} if outcome.tools is None else {**document, "tools": dict(outcome.tools)}


def _by_origin(value: Product, origin: str) -> str:
    """What stands for a product in a key by origins, where its action has this one."""
    return canonical.key({"origin": origin, "path": value.path, "pattern": value.pattern})


def _files(trees: Mapping[str, Tree]) -> dict[Path, Seen]:
    """The files of the user's in trees."""
    items = (item for tree in trees.values() for item in tree.values())
    return {item.local: item.seen for item in items if item.local is not None and item.seen is not None}


def _keys_of_each(document: Mapping[str, Any], each: Each, rest: Mapping[str, Tree], items: Tree) -> dict[str, str]:
    """The key of each file of a folder, by its name."""
    return {name: canonical.key({**document, "inputs": _digests(rest) | {each.source: item.sha256}}) for name, item in items.items()}


def _digests(trees: Mapping[str, Tree]) -> dict[str, str]:
    found = {}
    for role, tree in trees.items():
        found[role] = tree_digest({inside: item.sha256 for inside, item in tree.items()}) if role.endswith("/") else tree[""].sha256
    return found
