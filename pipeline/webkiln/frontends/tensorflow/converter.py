"""Convert the spec of a TensorFlow graph to a Graph, with one handler per raw operator."""

from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.tensorflow.domains import COMPLEX_DOMAIN
from webkiln.frontends.tensorflow.fold import FOLDS
from webkiln.frontends.tensorflow.operators.complex import COMPLEX
from webkiln.frontends.tensorflow.operators.table import OPERATORS
from webkiln.frontends.tensorflow.unsupported import REFUSED

HANDLERS = NodeHandlers(
    {"": OPERATORS, COMPLEX_DOMAIN: COMPLEX},
    FOLDS,
    own_domain="TensorFlow",
    advice="Save the model without it, or register a handler for it (docs/from-tensorflow.md)",
    refused=REFUSED,
    supports_subgraphs=True,
)


class TensorFlowConverter(NodeConverter):
    """The converter. `register_handler` adds operators."""

    handlers = HANDLERS
    register_handler = HANDLERS.register
