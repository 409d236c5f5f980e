"""docs/from-pytorch.md says what the table of handlers says, and most of core ATen is there."""

from tests.docs.torch_page import PAGE, core, page, reason


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.docs.torch_page"


def test_nine_of_ten_core_operators_are_converted() -> None:
    ops = core()
    assert len(ops) > 150
    assert sum(not reason(op) for op in ops) >= 0.9 * len(ops)
