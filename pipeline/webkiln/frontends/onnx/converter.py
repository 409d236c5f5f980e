"""OnnxConverter converts the spec of an ONNX model to a Graph, with its operator handlers."""

from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.onnx.fold import FOLDS
from webkiln.frontends.onnx.operators.table import DOMAINS

BLOCKED_LAYOUT = (
    "is in a layout for the CPU of the machine on which onnxruntime optimised the file",
    "Convert the original model, or save it with ORT_ENABLE_EXTENDED instead of ORT_ENABLE_ALL",
)
"""https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html"""
BLOCKED = (
    "ReorderInput", "ReorderOutput", "Conv", "MaxPool", "GlobalMaxPool", "AveragePool",
    "GlobalAveragePool", "Upsample",
)  # fmt: skip
READS_TEXTS = (
    "computes with strings",
    "Prepare the text before the model, and build the model without this operator",
)
TEXTS = (
    "StringNormalizer", "TfIdfVectorizer", "StringConcat", "StringSplit", "RegexFullMatch",
    "Tokenizer",
)  # fmt: skip
HANDLERS = NodeHandlers(
    DOMAINS,
    FOLDS,
    own_domain="ai.onnx",
    advice="Export the model without it, or with another opset, or register a handler",
    refused={**dict.fromkeys(BLOCKED, BLOCKED_LAYOUT), **dict.fromkeys(TEXTS, READS_TEXTS)},
    supports_subgraphs=True,
)


class OnnxConverter(NodeConverter):
    """Converts one model at a time. `register_handler` registers handlers of further operators."""

    handlers = HANDLERS
    register_handler = HANDLERS.register
