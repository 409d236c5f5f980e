"""All supported raw operators of TensorFlow."""

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.nodes.states import STATES
from webkiln.frontends.tensorflow.operators.audio import AUDIO
from webkiln.frontends.tensorflow.operators.control import CONTROL
from webkiln.frontends.tensorflow.operators.convolution import CONVOLUTION
from webkiln.frontends.tensorflow.operators.counting import COUNTING
from webkiln.frontends.tensorflow.operators.elementwise import ELEMENTWISE
from webkiln.frontends.tensorflow.operators.fused import FUSED
from webkiln.frontends.tensorflow.operators.images import IMAGES
from webkiln.frontends.tensorflow.operators.indexing import INDEXING
from webkiln.frontends.tensorflow.operators.linear import LINEAR
from webkiln.frontends.tensorflow.operators.lists import LISTS
from webkiln.frontends.tensorflow.operators.loops import LOOPS
from webkiln.frontends.tensorflow.operators.normalization import NORMALIZATION
from webkiln.frontends.tensorflow.operators.pooling import POOLING
from webkiln.frontends.tensorflow.operators.random import RANDOM
from webkiln.frontends.tensorflow.operators.recurrent import RECURRENT
from webkiln.frontends.tensorflow.operators.reduce import REDUCE
from webkiln.frontends.tensorflow.operators.resizing import RESIZING
from webkiln.frontends.tensorflow.operators.shape import SHAPE

OPERATORS: dict[str, NodeHandler] = {
    **ELEMENTWISE,
    **SHAPE,
    **REDUCE,
    **CONVOLUTION,
    **POOLING,
    **NORMALIZATION,
    **RESIZING,
    **LINEAR,
    **FUSED,
    **INDEXING,
    **CONTROL,
    **LOOPS,
    **LISTS,
    **IMAGES,
    **RANDOM,
    **RECURRENT,
    **COUNTING,
    **AUDIO,
    **STATES,
}
