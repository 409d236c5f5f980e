"""A TensorFlow file -> spec and weight blobs. The file is untrusted: inconsistencies raise
SourceError.
"""

from functools import partial
from pathlib import Path

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import (
    ENTIRE_MODEL,
    Subgraph,
    Vertex,
    add_subgraph_hints,
)
from webkiln.frontends.inspect import header_only
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.nodes.subgraph import extract_subgraph
from webkiln.frontends.tensorflow.files import read_program
from webkiln.frontends.tensorflow.origins import known_tensor
from webkiln.frontends.tensorflow.walk import SpecWriter


def read_model(
    path: Path, folder: Path | None = None, signature: str = "", cut: Subgraph = ENTIRE_MODEL
) -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file, of a signature of it, or of a subgraph. `folder`, by
    default the file's own, has its companion files.
    """
    walker = SpecWriter(read_program(path, folder, signature), cut.starts)
    model = walker.model()
    boundary_type = partial(known_tensor, model.graph, walker.origins)
    found = list(dict.fromkeys(walker.unsupported))
    if not cut or header_only.is_header_only():
        vertices = [
            Vertex(node.name, tuple(filter(None, node.inputs)), tuple(filter(None, node.outputs)))
            for node in model.graph.nodes
        ]
        header_only.report_unsupported(path.name, add_subgraph_hints(found, vertices))
    part, blobs = extract_subgraph(
        model, walker.weights.blobs, cut, path.name, boundary_type, aliases=walker.passed
    )
    omitted = _names(model) - _names(part)
    found = [item for item in found if item[0].partition(" (")[0] not in omitted]
    header_only.report_unsupported(path.name, found)
    return part, blobs


def _names(model: NodeModel) -> set[str]:
    graph = model.graph
    return {node.name for node in graph.nodes} | {item.name for item in graph.outputs}
