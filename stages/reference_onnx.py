"""An ONNX file -> reference.npz and layers.npz: what onnxruntime computes, which bundles are verified against."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import stage
from webkiln.frontends.cut import cut_of
from webkiln.frontends.onnx.probe import read_model
from webkiln.frontends.onnx.reference import compute_reference
from webkiln.frontends.onnx.sizes import given_values, input_table
from webkiln.inputs import SAMPLE_SIZE
from webkiln.ir.needs import fitting_sizes

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    folder = inputs.get("external/")
    model, _ = read_model(inputs["source"], folder, cut_of(params))
    samples = params.get("sample_sizes") or {}
    samples = {**fitting_sizes(canonical.read(inputs["sizes.json"]), samples, SAMPLE_SIZE), **samples}
    table = input_table(model, params["dims"], params["input_shapes"], samples)
    given = given_values(model, {name: shape for name, (_, shape) in table.items()}, params.get("values") or {})
    stage.tell("computes onnxruntime's outputs")
    reference, layers = compute_reference(inputs["source"], table, folder, given, cut_of(params))
    for role, arrays in (("reference.npz", reference), ("layers.npz", layers)):
        npz.write(outputs[role], dict(sorted(arrays.items())), compressed=True)


if __name__ == "__main__":
    stage.main()
