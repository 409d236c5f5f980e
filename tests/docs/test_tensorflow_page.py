"""docs/from-tensorflow.md matches the tables of operators."""

from tests.docs.pages import blocks
from tests.docs.tensorflow_page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.tensorflow_page"
    assert not blocks("docs/from-tensorflow.md")
