"""What a tree remembers in `.webkiln/`: a manifest for each task, what its two latest runs
consumed, and a log of executions.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import ActionResult
from webkiln.build.files import write_atomic, writing

DURATIONS = "durations.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """`source_key`: the source key under which the result was found, if it was found by that."""

    key: str
    result: ActionResult
    reads: tuple[str, ...] = ()
    source_key: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """What a run consumed: its key document, and the digests of user files of all its inputs."""

    document: Mapping[str, Any]
    files: Mapping[str, str]


class TreeState:
    """One folder for each tree. Every file in it can be deleted at any time, at the cost of looking
    up results again.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def manifest_path(self, task: str) -> Path:
        stage, model, *detail = task.split(":")
        return self.root / model / (".".join((stage, *detail)) + ".json")

    def manifest(self, task: str) -> Manifest | None:
        try:
            data = canonical.read(self.manifest_path(task))
            result = ActionResult.from_json(data["result"], data["provenance"])
            return Manifest(data["key"], result, tuple(data.get("reads", ())), data.get("origin"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def save(
        self,
        task: str,
        document: Mapping[str, Any],
        result: ActionResult,
        files: Mapping[Path, str],
    ) -> None:
        """Write the manifest of a task. `files` are the user files that the result depends on, with
        their digests.
        """
        path = self.manifest_path(task)
        key = canonical.key(document)
        latest = [Run(document, {os.fspath(name): files[name] for name in sorted(files)})]
        latest += [old for old in self.runs(task) if canonical.key(old.document) != key]
        write_atomic(
            path.with_suffix(".keys"),
            canonical.dumps([[run.document, run.files] for run in latest[:2]]),
        )
        source_key = {"origin": document["origin"]} if "origin" in document else {}
        manifest = {
            "key": key,
            "result": result.to_json(),
            "provenance": result.provenance,
            "reads": sorted(document.get("reads", ())),
        }
        write_atomic(path, canonical.dumps({**manifest, **source_key}))

    def runs(self, task: str) -> list[Run]:
        """What the latest runs consumed, newest first; at most two, with different keys."""
        try:
            rows = canonical.read(self.manifest_path(task).with_suffix(".keys"))
            return [Run(dict(document), dict(files)) for document, files in rows]
        except (OSError, ValueError, TypeError):
            return []

    def forget(self, task: str) -> None:
        self.manifest_path(task).unlink(missing_ok=True)

    def durations(self) -> dict[str, float]:
        """The seconds that each task took in its last run here."""
        try:
            return {
                str(task): float(seconds)
                for task, seconds in canonical.read(self.root / DURATIONS).items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def save_durations(self, seconds: Mapping[str, float]) -> None:
        write_atomic(self.root / DURATIONS, canonical.dumps({**self.durations(), **seconds}))

    def log(self, task: str, event: str, **more: Any) -> None:
        """Append one line in one write, so that lines of concurrent builds do not mix."""
        line = (
            canonical.dumps({"time": round(time.time(), 3), "task": task, "event": event, **more})
            + b"\n"
        )
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            file = os.open(self.root / "log.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(file, line)
            finally:
                os.close(file)


def live_results(root: Path) -> Iterator[ActionResult]:
    """The results of all manifests below a state folder."""
    for path in root.glob("*/*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            data = canonical.read(path)
            yield ActionResult.from_json(data["result"], data["provenance"])


def live_blobs(root: Path) -> set[str]:
    """The digests of all blobs that the manifests below a state folder name."""
    return {blob.sha256 for result in live_results(root) for blob in result.outputs.values()}
