"""What is known of an action whose result is cached file by file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from webkiln.build.action import ActionResult, Each, joint
from webkiln.build.consumption import Consumed, files_of
from webkiln.build.sandbox import InputFile, Tree


@dataclass(frozen=True, slots=True)
class Parts:
    """`names` are those that the stage sees, by the places of the files in the folder; `parts` is
    what the caches have, by these names.
    """

    each: Each
    document: Mapping[str, Any]
    names: Mapping[str, str]
    items: Tree
    parts: Mapping[str, ActionResult]

    @property
    def missing(self) -> dict[str, InputFile]:
        return {name: item for name, item in self.items.items() if name not in self.parts}

    def consumed(self, trees: Mapping[str, Tree]) -> Consumed:
        return Consumed(files_of(trees), self.document, self.document)

    def result(self) -> ActionResult:
        """The results of all files as one."""
        outputs = {
            self.each.result
            + PurePosixPath(inside).with_suffix(self.each.suffix).as_posix(): self.parts[
                name
            ].outputs[self.each.result]
            for inside, name in self.names.items()
        }
        return ActionResult(
            outputs, provenance=joint(part.provenance for part in self.parts.values())
        )
