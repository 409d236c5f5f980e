"""docs/from-tflite.md matches the tables of operators."""

from tests.docs.tflite_page import NO_KERNEL, PAGE, REASONS, page, rows
from webkiln.frontends.tflite.enumerations import OPERATORS as BUILTIN
from webkiln.frontends.tflite.operators.table import OPERATORS


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.tflite_page"


def test_most_operators_are_converted() -> None:
    table = rows()
    assert sum(converted == "yes" for _, converted, _ in table) >= 0.85 * len(table)


def test_the_tables_name_existing_operators() -> None:
    assert {*NO_KERNEL, *REASONS} <= set(BUILTIN)
    assert set(OPERATORS) - set(BUILTIN) == {"STATE", "SET_STATE"}
    assert not REASONS.keys() & OPERATORS.keys()
