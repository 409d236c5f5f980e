"""What a Python source imports and which data it names, read without running it."""

import re
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from webkiln import canonical
from webkiln.build.derived import Derived
from webkiln.errors import RecipeError

if TYPE_CHECKING:
    import ast

READING, OWN = "imports/1", "own/1"
"""Prefixes of remembered keys, with the version of the analysis. Trees of other versions of webkiln
use the same file.
"""
PARSING = Lock()
"""Python 3.11 shares the depth counter of its parser between threads."""
PIECES = re.compile(
    r"""((?:[^"'#\s]++|[ \t]++(?![#\n])|\n(?![ \t]*(?:\#[^\n]*)?\n))+)"""
    r"""|(\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|["'])"""
    r"""|[ \t]*#[^\n]*|[ \t]+|\n""",
    re.DOTALL,
)
"""Two groups match code and strings, which stay; the rest matches what does not run."""
TYPE_CHECKING_BLOCK = re.compile(
    r"^([ \t]*)if TYPE_CHECKING:\n(?:\1[ \t]+[^\n]*\n?)+", re.MULTILINE
)
"""Read by type checkers only."""
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;]+)|import[ \t]+([^\n;]+))",
    re.MULTILINE,
)
WORD = re.compile(r"\bimport\b")
NAMES_DATA = re.compile(r"^DATA\b", re.MULTILINE)


def user_source(
    path: Path, digest: str, derived: Derived, *, relative: bool = False
) -> tuple[list[str], list[str]]:
    """The imports and the data globs of a user file, whose bytes have this digest. With `relative`,
    relative imports are skipped, else they are an error.
    """
    key = f"{READING}:{digest}"
    known = derived.get(key)
    if known is None:
        tree = _parsed(path)
        known = [
            sorted(set(modules_in(tree, path, relative=relative))),
            list(literal(tree, "DATA")),
        ]
        if not relative:
            derived.remember(key, known)
    return known[0], known[1]


def own_source(path: Path, digest: str, derived: Derived) -> tuple[list[str], list[str], str]:
    """The imports, the data globs and the executable digest of one of webkiln's own files, whose
    bytes have this digest.
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
    """A Python source without comments, blank lines and trailing spaces, and the same with all
    strings emptied.
    """
    pieces = PIECES.findall(source)
    text, code = (
        "".join([run or string for run, string in pieces]),
        "".join([run or (string and '""') for run, string in pieces]),
    )
    return text.strip("\n"), code.strip("\n")


def imports_in(code: str, path: Path) -> Iterator[str]:
    """The modules that a source imports, and names that may be modules; its strings are emptied.
    Much faster than parsing, which is the fallback for imports that are not one per line.
    """
    executed = TYPE_CHECKING_BLOCK.sub("", code)
    imports = IMPORT.findall(executed)
    if len(imports) != len(WORD.findall(executed)) or "\\\n" in executed:
        yield from modules_in(_parsed(path), path)
        return
    for package, names, modules in imports:
        if package.startswith("."):
            raise RecipeError(
                f"{path}: relative imports are not supported here; write the full module name"
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


def literal(tree: "ast.Module", name: str) -> tuple[str, ...]:
    """The value of a module-level tuple of strings, read without running the module; empty where it
    is not assigned.
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
    """The modules that a source imports, and names that may be modules."""
    import ast

    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            todo += node.orelse  # the body is for type checkers only
            continue
        todo += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                if relative:
                    continue
                raise RecipeError(
                    f"{path}:{node.lineno}: relative imports are not supported here; write the full"
                    " module name"
                )
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
