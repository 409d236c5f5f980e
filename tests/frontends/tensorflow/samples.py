"""The models of the corpus, with the outputs of TensorFlow."""

import zipfile
from pathlib import Path

import numpy as np

from tests.frontends.corpus import Sample
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.ir.graph import Graph

FOLDER = Path(__file__).parent / "corpus"


def arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def converted(path: Path, folder: Path | None = None, **options: object) -> Graph:
    spec, blobs = read_model(path, folder)
    return TensorFlowConverter(**options).convert(spec, blobs)


def saved(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(FOLDER / f"{name}.zip") as archive:
        archive.extractall(folder)
    return folder / "saved_model.pb"


def sample(name: str, graph: Graph, *, frozen: bool = False) -> Sample:
    """Outputs of a frozen graph have the names of nodes. They are in the order of the signature's
    names.
    """
    recorded = arrays(name)
    inputs, outputs = (
        {key.partition("/")[2]: value for key, value in recorded.items() if key.startswith(role)}
        for role in ("in/", "out/")
    )
    return Sample(
        name,
        graph,
        inputs,
        dict(zip(graph.outputs, (outputs[key] for key in sorted(outputs)), strict=True))
        if frozen
        else outputs,
    )
