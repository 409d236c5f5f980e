"""A *remote action*: the execution of a stage on another machine, as in the Remote Execution API.
Files are named by digests; their bytes go through the remote cache.

Several may be sent together. Each may read the outputs of those before it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Self

from webkiln.backends.browsers import BROWSERS
from webkiln.build.action import Action, Blob

GIGABYTE = 1e9
LEAST_MEMORY = 0.5
"""The memory of a stage without its inputs, in gigabytes."""
MEMORY = {"load": 3.0, "reference": 4.0, "convert": 2.0, "pack": 4.0, "verify": 3.0, "bundle": 1.0}
"""The memory of a stage as a multiple of its input bytes; of other stages, less than
`LEAST_MEMORY`.
"""
FRAMEWORK_MEMORY = {"load": 1.5, "reference": 2.0}
"""The memory of a framework that a stage imports, in gigabytes."""


Files = Mapping[str, Blob]
"""Path inside a role -> blob. A role that is one file has the path `""`."""


@dataclass(frozen=True, slots=True)
class PendingOutput:
    """An input that the step `task`, earlier in the same message, writes: an output, or the files
    in a folder that match `pattern`.
    """

    task: str
    path: str
    pattern: str

    def among(self, outputs: Files) -> dict[str, Blob]:
        """The files of the input. Raises KeyError where the output is missing."""
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

    `code` are the digests of webkiln's files that the stage runs. `tools` are tables of versions,
    one of which must hold on the worker. Outputs with digests in `doubted` are uploaded again, even
    if the remote cache claims to have them.
    """

    task: str
    stage: str
    inputs: Mapping[str, Files | PendingOutput]
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
        return {
            role: files
            for role, files in self.inputs.items()
            if not isinstance(files, PendingOutput)
        }

    def blobs(self) -> Iterable[Blob]:
        """The blobs of the inputs that are known."""
        return (blob for files in self.files.values() for blob in files.values())

    def after(self, made: Mapping[str, Files]) -> Self:
        """The same action with the outputs of the steps before it. Raises KeyError where one that
        it reads is missing.
        """
        inputs = {
            role: files.among(made[files.task]) if isinstance(files, PendingOutput) else files
            for role, files in self.inputs.items()
        }
        return replace(self, inputs=inputs)


def _to_json(files: Files | PendingOutput) -> Any:
    if isinstance(files, PendingOutput):
        return [files.task, files.path, files.pattern]
    return {inside: [blob.sha256, blob.bytes] for inside, blob in files.items()}


def _from_json(data: Any) -> Files | PendingOutput:
    return (
        {inside: Blob(*blob) for inside, blob in data.items()}
        if isinstance(data, Mapping)
        else PendingOutput(*data)
    )


def resources(action: Action, size: int) -> dict[str, float]:
    """The resources of an execution, in addition to one processor: gigabytes of memory for inputs
    of `size` bytes, and programs of which a machine runs only a limited number.
    """
    memory = (
        LEAST_MEMORY
        + FRAMEWORK_MEMORY.get(action.stage, 0.0)
        + MEMORY.get(action.stage, 0.0) * size / GIGABYTE
    )
    programs = {"compiler": 1.0} if action.stage in ("compile", "link") else {}
    if action.stage == "verify" and action.params["browser"] in BROWSERS:
        programs |= dict.fromkeys(action.requirements.tools, 1.0)
    return {"memory": round(memory, 3), **programs}
