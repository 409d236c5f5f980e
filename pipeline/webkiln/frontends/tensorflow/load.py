"""A TensorFlow file -> spec and weight blobs. The file is untrusted: inconsistencies raise
SourceError.
"""

from functools import partial
from pathlib import Path

from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
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
    walker = SpecWriter(read_program(path, folder, signature))
    model = walker.model()
    boundary_type = partial(known_tensor, model.graph, walker.origins)
    return extract_subgraph(
        model, walker.weights.blobs, cut, path.name, boundary_type, aliases=walker.passed
    )
