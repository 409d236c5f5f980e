"""Which edits of webkiln's own code count."""

import ast
from pathlib import Path

import pytest

from tests.build.tree import REPOSITORY, Tree, executed
from webkiln.build.closure import imports_in, modules_in, stripped
from webkiln.errors import RecipeError

SOURCES = sorted([*REPOSITORY.glob("pipeline/webkiln/**/*.py"), *REPOSITORY.glob("stages/*.py")])


@pytest.mark.parametrize("source", [
    "x = 1  # one\n\n\n# two\n    # three\ny = 2\n",
    "x = '# no comment'  # but this\n",
    'x = """\n# no comment\n\n   \n"""  # but this\n',
    "x = r'\\'#'  # raw\n",
    "x = f\"{a['#']}\"  # in a replacement\n",
    "x = (  # a parenthesis\n    1,  \n\n    2,\n)\n",
    "if x:\n    pass\n# at the end",
    "",
])  # fmt: skip
def test_what_is_left_runs_the_same(source: str) -> None:
    left, _ = stripped(source)
    assert ast.dump(ast.parse(left)) == ast.dump(ast.parse(source))
    assert left.count("#") == source.count("#") - sum(
        word in source for word in ("# one", "# two", "# three", "# but this", "# raw", "# in a", "# a par", "# at the")
    )


def test_all_of_webkiln_runs_the_same() -> None:
    assert len(SOURCES) > 500
    for path in SOURCES:
        source = path.read_text("utf-8")
        left, _ = stripped(source)
        assert ast.dump(ast.parse(left)) == ast.dump(ast.parse(source)), path


def test_imports_are_found_without_parsing() -> None:
    for path in SOURCES:
        source = path.read_text("utf-8")
        assert {*imports_in(stripped(source)[1], path)} == {*modules_in(ast.parse(source), path)}, path


@pytest.mark.parametrize("source", [
    "import a, b.c as d\nfrom e import (\n    f,  # one\n    g as h,\n)\n",
    "if TYPE_CHECKING:\n    import a\n\n    from b import c\nelse:\n    import d\nimport e\n",
    "def f():\n    if TYPE_CHECKING:\n        import a\n    import b\n",
    '"""\nimport a\n"""\nx = \'\'\'\nfrom b import c\'\'\'\nimport d\n',
    "def f():\n    raise ValueError(\n    ) from error\n\n\nimportant = 1\n",
])  # fmt: skip
def test_what_is_an_import(source: str) -> None:
    assert {*imports_in(stripped(source)[1], Path("x"))} == {*modules_in(ast.parse(source), Path("x"))}


def test_a_relative_import_is_refused() -> None:
    with pytest.raises(RecipeError, match="relative import"):
        [*imports_in("from .a import b", Path("x"))]


def test_a_comment_reruns_nothing(toy: Tree) -> None:
    toy.build()
    for name in ("pipeline/webkiln/errors.py", "stages/generate.py", "pipeline/webkiln/passes/drop_noop.py"):
        path = toy.root / name
        path.write_text("# A comment.\n\n" + path.read_text() + "\n# Another one.\n")
        before = len(toy.log())
        toy.doit("build", "model=toy")
        assert not executed(toy.log()[before:])
