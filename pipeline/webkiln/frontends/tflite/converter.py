"""TfliteConverter: spec of a LiteRT model -> Graph, by handlers of operators."""

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
    """Converts one model at a time; `register_handler` adds operators of one's own, custom ones
    with domain="custom".
    """

    handlers = HANDLERS
    register_handler = HANDLERS.register
