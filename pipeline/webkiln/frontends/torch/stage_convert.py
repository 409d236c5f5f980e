"""spec.json of a program of PyTorch -> its structure in the IR."""

from functools import partial

from webkiln.frontends.nodes.stage import convert_nodes
from webkiln.frontends.torch.converter import TorchConverter

converted = partial(convert_nodes, TorchConverter)
