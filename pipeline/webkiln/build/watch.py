"""Rebuilds what the user changes. Changes are found by polling stamps: a model has few files, and
they are known by name. Unlike file system events, this works the same on all systems, for files
that editors rename into folder, and on network and container mounts.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.file_stamps import Stamp, stamp
from webkiln.errors import UserError, WebkilnError

LOOK_SECONDS = 0.3
"""How often stamps are read, and how long files must stay unchanged before a build: a training
writes its file for a while.
"""

Stamps = Mapping[Path, Stamp | None]


class Watcher:
    """Builds bundles, and rebuilds those whose files changed. Prints one line for each.

    `session` opens an engine. `bundles` returns the bundles to build and their folders, according
    to the present recipes in `folder`. A build happens inside `lock()`, which keeps other builds
    out.
    """

    def __init__(
        self,
        folder: Path,
        session: Callable[[], Engine],
        bundles: Callable[[Engine], Iterable[tuple[Path, Action]]],
        report: Callable[[str], None],
        lock: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        force: bool = False,
    ) -> None:
        self._folder = folder
        self._session = session
        self._bundles = bundles
        self._report = report
        self._lock = lock
        self._force = force
        self._files: dict[Path, frozenset[Path]] = {}
        self._failed: dict[Path, tuple[str, Stamps]] = {}

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Build, then poll and rebuild until the process is interrupted."""
        # These are the stamps before the build, which discovers some inputs itself: for changes of
        # those, another build follows.
        built = stamps(self.files())
        self.build()
        self._report(f"watching {len(self.files())} files; press Ctrl-C to stop")
        while True:
            sleep(LOOK_SECONDS)
            now = stamps(self.files())
            if now == built:
                continue
            sleep(LOOK_SECONDS)
            if stamps(self.files()) != now:
                continue
            built = now
            self.build()

    def files(self) -> frozenset[Path]:
        """The recipes and the files that bundles depend on. After a failure the files may be
        unknown; then also all files in the folders of the recipes.
        """
        candidates = self._folder.absolute().glob("*/*" if self._failed else "*/recipe.toml")
        return frozenset(path for path in candidates if path.is_file()).union(*self._files.values())

    def build(self) -> None:
        """Build what is not up to date. A failure is reported once for each state of its files, and
        the other bundles are built.
        """
        with self._lock(), self._session() as engine:
            try:
                bundles = dict(self._bundles(engine))
            except UserError as error:
                self._report_failure(self._folder, str(error))
                return
            self._failed = {path: state for path, state in self._failed.items() if path in bundles}
            self._files = {path: files for path, files in self._files.items() if path in bundles}
            for folder, action in bundles.items():
                self._build(engine, folder, action)

    def _build(self, engine: Engine, folder: Path, action: Action) -> None:
        begun = time.monotonic()
        before = self._files.get(folder)
        with suppress(UserError):
            self._files[folder] = engine.files(action) | (before or frozenset())
        try:
            current = engine.published(action, "bundle/", folder)
            engine.publish(action, "bundle/", folder, force=self._force)
            self._files[folder] = engine.files(action)
        except WebkilnError as error:
            self._report_failure(folder, str(error))
            return
        if not current or before is None or folder in self._failed:
            self._report(
                f"{folder}:"
                f" {'up to date' if current else f'written, {time.monotonic() - begun:.1f} s'}"
            )
        self._failed.pop(folder, None)

    def _report_failure(self, folder: Path, message: str) -> None:
        state = (
            message,
            stamps(self._files.get(folder, ()) or self._folder.absolute().glob("*/recipe.toml")),
        )
        if self._failed.get(folder) != state:
            self._report(f"{folder}: error: {message}")
        self._failed[folder] = state


def stamps(files: Iterable[Path]) -> Stamps:
    return {path: stamp(str(path)) for path in files}
