"""A model -> reference.npz and layers.npz: the outputs of its framework, for verification; or
recorded outputs, which have no layers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import stage
from webkiln.errors import SourceError, ToolError, missing_package
from webkiln.frontends.core.format_stages import stage_module
from webkiln.frontends.core.model_interface import ModelInterface
from webkiln.frontends.core.recorded_reference import recorded_arrays
from webkiln.ir.attributes import unchecked
from webkiln.ir.constraints import fitting_sizes
from webkiln.ir.serial import from_json
from webkiln.ir.types import Array
from webkiln.random_inputs import SAMPLE_SIZE

DATA = ()
RECORD = (
    'or record the reference where the framework runs: reference = "expected.npz" in the recipe'
    " (docs/references.md)"
)


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    reference, layers = (
        _recorded(inputs, params) if "expected.npz" in inputs else _computed(inputs, params)
    )
    for role, arrays in (("reference.npz", reference), ("layers.npz", layers)):
        npz.write(outputs[role], dict(sorted(arrays.items())), compressed=True)


def _recorded(
    inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> tuple[dict[str, Array], dict[str, Array]]:
    texts = canonical.read(inputs["texts.json"])["texts"] if "texts.json" in inputs else ()
    return (
        recorded_arrays(
            inputs["expected.npz"],
            params["recorded"],
            ModelInterface(from_json(canonical.read(inputs["graph.json"]), unchecked), texts),
        ),
        {},
    )


def _computed(
    inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> tuple[dict[str, Array], dict[str, Array]]:
    samples = params.get("sample_sizes") or {}
    if "sizes.json" in inputs:
        samples = {
            **fitting_sizes(canonical.read(inputs["sizes.json"]), samples, SAMPLE_SIZE),
            **samples,
        }
    stage.report_progress("computes reference outputs")
    try:
        found: tuple[dict[str, Array], dict[str, Array]] = stage_module(
            params["format"], "reference"
        ).compute(inputs, params, samples)
    except (ToolError, SourceError) as error:
        error.args = (f"{error}; {RECORD}",)
        raise
    except ImportError as error:
        if (missing := missing_package(error, "the reference")) is None:
            raise
        missing.args = (f"{missing}; {RECORD}",)
        raise missing from None
    return found


if __name__ == "__main__":
    stage.main()
