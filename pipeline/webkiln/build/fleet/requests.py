"""Builds remote actions: the inputs of an action as blobs, and the tools that it may run with."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import Action, Blob, Product
from webkiln.build.files import temporary_path
from webkiln.build.fleet.remote_action import Files, PendingOutput, RemoteAction
from webkiln.build.remote.shared import SharedCache
from webkiln.build.sandbox import Tree
from webkiln.build.store import LocalStore


@dataclass(frozen=True, slots=True)
class Planned:
    """An action that follows others. `trees` are its inputs without the outputs of these, and
    `documents` its possible key documents, without inputs.
    """

    action: Action
    trees: Mapping[str, Tree]
    documents: Sequence[Mapping[str, Any]]


Plan = Callable[[Action, Collection[str]], Planned | None]
"""Returns an action as it is known before the tasks with these names have run; None where it needs
others that have not run, or may not have to run.
"""


class Requests:
    """The remote actions of one build, whose blobs are in its store."""

    def __init__(self, store: LocalStore, shared: SharedCache) -> None:
        self._store = store
        self._shared = shared

    def build(self, step: Planned) -> RemoteAction:
        action = step.action
        inputs: dict[str, Files | PendingOutput] = {
            role: PendingOutput(value.action.task, value.path, value.pattern)
            for role, value in action.inputs.items()
            if isinstance(value, Product) and role not in step.trees
        }
        for role, tree in step.trees.items():
            inputs[role] = {
                inside: self.blob(item.sha256, item.blob, item.local)
                for inside, item in tree.items()
            }
        tables = tuple(
            dict.fromkeys(canonical.dumps(document["tools"]) for document in step.documents)
        )
        code, tools = step.documents[0]["code"], tuple(map(canonical.loads, tables))
        return RemoteAction(
            action.task,
            action.stage,
            inputs,
            action.outputs,
            action.params,
            code,
            tools,
            action.timeout,
            self._shared.unavailable,
        )

    def blobs(self, trees: Mapping[str, Tree]) -> Iterable[Blob]:
        return (
            self.blob(item.sha256, item.blob, item.local)
            for tree in trees.values()
            for item in tree.values()
        )

    def blob(self, sha256: str, blob: Blob | None, local: Path | None) -> Blob:
        """The blob of an input. A user file becomes a blob with its present bytes."""
        if blob is not None:
            return blob
        assert local is not None
        known = Blob(sha256, local.stat().st_size)
        if self._store.is_here(known):
            return known
        copy = temporary_path(self._store.path(sha256))
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(local.read_bytes())
        return self._store.put(copy)


def requirements_key(code: Mapping[str, str], documents: Iterable[Mapping[str, Any]]) -> str:
    """Identifies the code and tools of requests, to remember which workers lack them."""
    tables = dict.fromkeys(canonical.dumps(document["tools"]) for document in documents)
    return canonical.key(
        {"code": dict(code), "tools": [canonical.loads(table) for table in tables]}
    )
