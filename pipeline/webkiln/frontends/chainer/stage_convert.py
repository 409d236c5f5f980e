"""spec.json of a recorded chain -> graph."""

from functools import partial

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.nodes.stage import convert_nodes

converted = partial(convert_nodes, ChainerConverter)
