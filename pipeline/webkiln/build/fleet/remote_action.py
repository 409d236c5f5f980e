"""One execution of a stage, as one machine asks another for it: files are named by digests, and
their
bytes go through the remote cache.

Several may travel together, each of which may read what those before it make.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Self

from webkiln.backends.browsers import BROWSERS
from webkiln.build.action import Action, Blob

GIGABYTE = 1e9
LEAST_MEMORY = 0.5
"""What a stage takes beside its inputs, in gigabytes."""
MEMORY = {"load": 3.0, "reference": 4.0, "convert": 2.0, "pack": 4.0, "verify": 3.0, "bundle": 1.0}
"""How many times the bytes of its inputs a stage holds at once; others hold less than
`LEAST_MEMORY`.
"""
FRAMEWORK_MEMORY = {"load": 1.5, "reference": 2.0}
"""What a framework takes that a stage imports, in gigabytes."""


Files = Mapping[str, Blob]
"""Path inside a role -> blob; a role that is one file has the path `""`."""


@dataclass(frozen=True, slots=True)
class Made:
    """The files of an input that the step `task` makes, which comes before in the same message: an
    output, or those in a folder that match `pattern`.
    """

    task: str
    path: str
    pattern: str

    def among(self, outputs: Files) -> dict[str, Blob]:
        """Raises KeyError where the output is not there."""
        if not self.path.endswith("/"):
            return {"": outputs[self.path]}
        inside = {
            path.removeprefix(self.path): blob
            for path, blob in outputs.items()
            if path.startswith(self.path)
        }
        return {path: blob for path, blob in inside.items() if fnmatchcase(path, self.pattern)}


@dataclass(frozen=True, slots=True)
class RemoteAction:
    """`inputs` are by role.

    `code` are the digests of webkiln's files that the stage runs, and `tools` the tables of
    versions of which one has to be true where it runs. What is stored again, whatever the remote
    cache says, has its digest in `doubted`.
    """

    task: str
    stage: str
    inputs: Mapping[str, Files | Made]
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
            "inputs": {role: _to_json(files) for role, files in self.inputs.items()},
            "outputs": list(self.outputs),
            "params": dict(self.params),
            "code": dict(self.code),
            "tools": [dict(table) for table in self.tools],
            "timeout": self.timeout,
            "doubted": sorted(self.doubted),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        inputs = {role: _from_json(files) for role, files in data["inputs"].items()}
        more = {
            "inputs": inputs,
            "outputs": tuple(data["outputs"]),
            "tools": tuple(data["tools"]),
            "doubted": frozenset(data["doubted"]),
        }
        return cls(**{**data, **more})

    @property
    def files(self) -> dict[str, Files]:
        """The inputs that are known."""
        return {role: files for role, files in self.inputs.items() if not isinstance(files, Made)}

    def blobs(self) -> Iterable[Blob]:
        """Those of the inputs that are known."""
        return (blob for files in self.files.values() for blob in files.values())

    def after(self, made: Mapping[str, Files]) -> Self:
        """The same, where the steps before have made these outputs. Raises KeyError where one that
        it reads is not among them.
        """
        inputs = {
            role: files.among(made[files.task]) if isinstance(files, Made) else files
            for role, files in self.inputs.items()
        }
        return replace(self, inputs=inputs)


def _to_json(files: Files | Made) -> Any:
    if isinstance(files, Made):
        return [files.task, files.path, files.pattern]
    return {inside: [blob.sha256, blob.bytes] for inside, blob in files.items()}


def _from_json(data: Any) -> Files | Made:
    return (
        {inside: Blob(*blob) for inside, blob in data.items()}
        if isinstance(data, Mapping)
        else Made(*data)
    )


def resources(action: Action, size: int) -> dict[str, float]:
    """What an execution occupies on the machine where it runs, besides one of its processors:
    gigabytes of memory for inputs of `size` bytes, and programs, of which a machine runs only so
    many at once.
    """
    memory = (
        LEAST_MEMORY
        + FRAMEWORK_MEMORY.get(action.stage, 0.0)
        + MEMORY.get(action.stage, 0.0) * size / GIGABYTE
    )
    programs = {"compiler": 1.0} if action.stage in ("compile", "link") else {}
    if action.stage == "verify" and action.params["browser"] in BROWSERS:
        programs |= dict.fromkeys(action.tools, 1.0)
    return {"memory": round(memory, 3), **programs}
