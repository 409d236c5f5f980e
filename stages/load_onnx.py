"""An ONNX file -> spec.json and weight blobs. `external/` holds the files of its external data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import stage
from webkiln.build.structure import write_blobs
from webkiln.foreign import refuse_foreign
from webkiln.frontends.cut import cut_of
from webkiln.frontends.onnx.probe import read_model
from webkiln.frontends.onnx.spec import to_json

DATA = ()


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    refuse_foreign(inputs["source"], as_onnx=True)
    model, blobs = read_model(inputs["source"], inputs.get("external/"), cut_of(params))
    canonical.write(outputs["spec.json"], to_json(model))
    write_blobs(blobs, outputs["weights/"])


if __name__ == "__main__":
    stage.main()
