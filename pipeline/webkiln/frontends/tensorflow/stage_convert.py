"""spec.json of a graph of TensorFlow -> its structure in the IR."""

from functools import partial

from webkiln.frontends.nodes.stage import convert_nodes
from webkiln.frontends.tensorflow.converter import TensorFlowConverter

converted = partial(convert_nodes, TensorFlowConverter)
