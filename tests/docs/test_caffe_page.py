"""docs/from-caffe.md matches the table of layers, and each of these is tested."""

from tests.docs.caffe_page import PAGE, UNSUPPORTED, nets, page
from webkiln.frontends.caffe.operators.table import LAYERS


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.docs.caffe_page"


def test_every_converted_layer_is_tested_and_listed() -> None:
    assert not [name for name in LAYERS if not nets(name)]
    assert not [name for name in LAYERS if any(f"`{name}`" in row for row in UNSUPPORTED)]
