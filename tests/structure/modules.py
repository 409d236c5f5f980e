"""The modules of the package and what they import."""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "pipeline" / "webkiln"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_share" not in path.parts)
STAGES = sorted((REPOSITORY / "stages").glob("*.py"))
TESTS = sorted(
    path
    for path in (REPOSITORY / "tests").rglob("*.py")
    if not {"node_modules", "__pycache__"} & {*path.parts}
)


@cache
def imports(path: Path) -> Sequence[str]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            yield node.module
            if node.module == "webkiln":
                yield from (f"webkiln.{alias.name}" for alias in node.names)


def package_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()
