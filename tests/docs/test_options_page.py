"""What is written from the table of options is current."""

from tests.docs import options_page

MEND = "run: python -m tests.docs.options_page"


def test_the_page_lists_the_options_of_the_table() -> None:
    assert options_page.PAGE.read_text("utf-8") == options_page.page(), MEND


def test_the_plugin_has_the_options_of_the_table() -> None:
    assert options_page.SCRIPT.read_text("utf-8") == options_page.script(), MEND
