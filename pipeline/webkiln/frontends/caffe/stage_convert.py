"""spec.json of a net of Caffe -> its structure in the IR."""

from functools import partial

from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.nodes.stage import convert_nodes

converted = partial(convert_nodes, CaffeConverter)
