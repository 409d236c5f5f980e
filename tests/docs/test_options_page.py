"""The files that are generated from the table of options are current."""

from tests.docs import options_page

COMMAND = "run: python -m tests.docs.options_page"


def test_the_page_lists_the_options_of_the_table() -> None:
    assert options_page.PAGE.read_text("utf-8") == options_page.page(), COMMAND


def test_the_plugin_has_the_options_of_the_table() -> None:
    assert options_page.SCRIPT.read_text("utf-8") == options_page.script(), COMMAND
