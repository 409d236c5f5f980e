"""A graph of TensorFlow -> what TensorFlow computes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.nodes.sizes import given_values, input_table
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.reference import compute_reference
from webkiln.ir.types import Array


def compute(
    inputs: Mapping[str, Path], params: Mapping[str, Any], samples: Mapping[str, int]
) -> tuple[dict[str, Array], dict[str, Array]]:  # fmt: skip
    folder, signature = inputs.get("external/"), params.get("signature", "")
    model, _ = read_model(inputs["source"], folder, signature)
    table = input_table(model, params["dims"], params["input_shapes"], samples)
    given = given_values(model, {name: shape for name, (_, shape) in table.items()}, params.get("values") or {})
    return compute_reference(inputs["source"], folder, signature, table, given)
