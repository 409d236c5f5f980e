"""Convert the spec of a LiteRT model to a Graph, with one handler per operator."""

from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.tflite.fold import FOLDS
from webkiln.frontends.tflite.operators.table import DOMAINS

HANDLERS = NodeHandlers(
    DOMAINS,
    FOLDS,
    own_domain="TensorFlow Lite",
    advice="Convert the model without it, or register a handler",
)


class TfliteConverter(NodeConverter):
    """The converter. `register_handler` adds operators; custom ones have domain="custom"."""

    handlers = HANDLERS
    register_handler = HANDLERS.register
