"""Convert the spec of a PyTorch program to a Graph, with one handler per ATen operator."""

from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.torch.fold import FOLDS
from webkiln.frontends.torch.operators.table import DOMAINS

HANDLERS = NodeHandlers(
    DOMAINS, FOLDS, own_domain="aten", advice="Write the model without it, or register a handler"
)


class TorchConverter(NodeConverter):
    """The converter. `register_handler` adds operators."""

    handlers = HANDLERS
    register_handler = HANDLERS.register
