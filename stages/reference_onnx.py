"""An ONNX file -> reference.npz and layers.npz: what onnxruntime computes, which bundles are verified against."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.build import stage
from webkiln.frontends.onnx.load import read_model
from webkiln.frontends.onnx.reference import compute_reference
from webkiln.frontends.onnx.sizes import input_table

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    folder = inputs.get("external/")
    model, _ = read_model(inputs["source"], folder)
    table = input_table(model, params["dims"], params["input_shapes"], params.get("sample_sizes") or {})
    stage.tell("computes onnxruntime's outputs")
    reference, layers = compute_reference(inputs["source"], table, folder)
    for role, arrays in (("reference.npz", reference), ("layers.npz", layers)):
        with outputs[role].open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **dict(sorted(arrays.items())))


if __name__ == "__main__":
    stage.main()
