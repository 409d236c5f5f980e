"""Every operator of TensorFlow Lite that webkiln converts, by its domain: the builtin ones, and custom ones. Absent means unsupported."""

from collections.abc import Mapping

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.tflite.operators.activations import ACTIVATIONS
from webkiln.frontends.tflite.operators.control import CONTROL
from webkiln.frontends.tflite.operators.conv import CONV
from webkiln.frontends.tflite.operators.custom import CUSTOM
from webkiln.frontends.tflite.operators.elementwise import ELEMENTWISE
from webkiln.frontends.tflite.operators.indexing import INDEXING
from webkiln.frontends.tflite.operators.pool import POOL
from webkiln.frontends.tflite.operators.quantize import QUANTIZE
from webkiln.frontends.tflite.operators.recurrent import RECURRENT
from webkiln.frontends.tflite.operators.reduce import REDUCE
from webkiln.frontends.tflite.operators.resize import RESIZE
from webkiln.frontends.tflite.operators.shape import SHAPE
from webkiln.frontends.tflite.operators.spectral import SPECTRAL

OPERATORS: dict[str, NodeHandler] = {
    **ELEMENTWISE,
    **ACTIVATIONS,
    **CONV,
    **POOL,
    **REDUCE,
    **SHAPE,
    **RESIZE,
    **INDEXING,
    **QUANTIZE,
    **CONTROL,
    **RECURRENT,
    **SPECTRAL,
}

DOMAINS: Mapping[str, Mapping[str, NodeHandler]] = {"": OPERATORS, "custom": CUSTOM}
