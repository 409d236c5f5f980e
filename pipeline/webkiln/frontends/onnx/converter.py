"""OnnxConverter converts the spec of an ONNX model to a Graph, with its operator handlers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs, Literal
from webkiln.frontends.nodes.call import GraphValue
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.handlers import NodeHandlers
from webkiln.frontends.nodes.sequences import SequenceValue, lengths
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.frontends.onnx.fold import FOLDS
from webkiln.frontends.onnx.operators.table import DOMAINS
from webkiln.ir.graph import Graph
from webkiln.ops.builder import GraphBuilder

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
TEXTS = ("StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "Tokenizer")
HANDLERS = NodeHandlers(
    DOMAINS,
    FOLDS,
    own_domain="ai.onnx",
    advice="Export the model without it, or with another opset, or register a handler",
    refused={**dict.fromkeys(BLOCKED, BLOCKED_LAYOUT), **dict.fromkeys(TEXTS, READS_TEXTS)},
    supports_subgraphs=True,
)


class _SequenceOutputs(Exception):
    """Outputs of the model are sequences. `lengths` has their number of elements, or None for
    tensors.
    """

    def __init__(self, lengths: Sequence[int | None]) -> None:
        self.lengths = lengths


class OnnxConverter(NodeConverter):
    """Converts one model at a time. `register_handler` registers handlers of further operators.

    An output that is a sequence becomes one output per element, with its name and a number:
    `name.0`, `name.1`.
    """

    handlers = HANDLERS
    register_handler = HANDLERS.register

    def convert(
        self, source: NodeModel, blobs: Blobs | None = None, name: str | None = None
    ) -> Graph:
        try:
            return super().convert(source, blobs, name)
        except _SequenceOutputs as found:
            elements = _elements_as_outputs(source.graph, found.lengths)
            return super().convert(replace(source, graph=elements), blobs, name)

    def _convert_graph(
        self,
        builder: GraphBuilder,
        graph: GraphSpec,
        inputs: Sequence[GraphValue],
        outer: Mapping[str, GraphValue],
    ) -> list[GraphValue]:
        outputs = super()._convert_graph(builder, graph, inputs, outer)
        if graph is self._main and any(isinstance(item, SequenceValue) for item in outputs):
            raise _SequenceOutputs(lengths(outputs))
        return outputs


def _elements_as_outputs(graph: GraphSpec, counts: Sequence[int | None]) -> GraphSpec:
    """The graph with the elements of sequences as outputs."""
    outputs: list[Declared] = []
    nodes, tensors = [*graph.nodes], dict(graph.tensors)
    for item, count in zip(graph.outputs, counts, strict=True):
        if count is None:
            outputs.append(item)
        for number in range(count or 0):
            name, position = f"{item.tensor}.{number}", f"{item.tensor}.at{number}"
            tensors[position] = Literal("int64", (), (number,))
            nodes.append(
                NodeSpec(item.name, "SequenceAt", "", (item.tensor, position), (name,), {})
            )
            outputs.append(Declared(f"{item.name}.{number}", name, item.dtype, None))
    names = [item.name for item in outputs]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise SourceError(
            f"two outputs would be called {repeated[0]}, one of them an element of a sequence;"
            " rename the output"
        )
    return GraphSpec(graph.inputs, tuple(outputs), tensors, tuple(nodes))
