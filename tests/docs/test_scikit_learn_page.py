"""docs/from-scikit-learn.md says what the tables say."""

import onnx

from tests.docs.scikit_learn_page import PAGE, page
from webkiln.frontends.onnx.classical import DESCRIPTIONS, DOMAIN, UNSUPPORTED
from webkiln.frontends.onnx.operators.table import DOMAINS


def test_the_page_is_that_of_the_tables() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "write it anew: python -m tests.docs.scikit_learn_page"
    )


def test_every_operator_of_the_domain_is_converted_or_refused_with_a_way_to_go() -> None:
    known = {
        schema.name
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.domain == DOMAIN
    }
    assert known == DESCRIPTIONS.keys() | UNSUPPORTED.keys()
    assert DOMAINS[DOMAIN].keys() == DESCRIPTIONS.keys()
