"""Building again what the user changes. The files are looked at by their stamps: a model is made of
few, they are known by name, and this sees what editors rename into place, and what changes on
network and container mounts, alike everywhere.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from webkiln.build.action import Action
from webkiln.build.engine import Engine
from webkiln.build.reads import Stamp, stamp
from webkiln.errors import UserError, WebkilnError

LOOK_SECONDS = 0.3
"""How often files are looked at, and how long they must rest before a build: a training writes its
file for a while.
"""

Stamps = Mapping[Path, Stamp | None]


class Watcher:
    """Builds bundles, and again those whose files changed, and says one line of each.

    `session` opens an engine; `bundles` tells what is to be built, and where to, as the recipes in
    `folder` say now. A build happens inside `turn()`, which keeps other builds out.
    """

    def __init__(
        self,
        folder: Path,
        session: Callable[[], Engine],
        bundles: Callable[[Engine], Iterable[tuple[Path, Action]]],
        say: Callable[[str], None],
        turn: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        force: bool = False,
    ) -> None:
        self._folder = folder
        self._session = session
        self._bundles = bundles
        self._say = say
        self._turn = turn
        self._force = force
        self._files: dict[Path, frozenset[Path]] = {}
        self._failed: dict[Path, tuple[str, Stamps]] = {}

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Build, then look and build until the process is interrupted."""
        # As they were before the build, which reads what it finds out itself at some time: for such
        # files another build follows.
        built = stamps(self.files())
        self.build()
        self._say(f"watching {len(self.files())} files; Ctrl-C ends it")
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
        """The recipes and what the bundles were made of; where something failed, whose files may
        not be known, also what lies beside the recipes.
        """
        beside = self._folder.absolute().glob("*/*" if self._failed else "*/recipe.toml")
        return frozenset(path for path in beside if path.is_file()).union(*self._files.values())

    def build(self) -> None:
        """Build what is not up to date. What fails is told, once for each state of its files, and
        the others are built.
        """
        with self._turn(), self._session() as engine:
            try:
                bundles = dict(self._bundles(engine))
            except UserError as error:
                self._tell(self._folder, str(error))
                return
            self._failed = {place: told for place, told in self._failed.items() if place in bundles}
            self._files = {place: found for place, found in self._files.items() if place in bundles}
            for place, action in bundles.items():
                self._build(engine, place, action)

    def _build(self, engine: Engine, place: Path, action: Action) -> None:
        begun = time.monotonic()
        before = self._files.get(place)
        with suppress(UserError):
            self._files[place] = engine.files(action) | (before or frozenset())
        try:
            current = engine.published(action, "bundle/", place)
            engine.publish(action, "bundle/", place, force=self._force)
            self._files[place] = engine.files(action)
        except WebkilnError as error:
            self._tell(place, str(error))
            return
        if not current or before is None or place in self._failed:
            self._say(
                f"{place}:"
                f" {'up to date' if current else f'written, {time.monotonic() - begun:.1f} s'}"
            )
        self._failed.pop(place, None)

    def _tell(self, place: Path, message: str) -> None:
        state = (
            message,
            stamps(self._files.get(place, ()) or self._folder.absolute().glob("*/recipe.toml")),
        )
        if self._failed.get(place) != state:
            self._say(f"{place}: error: {message}")
        self._failed[place] = state


def stamps(files: Iterable[Path]) -> Stamps:
    return {path: stamp(str(path)) for path in files}
