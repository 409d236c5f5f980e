"""spec.json of a TensorFlow graph -> graph."""

from functools import partial

from webkiln.frontends.nodes.stage import convert_nodes
from webkiln.frontends.tensorflow.converter import TensorFlowConverter

converted = partial(convert_nodes, TensorFlowConverter)
