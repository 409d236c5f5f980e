"""docs/from-chainer.md matches the tables of links and functions, and each of these is tested."""

from tests.docs.chainer_page import FUNCTIONS, LINKS, PAGE, is_tested, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.chainer_page"


def test_every_recorded_function_is_tested() -> None:
    names = [("F", name) for group in FUNCTIONS.values() for name in group] + [
        ("L", name) for group in LINKS.values() for name in group
    ]
    assert [name for letter, name in names if not is_tested(letter, name)] == []
