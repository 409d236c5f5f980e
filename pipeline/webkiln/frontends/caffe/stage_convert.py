"""spec.json of a Caffe net -> graph."""

from functools import partial

from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.nodes.stage import convert_nodes

converted = partial(convert_nodes, CaffeConverter)
