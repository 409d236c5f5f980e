"""Networks as graph models of TensorFlow.js, with the outputs of TensorFlow."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.frontends.corpus import Sample
from tests.frontends.tensorflow.graph_models import given, named
from tests.frontends.tensorflow.samples import converted

ARCHIVE = Path(__file__).with_name("web_networks.zip")
with zipfile.ZipFile(ARCHIVE) as _archive:
    NETWORKS = sorted({name.partition("/")[0] for name in _archive.namelist()})
VALUES: dict[str, dict[str, Any]] = {"matting": {"downsample_ratio": 0.5}}


def web_network(name: str, folder: Path) -> Path:
    """The `model.json` of a network, beside its weights."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        for item in archive.namelist():
            if item.startswith(f"{name}/"):
                archive.extract(item, folder)
    return folder / name / "model.json"


def runs(name: str, folder: Path) -> list[Sample]:
    """A network with open sizes, for each of the recorded runs."""
    path = web_network(name, folder)
    graph = converted(path, path.parent, values=VALUES.get(name))
    with np.load(path.with_name("arrays.npz"), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    samples = []
    for run in sorted({key.partition("/")[0][2:] for key in arrays if key.startswith("in")}):
        inputs, outputs = (
            {
                key.partition("/")[2]: array
                for key, array in arrays.items()
                if key.startswith(f"{role}{run}/")
            }
            for role in ("in", "out")
        )
        names = named({key: key for key in graph.outputs}, outputs)
        assert names.keys() == outputs.keys()
        samples.append(
            Sample(
                f"{name} {run}",
                graph,
                given(inputs, graph.inputs),
                {key: outputs[own] for own, key in names.items()},
            )
        )
    return samples
