"""A LiteRT (TensorFlow Lite) file -> spec and weight blobs. The file is untrusted: inconsistencies
raise SourceError.

Mutable state becomes explicit: variables become values that operators read and return, with a STATE
node at the start of a run and a SET_STATE node at its end. The integer factors of quantized
operators are computed here, from scales (`quantization.py`).
"""

from pathlib import Path

from webkiln.errors import SourceError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.inspect.header_only import report_unsupported
from webkiln.frontends.nodes.size_constants import (
    SizeOperators,
    with_size_constants,
)
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.nodes.subgraph import extract_subgraph
from webkiln.frontends.tflite.file import TfliteFile
from webkiln.frontends.tflite.graphs import STRUCTURAL, main_graph
from webkiln.frontends.tflite.reading import Reading
from webkiln.frontends.tflite.signatures import select_graph
from webkiln.ir.types import is_integer

SIZE_OPERATORS = SizeOperators(
    of_types=("SHAPE", "RANK"),
    readers=STRUCTURAL,
    sizes={
        *(("RESHAPE", 1), ("BROADCAST_TO", 1), ("FILL", 0), ("RANGE", 1), ("TILE", 1), ("PAD", 1)),
        *(("RESIZE_BILINEAR", 1), ("RESIZE_NEAREST_NEIGHBOR", 1), ("SLICE", 2)),
        *(("STRIDED_SLICE", 2), ("TOPK_V2", 1), ("PADV2", 1)),
    },
    is_integer_cast=lambda node: node.op == "CAST" and is_integer(node.attrs["dtypes"][0]),
)


def read_model(
    path: Path, signature: str = "", cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of the main graph, of the graph of a signature or of this name, or
    of a subgraph of it.
    """
    file = TfliteFile(path)
    index, signature_entry = select_graph(file, signature)
    reading = Reading(file)
    try:
        graph = main_graph(reading, index, signature_entry)
    except RecursionError:
        raise SourceError(
            f"{file.name}: its graphs are nested too deeply; it is damaged; convert the model again"
        ) from None
    report_unsupported(file.name, reading.unsupported)
    graph, sizes = with_size_constants(graph, reading.weights, SIZE_OPERATORS)
    return extract_subgraph(
        NodeModel(path.stem, {"": 3, "custom": 1}, graph, sizes=sizes),
        reading.weights.blobs,
        cut,
        file.name,
        reading.declare,
    )


def layer_tensors(path: Path) -> dict[str, int]:
    """The first output of every node of the main graph, by the node's name in the spec."""
    reading = Reading(file := TfliteFile(path))
    main_graph(reading, *select_graph(file, ""))
    return reading.layers
