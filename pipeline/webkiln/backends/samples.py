"""Random inputs for a bundle."""

from collections.abc import Mapping
from typing import Any

from webkiln.codegen.declarations import inputs_of
from webkiln.ir.types import Array
from webkiln.random_inputs import SAMPLE_SIZE, make_inputs


def sample_inputs(manifest: Mapping[str, Any]) -> dict[str, dict[str, Array]]:
    """Input sets by name. Dynamic sizes are 16."""
    table = {
        tensor["name"]: (
            tensor["dtype"],
            tuple(size if isinstance(size, int) else SAMPLE_SIZE for size in tensor["shape"]),
        )
        for tensor in inputs_of(manifest)
    }
    drawn = {
        tensor["name"]: tensor["distribution"]
        for tensor in manifest["inputs"]
        if "distribution" in tensor
    }
    return make_inputs(table, 1.0, {name: (given["name"], given) for name, given in drawn.items()})
