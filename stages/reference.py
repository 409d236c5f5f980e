"""A model -> reference.npz and layers.npz: what its framework computes, which bundles are verified against."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical, npz
from webkiln.build import stage
from webkiln.frontends.programs import program
from webkiln.inputs import SAMPLE_SIZE
from webkiln.ir.needs import fitting_sizes

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    samples = params.get("sample_sizes") or {}
    if "sizes.json" in inputs:
        samples = {**fitting_sizes(canonical.read(inputs["sizes.json"]), samples, SAMPLE_SIZE), **samples}
    stage.tell("computes reference outputs")
    reference, layers = program(params["format"], "reference").compute(inputs, params, samples)
    for role, arrays in (("reference.npz", reference), ("layers.npz", layers)):
        npz.write(outputs[role], dict(sorted(arrays.items())), compressed=True)


if __name__ == "__main__":
    stage.main()
