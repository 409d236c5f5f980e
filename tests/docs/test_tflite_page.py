"""docs/from-tflite.md says what the tables of operators say."""

from tests.docs.tflite_page import NO_KERNEL, PAGE, REASONS, page, rows
from webkiln.frontends.tflite.enumerations import OPERATORS as BUILTIN
from webkiln.frontends.tflite.operators.table import OPERATORS


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.docs.tflite_page"


def test_most_operators_are_converted() -> None:
    found = rows()
    assert sum(said == "yes" for _, said, _ in found) >= 0.85 * len(found)


def test_the_tables_name_operators_that_there_are() -> None:
    assert {*NO_KERNEL, *REASONS} <= set(BUILTIN)
    assert set(OPERATORS) - set(BUILTIN) == {"STATE", "SET_STATE"}
    assert not REASONS.keys() & OPERATORS.keys()
