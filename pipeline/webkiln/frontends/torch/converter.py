"""TorchConverter: spec of a program of PyTorch -> Graph, by handlers of ATen's operators."""

from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.torch.fold import FOLDS
from webkiln.frontends.torch.operators.table import DOMAINS

HANDLERS = NodeHandlers(
    DOMAINS, FOLDS, own_domain="aten", advice="Write the model without it, or register a handler"
)


class TorchConverter(NodeConverter):
    """Converts one model at a time; `register_handler` adds operators of one's own."""

    handlers = HANDLERS
    register_handler = HANDLERS.register
