"""The static import closure of a stage: which first-party files it runs and which third-party
modules it names.
"""

import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING

from webkiln import canonical
from webkiln.build.action import Modules
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.reads import Stamp, is_fresh, stamp
from webkiln.build.share import Share
from webkiln.errors import RecipeError
from webkiln.recipe.sources import module_file

if TYPE_CHECKING:
    import ast

READING, OWN = "imports/1", "own/1"
"""What is remembered of a source, and how it is found: trees of other versions of webkiln remember
it in the same place.
"""
PARSING = Lock()
"""Python 3.11 counts the depth of what it parses for all threads together."""
PIECES = re.compile(
    r"""((?:[^"'#\s]++|[ \t]++(?![#\n])|\n(?![ \t]*(?:\#[^\n]*)?\n))+)"""
    r"""|(\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|["'])"""
    r"""|[ \t]*#[^\n]*|[ \t]+|\n""",
    re.DOTALL,
)
"""Code and strings, which stay, and what is between them that does not run."""
UNTAKEN = re.compile(r"^([ \t]*)if TYPE_CHECKING:\n(?:\1[ \t]+[^\n]*\n?)+", re.MULTILINE)
"""What only a type checker reads."""
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;]+)|import[ \t]+([^\n;]+))",
    re.MULTILINE,
)
WORD = re.compile(r"\bimport\b")
NAMES_DATA = re.compile(r"^DATA\b", re.MULTILINE)
INSTALLED = ("site-packages", "dist-packages")
Closure = tuple[dict[str, str], frozenset[str]]


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One first-party file: its name in keys, its digest, the first-party files and third-party
    modules it imports, its data.
    """

    name: str
    digest: str
    files: tuple[Path, ...]
    modules: tuple[str, ...]
    data: tuple[tuple[str, str], ...]
    places: tuple[Path, ...]
    """The file, its data, and the folders that were searched for imports and data."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The files that an import runs, and the folders where they are or would be."""

    files: Sequence[Path]
    folders: Sequence[Path]


class Closures:
    """Closures of one shared tree; every file is read once."""

    def __init__(self, share: Share, digests: FileDigests, derived: Derived) -> None:
        self._share = share
        self._digests = digests
        self._derived = derived
        self._package = share.package.name
        self._lock = RLock()
        self._sources: dict[Path, SourceFile] = {}
        self._closures: dict[tuple[Path, ...], Closure] = {}
        self._places: dict[tuple[Path, ...], frozenset[Path]] = {}
        self._found: dict[str, Imported] = {}
        self._stamps: dict[Path, Stamp | None] = {}

    def of(self, roots: tuple[Path, ...]) -> Closure:
        """Digests by name of the first-party files reachable from `roots` and of their data, and
        the
        third-party modules on the way.

        Data are the files that the literals `DATA` name by globs, below the shared root or, as
        `webkiln/...`, in the package.
        """
        with (
            self._lock
        ):  # several models are looked at together, and all of them read the same sources
            if roots not in self._closures:
                self._closures[roots] = self._walk(roots)
            return self._closures[roots]

    def is_unchanged(self, roots: tuple[Path, ...]) -> bool:
        """Whether the closure of `roots` is certainly what it was when it was read; False may also
        mean that the stamps cannot tell.
        """
        with self._lock:
            self.of(roots)
            stamps = {place: self._stamps[place] for place in self._places[roots]}
        return all(
            found is not None and stamp(str(place)) == found for place, found in stamps.items()
        )

    def first_party(self, script: Path) -> Closure:
        """The closure of a file that was seen to be imported, without itself: what it imports of
        the user's was seen as well.
        """
        imports, _ = self._imports(script, self._digest(script), relative=True)
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

    def modules(self, wanted: Modules) -> dict[str, Path]:
        """The files of the user's modules by their places below the root.

        Below a folder of installed packages only those of the module's own package are the user's;
        the others count by their versions.
        """
        installed = wanted.root.name in INSTALLED
        package = wanted.module.partition(".")[0]
        found: dict[str, Path] = {}
        todo = [wanted.module]
        while todo:
            module = todo.pop()
            parts = module.split(".")
            for depth in range(1, len(parts) + 1):
                path = module_file(wanted.root, ".".join(parts[:depth]))
                if (
                    path is not None
                    and (place := path.relative_to(wanted.root).as_posix()) not in found
                ):
                    found[place] = path
                    imported = self._imports(path, self._digest(path))[0]
                    todo += [
                        name
                        for name in imported
                        if not installed or name.partition(".")[0] == package
                    ]
        return found

    def _walk(self, roots: tuple[Path, ...]) -> Closure:
        files: dict[str, str] = {}
        modules: set[str] = set()
        seen: set[Path] = set()
        places: set[Path] = set()
        todo = list(roots)
        while todo:
            path = todo.pop()
            source = self._sources.get(path)
            if source is None:
                source = self._sources[path] = self._source(path)
            if path not in seen:
                seen.add(path)
                files[_numbered(source.name, files)] = source.digest
                files.update(source.data)
                modules.update(source.modules)
                places.update(source.places)
                todo += source.files
        self._places[roots] = frozenset(places)
        return files, frozenset(modules)

    def _source(self, path: Path) -> SourceFile:
        digest, name = self._digest(path), self._name(path)
        if name.startswith("user/"):  # which may read its own source
            imports, globs = self._imports(path, digest)
        else:
            imports, globs, digest = own_source(path, digest, self._derived)
        files: list[Path] = []
        modules: set[str] = set()
        places = [path]
        for module in imports:
            top = module.partition(".")[0]
            if top == self._package:
                imported = self._files(module)
                files += imported.files
                places += imported.folders
            elif top not in sys.stdlib_module_names:
                modules.add(top)
        data, around = self._data(globs)
        return SourceFile(
            name,
            digest,
            tuple(dict.fromkeys(files)),
            tuple(sorted(modules)),
            tuple(data.items()),
            (*places, *around),
        )

    def _data(self, globs: Iterable[str]) -> tuple[dict[str, str], list[Path]]:
        """The digests by name of the files that these globs match, and the places that decide which
        those are.
        """
        data: dict[str, str] = {}
        places: list[Path] = []
        for pattern in globs:
            root = self._share.above(pattern)
            folder = (root / pattern).parent
            self._note(folder)
            found = {match: self._digest(match) for match in root.glob(pattern) if match.is_file()}
            data |= {match.relative_to(root).as_posix(): value for match, value in found.items()}
            places += [folder, *found]
        return data, places

    def _note(self, place: Path) -> bool:
        """Remember the stamp of a file or folder before it is first read, or None where a later
        change may leave the same; whether it is there.
        """
        if place in self._stamps:
            return True
        now, found = time.time(), stamp(str(place))
        if found is not None:
            self._stamps[place] = None if is_fresh(found, now) else found
        return found is not None

    def _digest(self, path: Path) -> str:
        self._note(path)
        try:
            return self._digests.digest(path)
        except OSError as error:
            raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error

    def _name(self, path: Path) -> str:
        places = (self._share.package, f"{self._package}/"), (self._share.root, "")
        for root, prefix in sorted(places, key=lambda place: -len(place[0].parts)):
            if path.is_relative_to(root):
                return prefix + path.relative_to(root).as_posix()
        return f"user/{path.name}"

    def _files(self, module: str) -> Imported:
        """The files that importing `module` runs, each package's `__init__` on the way and the
        module itself, and the folders that decide that.
        """
        if module not in self._found:
            above, _, name = module.rpartition(".")
            found = self._files(above) if above else Imported([], [])
            here = self._share.package.parent.joinpath(*module.split("."))
            folders = [here] if self._note(here) else []
            files = [
                path
                for path in (
                    *(folder / "__init__.py" for folder in folders),
                    here.with_name(f"{name}.py"),
                )
                if path.is_file()
            ]
            self._found[module] = Imported([*found.files, *files], [*found.folders, *folders])
        return self._found[module]

    def _imports(
        self, path: Path, digest: str, *, relative: bool = False
    ) -> tuple[list[str], list[str]]:
        key = f"{READING}:{digest}"
        known = self._derived.get(key)
        if known is None:
            tree = _parsed(path)
            known = [
                sorted(set(modules_in(tree, path, relative=relative))),
                list(literal(tree, "DATA")),
            ]
            if not relative:
                self._derived.remember(key, known)
        return known[0], known[1]


def own_source(path: Path, digest: str, derived: Derived) -> tuple[list[str], list[str], str]:
    """What one of webkiln's own files, whose bytes have this digest, imports, the globs of its
    data, and its digest as far as it runs.
    """
    key = f"{OWN}:{digest}"
    known = derived.get(key)
    if known is None:
        text, code = stripped(path.read_text("utf-8"))
        globs = literal(_parsed(path), "DATA") if NAMES_DATA.search(code) else ()
        known = [sorted(set(imports_in(code, path))), list(globs), canonical.digest(text.encode())]
        derived.remember(key, known)
    return known[0], known[1], known[2]


def stripped(source: str) -> tuple[str, str]:
    """A Python source without comments, blank lines and spaces at the ends of lines, and the same
    with empty strings alone.
    """
    pieces = PIECES.findall(source)
    text, code = (
        "".join([run or kept for run, kept in pieces]),
        "".join([run or (kept and '""') for run, kept in pieces]),
    )
    return text.strip("\n"), code.strip("\n")


def imports_in(code: str, path: Path) -> Iterator[str]:
    """The modules, or names of modules, that a source imports whose strings are empty. Several
    times
    faster than to parse it, which is done where imports are not written one a line.
    """
    taken = UNTAKEN.sub("", code)
    found = IMPORT.findall(taken)
    if len(found) != len(WORD.findall(taken)) or "\\\n" in taken:
        yield from modules_in(_parsed(path), path)
        return
    for package, names, modules in found:
        if package.startswith("."):
            raise RecipeError(
                f"{path}: a relative import hides what runs; write the full module name"
            )
        parts = [
            part.split()[0] for part in (names or modules).strip("()").split(",") if part.strip()
        ]
        yield from [package, *(f"{package}.{name}" for name in parts)] if package else parts


def _parsed(path: Path) -> "ast.Module":
    import ast

    try:
        with PARSING:
            return ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise RecipeError(f"{path}:{error.lineno}: {error.msg}") from error


def _numbered(name: str, taken: Mapping[str, str]) -> str:
    """The name, or where another file of the user's has it, the name with a number."""
    number, found = 1, name
    while found.startswith("user/") and found in taken:
        number += 1
        found = f"{name}#{number}"
    return found


def literal(tree: "ast.Module", name: str) -> tuple[str, ...]:
    """The value of a module-level tuple of strings, read without running the module; empty where
    there is none.
    """
    import ast

    for node in tree.body:
        names = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign)
            else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in names):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            value = ast.literal_eval(node.value) if node.value is not None else ()
            return tuple(value)
    return ()


def modules_in(tree: "ast.Module", path: Path, *, relative: bool = False) -> Iterator[str]:
    """The modules, or names of modules, that a source imports."""
    import ast

    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            todo += node.orelse  # what only a type checker reads does not run
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                if relative:
                    continue
                raise RecipeError(
                    f"{path}:{node.lineno}: a relative import hides what runs; write the full"
                    " module name"
                )
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
