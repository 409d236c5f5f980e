"""Inspect and convert model files in this process, with the code of `webkiln inspect` and of a
build.
"""

import shutil
from pathlib import Path
from typing import Any

from webkiln.errors import UserError
from webkiln.frontends.core.format_stages import stage_module
from webkiln.frontends.core.formats import format_of_file
from webkiln.frontends.inspect.inspection import Inspection, inspect_model

PARAMS: dict[str, Any] = {
    "name": "net",
    "plugins": [],
    "input_shapes": {},
    "dims": {},
    "trust_source": False,
    "batch_size": 1,
}


def stage_inputs(path: Path, scratch: Path) -> tuple[str, dict[str, Path]]:
    """The format of a file, and the inputs of its stages."""
    format_ = format_of_file(path)
    main = format_.main(path)
    inputs = {"source": main}
    for name, file in format_.companion_files(path):
        inputs["external/"] = scratch / "external"
        target = inputs["external/"] / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return format_.name, inputs


def inspect(path: Path, scratch: Path, **params: Any) -> Inspection:
    name, inputs = stage_inputs(path, scratch)
    return inspect_model(name, inputs, {**PARAMS, **params})


def conversion_error(path: Path, scratch: Path, **params: Any) -> UserError | None:
    """The error of a build, if any."""
    try:
        name, inputs = stage_inputs(path, scratch)
        stage_params = {**PARAMS, **params}
        spec, _ = stage_module(name, "load").load(inputs, stage_params)
        with stage_module(name, "convert").converted(spec, inputs, stage_params):
            return None
    except UserError as error:
        return error
