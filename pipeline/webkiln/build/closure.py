"""The static import closure of a stage: the first-party files that it runs, and the third-party
modules that they import.
"""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock

from webkiln.build.action import Modules
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.file_stamps import Stamp, is_fresh, stamp
from webkiln.build.share import Share
from webkiln.build.source_imports import own_source, user_source
from webkiln.errors import RecipeError
from webkiln.recipe.sources import module_file

INSTALLED = ("site-packages", "dist-packages")
Closure = tuple[dict[str, str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A first-party file: its name in keys, its digest, the first-party files and third-party
    modules that it imports, and its data.
    """

    name: str
    digest: str
    files: tuple[Path, ...]
    modules: tuple[str, ...]
    data: tuple[tuple[str, str], ...]
    paths: tuple[Path, ...]
    """The file, its data, and the folders that were searched for imports and data."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The files that an import runs, and the folders that contain or could contain them."""

    files: Sequence[Path]
    folders: Sequence[Path]


class Closures:
    """The closures of one shared tree. Each file is read once."""

    def __init__(self, share: Share, digests: FileDigests, derived: Derived) -> None:
        self._share = share
        self._digests = digests
        self._derived = derived
        self._package = share.package.name
        self._lock = RLock()
        self._sources: dict[Path, SourceFile] = {}
        self._closures: dict[tuple[Path, ...], Closure] = {}
        self._paths: dict[tuple[Path, ...], frozenset[Path]] = {}
        self._imported: dict[str, Imported] = {}
        self._stamps: dict[Path, Stamp | None] = {}

    def of(self, roots: tuple[Path, ...]) -> Closure:
        """The digests by name of the first-party files reachable from `roots` and of their data,
        and the third-party modules that they import.

        Data are the files matched by the globs in the literals `DATA`, relative to the shared root
        or, as `webkiln/...`, in the package.
        """
        with self._lock:  # several models are read in parallel, from the same sources
            if roots not in self._closures:
                self._closures[roots] = self._walk(roots)
            return self._closures[roots]

    def is_unchanged(self, roots: tuple[Path, ...]) -> bool:
        """Whether the closure of `roots` is certainly the same as when it was read. False may also
        mean that the stamps cannot prove it.
        """
        with self._lock:
            self.of(roots)
            stamps = {path: self._stamps[path] for path in self._paths[roots]}
        return all(
            recorded is not None and stamp(str(path)) == recorded
            for path, recorded in stamps.items()
        )

    def first_party(self, script: Path) -> Closure:
        """The closure of a user file that a run imported, without the file itself. The user files
        that it imports were recorded too.
        """
        imports, _ = user_source(script, self._digest(script), self._derived, relative=True)
        tops = {module: module.partition(".")[0] for module in imports}
        files, modules = self.of(
            tuple(
                path
                for module, top in tops.items()
                if top == self._package
                for path in self._files(module).files
            )
        )
        return files, modules | {
            top
            for top in tops.values()
            if top != self._package and top not in sys.stdlib_module_names
        }

    def modules(self, requested: Modules) -> dict[str, Path]:
        """The files of the requested user modules by their paths relative to the root.

        In a folder of installed packages, only files of the module's own package count as user
        files. The versions of other packages are part of the key.
        """
        installed = requested.root.name in INSTALLED
        package = requested.module.partition(".")[0]
        files: dict[str, Path] = {}
        todo = [requested.module]
        while todo:
            module = todo.pop()
            parts = module.split(".")
            for depth in range(1, len(parts) + 1):
                path = module_file(requested.root, ".".join(parts[:depth]))
                if (
                    path is not None
                    and (name := path.relative_to(requested.root).as_posix()) not in files
                ):
                    files[name] = path
                    imported = user_source(path, self._digest(path), self._derived)[0]
                    todo += [
                        name
                        for name in imported
                        if not installed or name.partition(".")[0] == package
                    ]
        return files

    def _walk(self, roots: tuple[Path, ...]) -> Closure:
        files: dict[str, str] = {}
        modules: set[str] = set()
        visited: set[Path] = set()
        paths: set[Path] = set()
        todo = list(roots)
        while todo:
            path = todo.pop()
            source = self._sources.get(path)
            if source is None:
                source = self._sources[path] = self._source(path)
            if path not in visited:
                visited.add(path)
                files[_numbered(source.name, files)] = source.digest
                files.update(source.data)
                modules.update(source.modules)
                paths.update(source.paths)
                todo += source.files
        self._paths[roots] = frozenset(paths)
        return files, frozenset(modules)

    def _source(self, path: Path) -> SourceFile:
        digest, name = self._digest(path), self._name(path)
        if name.startswith("user/"):  # it may read its own source, so comments count
            imports, globs = user_source(path, digest, self._derived)
        else:
            imports, globs, digest = own_source(path, digest, self._derived)
        files: list[Path] = []
        modules: set[str] = set()
        paths = [path]
        for module in imports:
            top = module.partition(".")[0]
            if top == self._package:
                imported = self._files(module)
                files += imported.files
                paths += imported.folders
            elif top not in sys.stdlib_module_names:
                modules.add(top)
        data, data_paths = self._data(globs)
        return SourceFile(
            name,
            digest,
            tuple(dict.fromkeys(files)),
            tuple(sorted(modules)),
            tuple(data.items()),
            (*paths, *data_paths),
        )

    def _data(self, globs: Iterable[str]) -> tuple[dict[str, str], list[Path]]:
        """The digests by name of the files that these globs match, and the paths that determine the
        match.
        """
        data: dict[str, str] = {}
        paths: list[Path] = []
        for pattern in globs:
            root = self._share.above(pattern)
            folder = (root / pattern).parent
            self._record_stamp(folder)
            matches = {
                match: self._digest(match) for match in root.glob(pattern) if match.is_file()
            }
            data |= {match.relative_to(root).as_posix(): value for match, value in matches.items()}
            paths += [folder, *matches]
        return data, paths

    def _record_stamp(self, path: Path) -> bool:
        """Record the stamp of a file or folder before it is first read; None if a later change
        could leave the same stamp. Whether the path exists.
        """
        if path in self._stamps:
            return True
        now, current = time.time(), stamp(str(path))
        if current is not None:
            self._stamps[path] = None if is_fresh(current, now) else current
        return current is not None

    def _digest(self, path: Path) -> str:
        self._record_stamp(path)
        try:
            return self._digests.digest(path)
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error

    def _name(self, path: Path) -> str:
        prefixes = (self._share.package, f"{self._package}/"), (self._share.root, "")
        for root, prefix in sorted(prefixes, key=lambda pair: -len(pair[0].parts)):
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return f"user/{path.name}"

    def _files(self, module: str) -> Imported:
        """The files that importing `module` runs: the `__init__` of each enclosing package and the
        module itself; and the folders that determine them.
        """
        if module not in self._imported:
            parent, _, name = module.rpartition(".")
            enclosing = self._files(parent) if parent else Imported([], [])
            here = self._share.package.parent.joinpath(*module.split("."))
            folders = [here] if self._record_stamp(here) else []
            files = [
                path
                for path in (
                    *(folder / "__init__.py" for folder in folders),
                    here.with_name(f"{name}.py"),
                )
                if path.is_file()
            ]
            self._imported[module] = Imported(
                [*enclosing.files, *files], [*enclosing.folders, *folders]
            )
        return self._imported[module]


def _numbered(name: str, used: Mapping[str, str]) -> str:
    """The name; with a number where another user file has it."""
    number, unique = 1, name
    while unique.startswith("user/") and unique in used:
        number += 1
        unique = f"{name}#{number}"
    return unique
