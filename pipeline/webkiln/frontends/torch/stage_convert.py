"""spec.json of a PyTorch program -> graph."""

from functools import partial

from webkiln.frontends.nodes.stage import convert_nodes
from webkiln.frontends.torch.converter import TorchConverter

converted = partial(convert_nodes, TorchConverter)
