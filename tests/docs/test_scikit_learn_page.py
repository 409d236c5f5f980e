"""docs/from-scikit-learn.md matches the tables."""

import onnx

from tests.docs.scikit_learn_page import PAGE, page
from webkiln.frontends.onnx.classical import DESCRIPTIONS, DOMAIN, UNSUPPORTED
from webkiln.frontends.onnx.operators.table import DOMAINS


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.scikit_learn_page"


def test_every_operator_of_the_domain_is_converted_or_has_an_alternative() -> None:
    operators = {
        schema.name
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.domain == DOMAIN
    }
    assert operators == DESCRIPTIONS.keys() | UNSUPPORTED.keys()
    assert DOMAINS[DOMAIN].keys() == DESCRIPTIONS.keys()
