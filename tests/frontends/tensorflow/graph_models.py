"""The graph models that the converter of TensorFlow.js wrote, with the outputs of TensorFlow."""

import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tests.frontends.tensorflow.samples import arrays

Arrays = dict[str, np.ndarray]
ARCHIVE = Path(__file__).with_name("graph_models.zip")
with zipfile.ZipFile(ARCHIVE) as _archive:
    NAMES = sorted({name.partition("/")[0] for name in _archive.namelist()})


def graph_model(name: str, folder: Path) -> Path:
    """The `model.json` of a graph model, beside its weights."""
    with zipfile.ZipFile(ARCHIVE) as archive:
        for item in archive.namelist():
            if item.startswith(f"{name}/"):
                archive.extract(item, folder)
    return folder / name / "model.json"


def recorded(path: Path) -> tuple[Arrays, Arrays]:
    """The inputs and outputs of a graph model, by their names in the signature."""
    values = path.parent / "arrays.npz"
    if values.is_file():
        with np.load(values, allow_pickle=False) as archive:
            table = {key: archive[key] for key in archive.files}
    else:
        table = arrays(path.parent.name)
    inputs, outputs = (
        {key.partition("/")[2]: value for key, value in table.items() if key.startswith(role)}
        for role in ("in/", "out/")
    )
    return inputs, outputs


def given(inputs: Arrays, names: Iterable[str]) -> Arrays:
    """The inputs by the names that the converter gave them."""
    return {
        name: inputs[name.removeprefix("serving_default_").removesuffix(":0")] for name in names
    }


def named(outputs: Mapping[str, np.ndarray], names: Iterable[str]) -> Arrays:
    """The outputs by their names in the signature."""
    in_order = sorted(names)
    return {_signature_name(key, in_order): value for key, value in outputs.items()}


def _signature_name(key: str, names: Sequence[str]) -> str:
    """The converter names some outputs after tensors: the outputs of a call, or `Identity:0`,
    `Identity_1:0` and so on, which count the sorted names.
    """
    node, _, port = key.partition(":")
    if not port:
        return key
    number = node.partition("_")[2] if node.startswith("Identity") else port
    return names[int(number or 0)]
