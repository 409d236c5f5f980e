"""docs/keras.md says what the table of layers says."""

from tests.docs.keras_page import PAGE, page


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.docs.keras_page"
