"""The files that all models share: stages, kernels, runtime, lock files."""

from dataclasses import dataclass
from pathlib import Path

from webkiln.shared_files import PACKAGE, shared_root


@dataclass(frozen=True, slots=True)
class Share:
    """`root` contains stages/, kernels/, runtime/ and the lock files; `package` is the folder of
    the webkiln package.
    """

    root: Path
    package: Path

    @property
    def installed(self) -> bool:
        """Whether these are the files of an installed wheel, not of a checkout."""
        return self.root.parent == self.package

    def above(self, name: str) -> Path:
        """The folder that a name in keys, or a glob of names, is relative to: the parent of the
        package for `webkiln/...`, else the root.
        """
        return self.package.parent if name.startswith(f"{self.package.name}/") else self.root

    def file(self, name: str) -> Path:
        """The file with this name in keys."""
        return self.above(name) / name

    def stage(self, name: str) -> Path:
        return self.root / "stages" / f"{name}.py"


def share() -> Share:
    return Share(shared_root(), PACKAGE)
