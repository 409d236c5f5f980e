"""An ONNX file -> what onnxruntime computes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.cut import cut_of
from webkiln.frontends.nodes.sizes import given_values, input_table
from webkiln.frontends.onnx.probe import read_model
from webkiln.frontends.onnx.reference import compute_reference
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    folder, cut = inputs.get("external/"), cut_of(params)
    model, _ = read_model(inputs["source"], folder, cut)
    table = input_table(model, params["dims"], params["input_shapes"], samples)
    given = given_values(model, {name: shape for name, (_, shape) in table.items()}, params.get("values") or {})
    return compute_reference(inputs["source"], table, folder, given, cut, model.texts)
