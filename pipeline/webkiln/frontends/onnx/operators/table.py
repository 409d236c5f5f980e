"""The ONNX operators that webkiln converts, by domain. Absent operators are unsupported."""

from collections.abc import Mapping

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.onnx.operators.attention import ATTENTION
from webkiln.frontends.onnx.operators.choose import CHOOSE
from webkiln.frontends.onnx.operators.classical import CLASSICAL
from webkiln.frontends.onnx.operators.control import CONTROL
from webkiln.frontends.onnx.operators.conv import CONV
from webkiln.frontends.onnx.operators.elementwise import ELEMENTWISE
from webkiln.frontends.onnx.operators.indexing import INDEXING
from webkiln.frontends.onnx.operators.linear import LINEAR
from webkiln.frontends.onnx.operators.microsoft import MICROSOFT
from webkiln.frontends.onnx.operators.microsoft_quantize import MICROSOFT_QUANTIZE
from webkiln.frontends.onnx.operators.microsoft_recurrent import MICROSOFT_RECURRENT
from webkiln.frontends.onnx.operators.pool import POOL
from webkiln.frontends.onnx.operators.quantize import QUANTIZE
from webkiln.frontends.onnx.operators.random import RANDOM
from webkiln.frontends.onnx.operators.recurrent import RECURRENT
from webkiln.frontends.onnx.operators.reduce import REDUCE
from webkiln.frontends.onnx.operators.resize import RESIZE
from webkiln.frontends.onnx.operators.sample import SAMPLE
from webkiln.frontends.onnx.operators.scores import SCORES
from webkiln.frontends.onnx.operators.sequences import SEQUENCES
from webkiln.frontends.onnx.operators.shape import SHAPE
from webkiln.frontends.onnx.operators.signal import SIGNAL
from webkiln.frontends.onnx.operators.svm import SVM
from webkiln.frontends.onnx.operators.trees import TREES

OPERATORS: dict[str, NodeHandler] = {
    **ELEMENTWISE,
    **SHAPE,
    **LINEAR,
    **CONV,
    **POOL,
    **REDUCE,
    **INDEXING,
    **QUANTIZE,
    **RECURRENT,
    **RESIZE,
    **SAMPLE,
    **SIGNAL,
    **CONTROL,
    **CHOOSE,
    **ATTENTION,
    **SEQUENCES,
    **RANDOM,
}

DOMAINS: Mapping[str, Mapping[str, NodeHandler]] = {
    "": OPERATORS,
    "ai.onnx.ml": {**CLASSICAL, **SCORES, **SVM, **TREES},
    "com.microsoft": {**MICROSOFT, **MICROSOFT_QUANTIZE, **MICROSOFT_RECURRENT},
    "com.microsoft.nchwc": {},
}
