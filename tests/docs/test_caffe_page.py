"""docs/from-caffe.md says what the table of layers says, each of which is tried."""

from tests.docs.caffe_page import PAGE, UNSUPPORTED, nets, page
from webkiln.frontends.caffe.operators.table import LAYERS


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it anew: python -m tests.docs.caffe_page"


def test_every_converted_layer_is_tested_and_listed() -> None:
    assert not [name for name in LAYERS if not nets(name)]
    assert not [name for name in LAYERS if any(f"`{name}`" in what for what in UNSUPPORTED)]
