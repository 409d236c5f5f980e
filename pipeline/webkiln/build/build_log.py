"""What a build reports about its steps: the log in `.webkiln/`, the progress display, the timeline,
and the reasons for each step.
"""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from webkiln.build.action import Action, ActionResult
from webkiln.build.lookup import Lookup
from webkiln.build.progress import Progress
from webkiln.build.state import TreeState
from webkiln.build.timeline import Timeline
from webkiln.build.why import FIRST, GONE, reasons, shortened
from webkiln.errors import UserError


class BuildLog:
    """Used by several threads. With `explains`, the reasons for each step are printed."""

    def __init__(self, state: TreeState, lookup: Lookup, progress: Progress) -> None:
        self._state = state
        self._lookup = lookup
        self._seconds: dict[str, float] = {}
        self.progress = progress
        self.timeline = Timeline()
        self.explains = False

    def expect(self, actions: Iterable[Action]) -> None:
        """Announce the actions to come."""
        seconds = self._state.durations()
        self.progress.expect({action.task: seconds.get(action.task) for action in actions})

    def hit(self, action: Action, result: ActionResult) -> None:
        """Log that a cache has the result."""
        self.timeline.mark(action.task, "cached")
        self._state.log(action.task, "hit", stage=action.stage)
        self.progress.hit(action.task, result.printed)

    @contextmanager
    def execution(
        self, action: Action, objects: Sequence[str], *, retry: bool = False
    ) -> Iterator[None]:
        """Log and time an execution; `retry`: one that the fleet could not do, and that was logged
        before. In errors of the stage, the file of the role `source` gets the name that the user
        knows.
        """
        if not retry:
            self._state.log(action.task, "execute", stage=action.stage, objects=list(objects))
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

    def save(self) -> None:
        """Remember how long each step took."""
        if self._seconds:
            self._state.save_durations(self._seconds)

    def _explain(self, action: Action) -> None:
        old, now = self._state.runs(action.task), self._lookup.consumed(action)
        lines = (
            [reason.text for reason in reasons(action, old[0], now.run)]
            if old and now is not None
            else [FIRST]
        )
        self.progress.message(
            "\n".join(f"{action.task}  because {line}" for line in shortened(lines or [GONE]))
        )
