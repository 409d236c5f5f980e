"""spec.json of a recorded chain -> its structure in the IR."""

from functools import partial

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.nodes.stage import convert_nodes

converted = partial(convert_nodes, ChainerConverter)
