"""A file of TensorFlow -> spec and weight blobs. Nothing in it is trusted: what does not hold together is one SourceError."""

from pathlib import Path

from webkiln.frontends.arrays import Blobs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.tensorflow.files import read_program
from webkiln.frontends.tensorflow.walk import SpecWriter


def read_model(path: Path, folder: Path | None = None, signature: str = "") -> tuple[NodeModel, Blobs]:
    """The spec and weight blobs of a file, or of a signature of it; what belongs to it lies in `folder`, by default the file's own."""
    walker = SpecWriter(read_program(path, folder, signature))
    return walker.model(), walker.weights.blobs
