"""The page of TensorFlow's graphs is that of the tables, and its plugin works."""

from tests.docs.pages import blocks
from tests.docs.tensorflow_page import PAGE, page


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), "python -m tests.docs.tensorflow_page"
    assert not blocks("docs/from-tensorflow.md")
