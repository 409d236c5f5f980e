"""docs/from-pytorch.md matches the table of handlers, which covers most of core ATen."""

from tests.docs.torch_page import PAGE, core, page, reason


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.torch_page"


def test_nine_of_ten_core_operators_are_converted() -> None:
    ops = core()
    assert len(ops) > 150
    assert sum(not reason(op) for op in ops) >= 0.9 * len(ops)
