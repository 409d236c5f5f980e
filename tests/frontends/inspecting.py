"""Model files as `webkiln inspect` sees them, and as a build does: in this process, by the same
programs.
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


def taken(path: Path, scratch: Path) -> tuple[str, dict[str, Path]]:
    """The format of a file, and what its programs take."""
    format_ = format_of_file(path)
    main = format_.main(path)
    inputs = {"source": main}
    for name, file in format_.companion_files(path):
        inputs["external/"] = scratch / "external"
        place = inputs["external/"] / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    return format_.name, inputs


def inspected(path: Path, scratch: Path, **params: Any) -> Inspection:
    name, inputs = taken(path, scratch)
    return inspect_model(name, inputs, {**PARAMS, **params})


def refusal(path: Path, scratch: Path, **params: Any) -> UserError | None:
    """Why a file does not build."""
    try:
        name, inputs = taken(path, scratch)
        known = {**PARAMS, **params}
        spec, _ = stage_module(name, "load").load(inputs, known)
        with stage_module(name, "convert").converted(spec, inputs, known):
            return None
    except UserError as error:
        return error
