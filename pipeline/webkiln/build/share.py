"""Where the files live that the engine shares between models: stages, kernels, runtime, lock files."""

from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Share:
    """`root` holds stages/, kernels/, runtime/ and the lock files; `package` is the folder of the
    webkiln package.
    """

    root: Path
    package: Path

    @property
    def installed(self) -> bool:
        """Whether these are files of a wheel, and no checkout's."""
        return self.root.parent == self.package

    def above(self, name: str) -> Path:
        """The folder that a name in keys, or a pattern of names, starts from: `webkiln/...` is in
        the package, all else below the root.
        """
        return self.package.parent if name.startswith(f"{self.package.name}/") else self.root

    def file(self, name: str) -> Path:
        """The file that has a name in keys."""
        return self.above(name) / name

    def stage(self, name: str) -> Path:
        return self.root / "stages" / f"{name}.py"


def shared_root() -> Path:
    """The root of an editable checkout, or `webkiln/_share` of an installed wheel."""
    installed = PACKAGE / "_share"
    return installed if installed.is_dir() else PACKAGE.parent.parent


def share() -> Share:
    return Share(shared_root(), PACKAGE)
