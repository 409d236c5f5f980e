"""docs/keras.md matches the table of layers."""

from tests.docs.keras_page import PAGE, page


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.keras_page"
