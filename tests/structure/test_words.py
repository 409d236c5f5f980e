"""One word, one meaning: a class, or an alias of a type, has its name to itself."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.structure.test_imports import MODULES, REPOSITORY, STAGES

WORD = re.compile(r"[A-Z]+[a-z][A-Za-z]*")


def words(path: Path) -> Iterator[str]:
    """The classes and aliases of types that a module defines for others."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_no_word_has_two_meanings() -> None:
    places = defaultdict(list)
    for path in (*MODULES, *STAGES):
        for word in words(path):
            if WORD.fullmatch(word):
                places[word].append(path.relative_to(REPOSITORY).as_posix())
    assert {word: found for word, found in places.items() if len(found) > 1} == {}
