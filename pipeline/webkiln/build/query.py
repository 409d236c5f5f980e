"""Dependencies between tasks, user files and files of webkiln."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from webkiln.build.action import Action
from webkiln.build.consumption import with_producers
from webkiln.build.engine import Engine


class Dependencies:
    """The dependencies between the actions of a tree, in both directions."""

    def __init__(self, engine: Engine, actions: Iterable[Action]) -> None:
        self._engine = engine
        self._actions = {action.task: action for action in actions}
        self._consumers: Mapping[str, list[str]] = defaultdict(list)
        for action in self._actions.values():
            for producer in action.producers:
                self._consumers[producer.task].append(action.task)

    def needed_by(self, task: str, *, direct: bool, code: bool) -> list[str]:
        """The tasks, and then the files, that a task needs, direct and transitive. With `direct`,
        only those of the task itself; with `code`, also webkiln's own files.
        """
        action = self._actions[task]
        actions = [action] if direct else with_producers(action)
        tasks = [each.task for each in (action.producers if direct else actions[1:])]
        files = {
            path
            for each in actions
            for path in (self._files(each) | (self._code(each) if code else set()))
        }
        return [*tasks, *sorted(map(shown, files))]

    def needing(self, names: Sequence[str], *, direct: bool) -> list[str]:
        """The tasks that need one of these tasks, direct and transitive. With `direct`, only direct
        ones.
        """
        consumers: dict[str, None] = {}
        todo = list(names)
        while todo:
            for consumer in self._consumers[todo.pop(0)]:
                if consumer not in consumers:
                    consumers[consumer] = None
                    todo += [] if direct else [consumer]
        return [*consumers]

    def readers(self, file: Path) -> list[str]:
        """The tasks that read a file, or files below a folder."""
        target = file.absolute()
        return [
            task
            for task, action in self._actions.items()
            if any(path.is_relative_to(target) for path in self._files(action) | self._code(action))
        ]

    def _files(self, action: Action) -> set[Path]:
        """The user files that an action depends on, with its discovered inputs."""
        return {path.absolute() for path in self._engine.files(action, direct=True)}

    def _code(self, action: Action) -> set[Path]:
        """webkiln's own files that an action runs."""
        return {
            self._engine.share.file(name)
            for name in self._engine.code(action)
            if not name.startswith("user/")
        }


def shown(path: Path) -> str:
    """A path; relative to the working folder if it is below it."""
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(path)
