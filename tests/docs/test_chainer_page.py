"""docs/from-chainer.md says what the tables of links and functions say, each of which is tried."""

from tests.docs.chainer_page import FUNCTIONS, LINKS, PAGE, page, tried


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.docs.chainer_page"


def test_every_recorded_function_is_tested() -> None:
    names = [("F", name) for group in FUNCTIONS.values() for name in group] + [
        ("L", name) for group in LINKS.values() for name in group
    ]
    assert [name for letter, name in names if not tried(letter, name)] == []
