"""The bounds on classes and functions in CONTRIBUTING.md."""

import ast
from pathlib import Path

import pytest

from tests.structure.modules import MODULES, STAGES, name

MAX_FIELDS = 10
MAX_LINES = 60


def beyond_bounds(source: str) -> list[str]:
    """The classes and functions of a module that are too large, with their sizes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            count = sum(isinstance(item, ast.AnnAssign) for item in node.body)
            if count > MAX_FIELDS:
                found.append(f"{node.name} has {count} fields (at most {MAX_FIELDS})")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            if lines > MAX_LINES:
                found.append(f"{node.name} has {lines} lines (at most {MAX_LINES})")
    return found


@pytest.mark.parametrize("path", [*MODULES, *STAGES], ids=name)
def test_classes_and_functions_are_within_the_bounds(path: Path) -> None:
    found = [f"{name(path)}: {item}" for item in beyond_bounds(path.read_text("utf-8"))]
    assert not found, "\n".join(found)


def test_what_is_beyond_the_bounds() -> None:
    fields = [f"    f{number}: int" for number in range(MAX_FIELDS + 1)]
    lines = [f"    {number}" for number in range(MAX_LINES)]
    assert not beyond_bounds("\n".join(["class A:", *fields[1:], "def f():", *lines[1:]]))
    assert beyond_bounds("\n".join(["class A:", *fields, "def f():", *lines])) == [
        "A has 11 fields (at most 10)",
        "f has 61 lines (at most 60)",
    ]
