"""The build engine: skips actions that are up to date, takes cached results, executes the rest."""

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from threading import Lock, RLock
from typing import Self

from webkiln import canonical
from webkiln.build.action import (
    BUILT,
    Action,
    ActionResult,
    Each,
    Folder,
    Input,
    Local,
    Modules,
    Product,
    joint,
)
from webkiln.build.cache import ActionCache, cache_folder, is_read_only
from webkiln.build.consumption import (
    Consumed,
    Consumption,
    SourceKey,
    behind,
    digests_of,
    keys_of_each,
)
from webkiln.build.derived import Derived
from webkiln.build.digests import DIGESTS, FileDigests
from webkiln.build.discovered_inputs import names_of, path_of
from webkiln.build.executor import Executor, Job, LocalPool, Outcome, Watch
from webkiln.build.fleet.fleet import Planned
from webkiln.build.fleet.fleet import of_environment as fleet_of_environment
from webkiln.build.observer import library
from webkiln.build.outputs import expected, single
from webkiln.build.per_file import Parts
from webkiln.build.progress import Progress, Silent, warn
from webkiln.build.publish import Publisher
from webkiln.build.reads import ChangedError
from webkiln.build.remote.shared import of_environment
from webkiln.build.remote.signing import of_environment as key_of_environment
from webkiln.build.sandbox import (
    InputFile,
    MissingInput,
    Tree,
    collect,
    lay_out,
    outputs_in,
    sandbox,
)
from webkiln.build.share import Share, share
from webkiln.build.single_flight import Claims
from webkiln.build.stamps import Stamps, stamps_of
from webkiln.build.state import TreeState
from webkiln.build.timeline import Timeline
from webkiln.build.tools import Toolchain
from webkiln.build.why import FIRST, GONE, reasons, shortened
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


class Engine:
    """One build session: inputs are looked at once, and every action has one result.

    `state` is the folder for manifests (`.webkiln`), `cache` the folder shared between trees.
    `stamps`: what was noted of the tree, if it was read before.
    """

    def __init__(
        self,
        state: Path,
        *,
        cache: Path | None = None,
        shared: Share | None = None,
        executor: Executor | None = None,
        progress: Progress | None = None,
        stamps: Stamps | None = None,
    ) -> None:
        self.share = shared or share()
        self.state = TreeState(state.absolute())
        self.cache = self._opened(cache or cache_folder())
        self.progress = progress or Silent()
        self._executor = executor
        self._owns_executor = executor is None
        if stamps is not None:
            self.stamps = stamps
        self._digests = (
            stamps.digests if stamps is not None else FileDigests(self.state.root / DIGESTS)
        )
        self._derived = Derived(self.cache.root / "derived.json")
        self.fleet = fleet_of_environment(self.cache.store, self.cache.shared)
        self._toolchain = Toolchain(
            self.share.root,
            self._derived,
            installed=self.share.installed,
            fleet=self.fleet is not None,
        )
        self._consumption = Consumption(
            self.share, self._digests, self._derived, self._toolchain, self.cache
        )
        self._publisher = Publisher(self.cache.store, self._digests, self.cache.root / "published")
        self._known: dict[str, ActionResult] = {}
        self._missed: set[str] = set()
        self._predicted: dict[str, ActionResult | None] = {}
        self._suspects: set[str] = set()
        self._locks: dict[str, RLock] = {}
        self._claims = Claims()
        self._lock = Lock()
        self._cached_only = False
        self._seconds: dict[str, float] = {}
        self.timeline = Timeline()
        self.explains = False
        self.missing: set[str] = set()
        """Modules that an action needed and that are not installed."""

    def _opened(self, folder: Path) -> ActionCache:
        """A cache; one that cannot be written is read, below one of the tree."""
        below = folder if is_read_only(folder) else None
        own = self.state.root / "cache" if below is not None else folder
        if below is not None:
            warn(
                f"{folder}: the cache cannot be written here; it is read, and what this build makes"
                f" is kept in {own}"
            )
        cache = ActionCache(own, of_environment(), key_of_environment(), below)
        cache.check()
        return cache

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
            if "stamps" in self.__dict__:
                self.stamps.save()
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
            try:
                result = self.current(action) or self._obtain(action)
            except MissingPackageError as error:
                self.missing.add(error.module)
                raise
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
        source = self._consumption.source_key(action) if manifest.origin is not None else None
        if source is not None and manifest.origin == source.key:
            return self._found_by(source, action, manifest.result)
        trees = self._known_trees(action, self.current)
        if trees is None:
            return None
        for actual in (False, True):
            try:
                consumed = self._consumption.of(action, trees, manifest.reads, actual=actual)
            except ToolError:
                return None
            if canonical.key(consumed.document) == manifest.key:
                self._consumption.note(action, consumed)
                self._known[action.task] = manifest.result
                return manifest.result
        return None

    def predict(self, action: Action) -> ActionResult | None:
        """The result that a build would have without executing anything for it: one that is up to
        date, or that a cache has. Changes nothing in the tree.
        """
        if action.task not in self._predicted:
            self._predicted[action.task] = self.current(action) or self._predict(action)
        return self._predicted[action.task]

    def _predict(self, action: Action) -> ActionResult | None:
        source = self._consumption.source_key(action) if action.final else None
        if source is not None and (found := self._cached(action, source.key)) is not None:
            return found
        trees = self._known_trees(action, self.predict)
        if trees is None:
            return None
        if action.each is not None:
            parts = self._find_each(action, action.each, trees)
            return None if parts.missing else parts.result()
        whole = self._find_whole(action, trees)
        return None if whole is None else whole[1]

    def consumed(self, action: Action) -> Consumed | None:
        """What a run of the action would consume now; None while an input of it is not built."""
        trees = self._known_trees(action, self.current)
        if trees is None:
            return None
        manifest = self.state.manifest(action.task)
        return self._consumption.of(action, trees, manifest.reads if manifest is not None else ())

    def published(self, action: Action, role: str, folder: Path) -> bool:
        """Whether `folder` holds an up-to-date action's output `role`, unchanged."""
        result = self.current(action)
        return result is not None and self._publisher.intact(result, role, folder)

    @cached_property
    def stamps(self) -> Stamps:
        """Which bundles of this tree need nothing."""
        return stamps_of(self.state.root, self.share, self._digests, self.cache.signer)

    def stamp(self, action: Action, role: str, folder: Path, facts: str) -> None:
        """Note that an action is up to date and published, where files alone tell whether it still
        is: not where code of the user's runs.
        """
        result = self.current(action)
        if result is not None and not any(each.roots for each in behind(action)):
            made_of = {path: seen.sha256 for path, seen in self._consumption.files_behind(action)}
            self.stamps.note(
                action.task, facts, made_of | self._publisher.places(result, role, folder)
            )

    def code(self, action: Action) -> Mapping[str, str]:
        """The files of webkiln that an action runs, by their names in keys, with digests."""
        return self._consumption.keys.code(action)

    def files(self, action: Action, *, alone: bool = False) -> frozenset[Path]:
        """The files of the user's that an up-to-date action's result depends on, those that its run
        found too; `alone`: without those of the actions that lead to it.
        """
        found: set[Path] = set()
        for each in [action] if alone else behind(action):
            names = self._consumption.reads(each)
            if names is None:
                manifest = self.state.manifest(each.task)
                names = manifest.reads if manifest is not None else ()
            reads = (path_of(each, name) for name in names)
            found |= {path for path in reads if path is not None and path.is_file()}
            for value in each.inputs.values():
                match value:
                    case Local(path):
                        found.add(path)
                    case Folder(files):
                        found |= {path for _, path in files}
                    case Modules():
                        found |= set(self._consumption.keys.modules(value).values())
        return frozenset(found)

    def reserve(self, folder: Path) -> AbstractContextManager[None]:
        """Keep an output folder for this build, from its checks to its last file; another build
        waits.
        """
        return self._publisher.reserve(folder, warn)

    def check_folder(self, folder: Path, names: Iterable[str], *, force: bool = False) -> None:
        """OutputError where files of these names could not be published into `folder`; asked before
        anything is built for it.
        """
        self._publisher.check(folder, names, force=force)

    def publish(
        self, action: Action, role: str, folder: Path, *, whole: bool = True, force: bool = False
    ) -> None:
        """Write an output into `folder`; `whole`: what an earlier build put there goes. `force`
        overwrites what no build wrote.
        """
        with self.reserve(folder):
            for _ in range(ATTEMPTS):
                if self._publisher.publish(
                    self.run(action), role, folder, whole=whole, force=force
                ):
                    return
                self._again(action)
        raise ToolError(
            f"{self.cache.root}: blobs of {action.task} are damaged as soon as they are written;"
            " check the disk"
        )

    def clean(self, action: Action, folder: Path | None) -> list[str]:
        """Forget an action's result, and delete what was published of it, but for what has changed
        since, which is returned; the cache keeps its bytes.
        """
        self._known.pop(action.task, None)
        self.state.forget(action.task)
        return [] if folder is None else self.unpublish(folder)

    def unpublish(self, folder: Path) -> list[str]:
        """Delete what builds published into a folder, but for what has changed since, which is
        returned.
        """
        return self._publisher.remove(folder)

    def restore(self, action: Action) -> bool:
        """Whether a final result is known by what all steps to it consume, here or in the remote
        cache. None of them is looked at.
        """
        try:
            source = self._consumption.source_key(action)
        except UserError:
            return False  # told where the step runs
        if source is None:
            return False
        found = self._cached(action, source.key)
        if found is None:
            self._missed.add(source.key)
            return False
        manifest = self.state.manifest(action.task)
        if manifest is None or manifest.result.outputs != found.outputs:
            self._hit(action, found)
            self._save_found(source, action, found)
        self._found_by(source, action, found)
        return True

    def available(self, action: Action) -> bool:
        """Whether an action's result can be had without executing anything."""
        told, self.progress, self._cached_only = self.progress, Silent(), True
        try:
            self.run(action)
        except (_NotCached, UserError):
            self._consumption.look_again()
            return False
        finally:
            self.progress, self._cached_only = told, False
        return True

    def _obtain(self, action: Action) -> ActionResult:
        self.cache.register(self.state.root)
        source = self._consumption.source_key(action) if action.final else None
        if (
            source is not None
            and source.key not in self._missed
            and (found := self._cached(action, source.key)) is not None
        ):
            self._hit(action, found)
            self._save_found(source, action, found)
            return self._found_by(source, action, found)
        result = self._by_steps(action)
        if action.final:
            known = [
                found
                for each in behind(action)
                if (found := self._known.get(each.task)) is not None
            ]
            provenance = joint(each.provenance for each in (result, *known))
            results = {**self._known, action.task: result}
            self.cache.put(
                self._consumption.source_key_of(action, results),
                replace(result, provenance=provenance),
            )
        return result

    def _save_found(self, source: SourceKey, action: Action, result: ActionResult) -> None:
        self.state.save(
            action.task,
            {"origin": source.key},
            result,
            {path: seen.sha256 for path, seen in source.files.items()},
        )

    def _found_by(self, source: SourceKey, action: Action, result: ActionResult) -> ActionResult:
        self._consumption.note(action, Consumed(source.files, source_key=source.key))
        self._known[action.task] = result
        return result

    def _cached(self, action: Action, key: str) -> ActionResult | None:
        return self.cache.get(key, expected(action), built=action.task in self._suspects)

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
                if action.final:
                    self._consumption.check_one_state(action, trees)
                result = self._obtain_once(action, trees, anew=anew)
            except MissingInput as missing:
                for producer in missing.producers:
                    self._again(producer)
            except ChangedError:
                self._consumption.look_again()
            except WebkilnError as error:
                if failed is not None or isinstance(error, OWN_FAULTS):
                    raise
                if not self._suspect(action) and digests_of(self._trees(action)) == digests_of(
                    trees
                ):
                    raise
                failed = error
            else:
                if failed is not None and self.cache.shared is not None:
                    self.cache.shared.blame(action.task)
                return result
        raise failed or ToolError(
            f"{action.task}: its inputs change while it runs, or its cache {self.cache.root} loses"
            " what is written"
        )

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
        """Have the next attempt build here what a remote cache gave for the inputs of an action;
        False where no unsigned result is among them.
        """
        leading = [each.task for each in behind(action) if each is not action]
        known = {task: result for task in leading if (result := self._known.get(task)) is not None}
        foreign = {
            task for task, result in known.items() if result.provenance not in BUILT
        } - self._suspects
        if not foreign or self.cache.signer is not None:
            return False
        self._suspects |= foreign
        for task in known:
            self._known.pop(task, None)
            self.state.forget(task)
        return True

    def _obtain_once(
        self, action: Action, trees: Mapping[str, Tree], *, anew: bool
    ) -> ActionResult:
        if action.each is not None:
            consumed, result = self._obtain_each(action, action.each, trees)
        else:
            consumed, result = self._obtain_whole(action, trees, anew=anew)
        self._consumption.note(action, consumed)
        files = self._consumption.files_behind(action) if action.final else consumed.files.items()
        self.state.save(
            action.task, consumed.document, result, {path: seen.sha256 for path, seen in files}
        )
        return result

    def _obtain_whole(
        self, action: Action, trees: Mapping[str, Tree], *, anew: bool
    ) -> tuple[Consumed, ActionResult]:
        if not anew and (known := self._find_whole(action, trees)) is not None:
            self._hit(action, known[1])
            return known
        declared = self._consumption.keys.document(action, digests_of(trees), actual=True)
        result, outcome = self._execute(action, trees)
        reads = names_of(action, outcome)
        consumed = self._consumption.of(action, trees, reads, actual=True).made_by(outcome)
        self._consumption.check_unmoved(action, trees, declared, outcome)
        self._consumption.check_reads(action, consumed, outcome)
        key = canonical.key(consumed.document)
        self.cache.put(key, result, anew=anew)
        if action.roots:
            self.cache.note_reads(canonical.key(declared), reads, key)
        return consumed, result

    def _find_whole(
        self, action: Action, trees: Mapping[str, Tree]
    ) -> tuple[Consumed, ActionResult] | None:
        """What the caches have of an action with these inputs."""
        digests = digests_of(trees)
        for actual in self._kinds_of_tools(action):
            declared = self._consumption.keys.document(action, digests, actual=actual)
            for reads in self.cache.reads(canonical.key(declared)) if action.roots else [()]:
                consumed = self._consumption.of(action, trees, reads, actual=actual)
                found = self._cached(action, canonical.key(consumed.document))
                if found is not None:
                    return consumed, found
        return None

    def _kinds_of_tools(self, action: Action) -> Iterator[bool]:
        """Whether results are looked for by the actual tools: first by the locked ones, which need
        not be here, then by the others, if they differ.
        """
        yield False
        locked, actual = (
            self._consumption.keys.document(action, {}, actual=actual)["tools"]
            for actual in (False, True)
        )
        if locked != actual:
            yield True

    def _obtain_each(
        self, action: Action, each: Each, trees: Mapping[str, Tree]
    ) -> tuple[Consumed, ActionResult]:
        """Take each file's result from the cache, execute the missing ones together, and cache each
        on
        its own. What another step makes meanwhile of an equal file is waited for.
        """
        found = self._find_each(action, each, trees)
        if not found.missing:
            self._hit(action, ActionResult({}))
            return found.consumed(trees), found.result()
        rest = {role: tree for role, tree in trees.items() if role != each.source}
        keys = keys_of_each(found.document, each, rest, found.items)
        while found.missing:
            missing = {keys[name]: name for name in found.missing}
            claimed = self._claims.claim(missing)
            try:
                if claimed:
                    found = self._make_each(
                        action, trees, rest, found, [missing[key] for key in claimed]
                    )
            finally:
                self._claims.release(claimed)
            others = missing.keys() - claimed
            self._claims.wait(others)
            made = {
                missing[key]: part
                for key in others
                if (part := self._part(action, each, key)) is not None
            }
            found = replace(found, parts={**found.parts, **made})
        return found.consumed(trees), found.result()

    def _make_each(
        self,
        action: Action,
        trees: Mapping[str, Tree],
        rest: Mapping[str, Tree],
        found: Parts,
        names: Sequence[str],
    ) -> Parts:
        """Execute an action for files with these names."""
        each, items = found.each, {name: found.items[name] for name in sorted(names)}
        made, outcome = self._execute(action, {**rest, each.source: items}, [*items])
        self._consumption.check_unmoved(action, trees, found.document, outcome)
        document = dict(Consumed({}, found.document).made_by(outcome).document)
        keys = keys_of_each(document, each, rest, items)
        parts = {**found.parts}
        for name in items:
            object_ = made.outputs[each.result + PurePosixPath(name).stem + each.suffix]
            parts[name] = replace(made, outputs={each.result: object_}, printed="")
            self.cache.put(keys[name], parts[name])
        return replace(found, document=document, parts=parts)

    def _part(self, action: Action, each: Each, key: str) -> ActionResult | None:
        return self.cache.get(key, single(each.result), built=action.task in self._suspects)

    def _find_each(self, action: Action, each: Each, trees: Mapping[str, Tree]) -> Parts:
        """What the caches have of an action that is cached file by file."""
        rest = {role: tree for role, tree in trees.items() if role != each.source}
        names = {
            inside: item.sha256 + PurePosixPath(inside).suffix
            for inside, item in trees[each.source].items()
        }
        items = {names[inside]: item for inside, item in trees[each.source].items()}
        for actual in self._kinds_of_tools(action):
            document = self._consumption.keys.document(action, digests_of(trees), actual=actual)
            keys = keys_of_each(document, each, rest, items)
            parts = {
                name: part
                for name in names.values()
                if (part := self._part(action, each, keys[name])) is not None
            }
            found = Parts(each, document, names, items, parts)
            if not found.missing:
                break
        return found

    def _explain(self, action: Action) -> None:
        """Print why an action runs."""
        old, now = self.state.runs(action.task), self.consumed(action)
        lines = (
            [reason.text for reason in reasons(action, old[0], now.run)]
            if old and now is not None
            else [FIRST]
        )
        self.progress.say(
            "\n".join(f"{action.task}  because {line}" for line in shortened(lines or [GONE]))
        )

    def _hit(self, action: Action, result: ActionResult) -> None:
        self.timeline.mark(action.task, "cached")
        self.state.log(action.task, "hit", stage=action.stage)
        self.progress.hit(action.task, result.printed)

    def _execute(
        self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str] = ()
    ) -> tuple[ActionResult, Outcome]:
        if self._cached_only:
            raise _NotCached
        asked = self.fleet is not None and self.fleet.takes(action)
        made = self._by_fleet(action, trees, objects) if asked else None
        if made is not None:
            return made
        with sandbox(self.cache.sandboxes) as folder:
            inputs = lay_out(self.cache.store, folder / "in", trees)
            outputs = outputs_in(folder / "out", action.outputs)
            stage, code = self.share.stage(action.stage), self._consumption.keys.code(action)
            with self._telling(action, objects, again=asked):
                watch = self._watch(action, folder)
                tell = partial(self.progress.tell, action.task)
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
                        tell,
                    )
                )
                result = ActionResult(
                    collect(self.cache.store, folder / "out", action.outputs, action.task),
                    outcome.printed,
                )
        for program in outcome.unseen:
            warn(
                f"{action.task}: {program} is run, and what it reads is not seen; list that as"
                " reads = [...] in the recipe (--reads)"
            )
        if self.fleet is not None:
            self.fleet.resolve_disputes(action, result)
        self.progress.done(action.task, result.printed)
        return result, outcome

    def _by_fleet(
        self, action: Action, trees: Mapping[str, Tree], objects: Sequence[str]
    ) -> tuple[ActionResult, Outcome] | None:
        """What another machine makes of it; None where it has to run here."""
        assert self.fleet is not None
        documents = [
            self._consumption.keys.document(action, digests_of(trees), actual=actual)
            for actual in (False, True)
        ]
        with self._telling(action, objects):
            made = self.fleet.perform(
                action, trees, documents, partial(self.progress.tell, action.task), self._after
            )
        if made is None:
            return None
        result, tools = made
        self.progress.done(action.task, result.printed)
        return result, Outcome(result.printed, tools=tools)

    def _after(self, action: Action, before: Collection[str]) -> Planned | None:
        """What is known of an action before these tasks have run; None where it needs others, too,
        or where its result may be known.
        """
        if (
            action.each is not None
            or action.task in self._known
            or self.state.manifest(action.task) is not None
        ):
            return None
        trees: dict[str, Tree] = {}
        for role, value in action.inputs.items():
            if isinstance(value, Product) and value.action.task in before:
                continue
            tree = self._tree(value, lambda producer: self._known.get(producer.task))
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

    @contextmanager
    def _telling(
        self, action: Action, objects: Sequence[str], *, again: bool = False
    ) -> Iterator[None]:
        """Log an execution, show it, and keep how long it took; `again` one that the fleet was
        asked for in vain.
        """
        if not again:
            self.state.log(action.task, "execute", stage=action.stage, objects=list(objects))
            if self.explains:
                self._explain(action)
            self.progress.start(action.task)
        begun = time.monotonic()
        try:
            with self.timeline.step(action.task, action.stage, objects=len(objects)):
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
        own = (
            self.share.package.parent,
            *(self.share.root / name for name in ("stages", "kernels", "runtime")),
            folder,
        )
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

    def _again(self, producer: Action) -> None:
        """Make a result again whose blobs are gone: without them its manifest and its cache entry
        are misses.
        """
        self._known.pop(producer.task, None)
        self.run(producer)

    def _required(self, value: Input) -> Tree:
        tree = self._tree(value, self.run)
        assert tree is not None
        return tree

    def _known_trees(
        self, action: Action, obtain: Callable[[Action], ActionResult | None]
    ) -> dict[str, Tree] | None:
        """The inputs of an action; None where a producer of one has no result."""
        inputs = {role: self._tree(value, obtain) for role, value in action.inputs.items()}
        trees = {role: tree for role, tree in inputs.items() if tree is not None}
        return trees if len(trees) == len(inputs) else None

    def _tree(self, value: Input, obtain: Callable[[Action], ActionResult | None]) -> Tree | None:
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


class _NotCached(Exception):
    """Raised where only cached results are wanted and there is none."""
