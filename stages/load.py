"""A model, with the files that belong to it -> spec.json and weight blobs, by the program of its format."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_blobs
from webkiln.frontends.formats import check_format
from webkiln.frontends.programs import program

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    if "module" not in params and "external/" not in inputs:
        check_format(inputs["source"], params["format"])
    spec, blobs = program(params["format"], "load").load(inputs, params)
    canonical.write(outputs["spec.json"], spec)
    write_blobs(blobs, outputs["weights/"])


if __name__ == "__main__":
    stage.main()
