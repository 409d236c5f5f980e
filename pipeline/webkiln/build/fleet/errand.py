"""One execution of a stage, as one machine asks another for it: files are named by digests, and their bytes go through the remote cache."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from webkiln.backends.browsers import BROWSERS
from webkiln.build.action import Action, Blob

GIGABYTE = 1e9
LEAST_MEMORY = 0.5
"""What a stage takes beside its inputs, in gigabytes."""
MEMORY = {"load": 3.0, "reference": 4.0, "convert": 2.0, "pack": 4.0, "verify": 3.0, "bundle": 1.0}
"""How many times the bytes of its inputs a stage holds at once; others hold less than `LEAST_MEMORY`."""
FRAMEWORK_MEMORY = {"load": 1.5, "reference": 2.0}
"""What a framework takes that a stage imports, in gigabytes."""


@dataclass(frozen=True, slots=True)
class Errand:
    """Input role -> path inside -> blob; a role that is one file has the path `""`.

    `code` are the digests of webkiln's files that the stage runs, and `tools` the tables of versions of which one has to be true where it runs.
    What is stored again, whatever the remote cache says, has its digest in `doubted`.
    """

    task: str
    stage: str
    inputs: Mapping[str, Mapping[str, Blob]]
    outputs: tuple[str, ...]
    params: Mapping[str, Any]
    code: Mapping[str, str]
    tools: tuple[Mapping[str, str], ...]
    timeout: float
    doubted: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "stage": self.stage,
            "inputs": {role: {inside: [blob.sha256, blob.bytes] for inside, blob in tree.items()} for role, tree in self.inputs.items()},
            "outputs": list(self.outputs),
            "params": dict(self.params),
            "code": dict(self.code),
            "tools": [dict(table) for table in self.tools],
            "timeout": self.timeout,
            "doubted": sorted(self.doubted),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        inputs = {role: {inside: Blob(*blob) for inside, blob in tree.items()} for role, tree in data["inputs"].items()}
        more = {"inputs": inputs, "outputs": tuple(data["outputs"]), "tools": tuple(data["tools"]), "doubted": frozenset(data["doubted"])}
        return cls(**{**data, **more})


def resources(action: Action, size: int) -> dict[str, float]:
    """What an execution occupies on the machine where it runs, besides one of its processors: gigabytes of memory for inputs of `size` bytes, and
    programs, of which a machine runs only so many at once."""
    memory = LEAST_MEMORY + FRAMEWORK_MEMORY.get(action.stage, 0.0) + MEMORY.get(action.stage, 0.0) * size / GIGABYTE
    programs = {"emcc": 1.0} if action.stage in ("compile", "link") else {}
    if action.stage == "verify" and action.params["browser"] in BROWSERS:
        programs |= dict.fromkeys(action.tools, 1.0)
    return {"memory": round(memory, 3), **programs}
