"""Convert the spec of a Caffe net to a Graph, with one handler per layer type."""

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
    """The converter. `register_handler` adds layers of a fork or, with `domain="python"`, classes
    of Python layers.
    """

    handlers = HANDLERS
    register_handler = HANDLERS.register
