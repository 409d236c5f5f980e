"""The build engine: obtains the results of actions, and publishes them.

An action that is up to date is skipped, a result that a cache has is used, and the rest is
executed. `runner.py` obtains the result of an action: `lookup.py` finds it, or `execution.py`
executes the action, `per_file.py` those that are cached file by file. `publish.py` writes bundles
into folders.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from pathlib import Path
from typing import Self

from webkiln.build.action import Action, ActionResult, Folder, Local, Modules
from webkiln.build.build_log import BuildLog
from webkiln.build.cache import ActionCache
from webkiln.build.consumption import Consumed, Consumption, with_producers
from webkiln.build.derived import Derived
from webkiln.build.digests import DIGESTS, FileDigests
from webkiln.build.discovered_inputs import path_of
from webkiln.build.execution import Execution, NotCachedError
from webkiln.build.executor import Executor
from webkiln.build.fleet.fleet import fleet_from_environment
from webkiln.build.locations import cache_folder, is_read_only
from webkiln.build.lookup import Lookup
from webkiln.build.progress import Progress, Silent, warn
from webkiln.build.publish import Publisher
from webkiln.build.remote.shared import remote_cache_from_environment
from webkiln.build.remote.signing import signer_from_environment
from webkiln.build.runner import ATTEMPTS, Runner
from webkiln.build.share import Share, share
from webkiln.build.stamps import Stamps, read_stamps
from webkiln.build.state import TreeState
from webkiln.build.tools import Toolchain
from webkiln.errors import OutputError, ToolError, UserError


class Engine:
    """One build session: each input is read once, and each action has one result.

    `state` is the folder of manifests (`.webkiln`), `cache` the folder that trees share. `stamps`
    are those of the tree, if they were read before.
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
        self.cache = self._open_cache(cache or cache_folder())
        if stamps is not None:
            self.stamps = stamps
        self._digests = (
            stamps.digests if stamps is not None else FileDigests(self.state.root / DIGESTS)
        )
        self._derived = Derived(self.cache.root / "derived.json")
        self.fleet = fleet_from_environment(self.cache.store, self.cache.shared)
        toolchain = Toolchain(
            self.share.root,
            self._derived,
            installed=self.share.installed,
            fleet=self.fleet is not None,
        )
        self._consumption = Consumption(
            self.share, self._digests, self._derived, toolchain, self.cache
        )
        self._publisher = Publisher(self.cache.store, self._digests, self.cache.root / "published")
        self._lookup = Lookup(self.state, self.cache, self._consumption)
        self.log = BuildLog(self.state, self._lookup, progress or Silent())
        self._execution = Execution(
            self.share,
            self.state,
            self.cache,
            self._consumption,
            self._lookup,
            self.log,
            self.fleet,
            executor,
        )
        self._runner = Runner(
            self.state, self.cache, self._consumption, self._lookup, self.log, self._execution
        )

    def _open_cache(self, folder: Path) -> ActionCache:
        """The cache in a folder. One that is read-only is read below a cache of the tree."""
        base = folder if is_read_only(folder) else None
        own = self.state.root / "cache" if base is not None else folder
        if base is not None:
            warn(f"{folder}: the cache is read-only; results of this build are stored in {own}")
        cache = ActionCache(own, remote_cache_from_environment(), signer_from_environment(), base)
        cache.check()
        return cache

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._execution.close()
        if self.fleet is not None:
            self.fleet.close()
        with suppress(OutputError):  # files that are not remembered are digested again
            self._digests.save()
            self._derived.save()
            if "stamps" in self.__dict__:
                self.stamps.save()
            self.log.save()
        if (shared := self.cache.shared) is not None:
            if shared.busy:
                self.progress.start(shared.address)
            shared.close(lambda text: self.progress.update(shared.address, text))
        self.progress.close()

    @property
    def missing(self) -> set[str]:
        """Modules that an action needed and that are not installed."""
        return self._runner.missing

    @property
    def executor(self) -> Executor:
        """The executor of this session, started on first use."""
        return self._execution.executor

    @property
    def progress(self) -> Progress:
        return self.log.progress

    def run(self, action: Action) -> ActionResult:
        """The result of an action. Its producers run first where needed."""
        return self._runner.run(action)

    def rerun(self, action: Action) -> ActionResult:
        """Execute an action even if the cache has its result, and replace that."""
        return self._runner.rerun(action)

    def restore(self, action: Action) -> bool:
        """Whether a cache has a final result under its source key. No producer is checked."""
        return self._runner.restore(action)

    def available(self, action: Action) -> bool:
        """Whether an action's result exists, in the tree or in a cache."""
        progress, self.log.progress = self.log.progress, Silent()
        self._execution.lookups_only = True
        try:
            self.run(action)
        except (NotCachedError, UserError):
            self._consumption.invalidate()
            return False
        finally:
            self.log.progress, self._execution.lookups_only = progress, False
        return True

    def data(self, result: ActionResult, path: str) -> bytes:
        """The bytes of one output of a result."""
        return self.cache.store.file(result.outputs[path]).read_bytes()

    def current(self, action: Action) -> ActionResult | None:
        """The result of an action if it is up to date. Executes nothing and changes nothing."""
        return self._lookup.current(action)

    def predict(self, action: Action) -> ActionResult | None:
        """The result that a build would get for an action without executing anything."""
        return self._lookup.predict(action)

    def consumed(self, action: Action) -> Consumed | None:
        """What a run of the action would consume now; None while one of its inputs is not built."""
        return self._lookup.consumed(action)

    def published(self, action: Action, role: str, folder: Path) -> bool:
        """Whether `folder` holds the output `role` of an up-to-date action, unchanged."""
        result = self.current(action)
        return result is not None and self._publisher.intact(result, role, folder)

    @cached_property
    def stamps(self) -> Stamps:
        """The stamps of the bundles of this tree."""
        return read_stamps(self.state.root, self.share, self._digests, self.cache.signer)

    def stamp(self, action: Action, role: str, folder: Path, facts: str) -> None:
        """Stamp an action that is up to date and published. One that runs user code is not stamped:
        stamps of files alone do not prove that it is still up to date.
        """
        result = self.current(action)
        if result is not None and not any(each.user_reads.roots for each in with_producers(action)):
            inputs = {path: state.sha256 for path, state in self._consumption.source_files(action)}
            self.stamps.record(
                action.task, facts, inputs | self._publisher.paths(result, role, folder)
            )

    def code(self, action: Action) -> Mapping[str, str]:
        """The digests of webkiln's own files that an action runs, by their names in keys."""
        return self._consumption.keys.code(action)

    def files(self, action: Action, *, direct: bool = False) -> frozenset[Path]:
        """The user files that an up-to-date result depends on, with its discovered inputs. With
        `direct`, without those of its producers.
        """
        result: set[Path] = set()
        for each in [action] if direct else with_producers(action):
            names = self._consumption.reads(each)
            if names is None:
                manifest = self.state.manifest(each.task)
                names = manifest.reads if manifest is not None else ()
            reads = (path_of(each, name) for name in names)
            result |= {path for path in reads if path is not None and path.is_file()}
            for value in each.inputs.values():
                match value:
                    case Local(path):
                        result.add(path)
                    case Folder(files):
                        result |= {path for _, path in files}
                    case Modules():
                        result |= set(self._consumption.keys.modules(value).values())
        return frozenset(result)

    def reserve(self, folder: Path) -> AbstractContextManager[None]:
        """Reserve an output folder for this build, from its checks to its last file. Another build
        waits.
        """
        return self._publisher.reserve(folder, warn)

    def check_folder(self, folder: Path, names: Iterable[str], *, force: bool = False) -> None:
        """Raise OutputError where files of these names could not be published into `folder`. Called
        before anything is built for it.
        """
        self._publisher.check(folder, names, force=force)

    def publish(
        self,
        action: Action,
        role: str,
        folder: Path,
        *,
        replace_all: bool = True,
        force: bool = False,
    ) -> None:
        """Write an output into `folder`. With `replace_all`, other files that an earlier build
        published there are deleted. `force` overwrites files that no build wrote.
        """
        with self.reserve(folder):
            for _ in range(ATTEMPTS):
                if self._publisher.publish(
                    self.run(action), role, folder, replace_all=replace_all, force=force
                ):
                    return
                self._runner.run_again(action)
        raise ToolError(
            f"{self.cache.root}: blobs of {action.task} are damaged as soon as they are written;"
            " check the disk"
        )

    def clean(self, action: Action, folder: Path | None) -> list[str]:
        """Forget an action's result and delete what was published of it. Files that have changed
        since stay and are returned. The cache keeps the blobs.
        """
        self._lookup.known.pop(action.task, None)
        self.state.forget(action.task)
        return [] if folder is None else self.unpublish(folder)

    def unpublish(self, folder: Path) -> list[str]:
        """Delete what builds published into a folder. Files that have changed since stay and are
        returned.
        """
        return self._publisher.remove(folder)

    def expect(self, actions: Iterable[Action]) -> None:
        """Announce the actions to come, to the progress display and the fleet."""
        self._execution.expect(actions)
