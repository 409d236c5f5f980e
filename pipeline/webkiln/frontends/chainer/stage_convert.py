"""spec.json of a recorded chain -> its structure in the IR."""

from functools import partial

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.nodes.stage import converted_nodes

converted = partial(converted_nodes, ChainerConverter)
