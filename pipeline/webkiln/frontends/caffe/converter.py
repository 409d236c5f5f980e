"""CaffeConverter: spec of a net of Caffe -> Graph, by handlers of layers."""

from webkiln.frontends.caffe.operators.table import LAYERS
from webkiln.frontends.caffe.schema import PYTHON
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.fold import Folds
from webkiln.frontends.nodes.handlers import NodeHandlers

HANDLERS = NodeHandlers(
    {"": LAYERS, PYTHON: {}},
    Folds(),
    own_domain="caffe",
    advice="Build a part of the net without it, or register a handler",
)


class CaffeConverter(NodeConverter):
    """Converts one net at a time; `register_handler` adds layers of a fork, and with
    `domain="python"` classes that Python layers name.
    """

    handlers = HANDLERS
    register_handler = HANDLERS.register
