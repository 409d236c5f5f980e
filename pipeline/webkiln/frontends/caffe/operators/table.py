"""All supported layer types."""

from webkiln.frontends.caffe.operators.conv import CONV
from webkiln.frontends.caffe.operators.detection import DETECTION
from webkiln.frontends.caffe.operators.elementwise import ELEMENTWISE
from webkiln.frontends.caffe.operators.operands import own
from webkiln.frontends.caffe.operators.pool import POOL
from webkiln.frontends.caffe.operators.recurrent import RECURRENT
from webkiln.frontends.caffe.operators.shape import SHAPE
from webkiln.frontends.nodes.call import NodeHandler

LAYERS: dict[str, NodeHandler] = {
    name: own(handler)
    for name, handler in {**ELEMENTWISE, **CONV, **POOL, **SHAPE, **RECURRENT, **DETECTION}.items()
}
