"""program.json -> the code of a backend (docs/formats.md, code/)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from webkiln.codegen import write_js, write_wasm, write_webgl, write_webgpu
from webkiln.codegen.sources import Sources
from webkiln.codegen.templates import Templates
from webkiln.nest import procedure as procedures
from webkiln.nest import written
from webkiln.plan import kernel as kernels

CodeWriter = Callable[[dict[str, Any], Sources, Templates, Path], None]
WRITERS: dict[str, CodeWriter] = {"wasm": write_wasm.write, "js": write_js.write, "webgpu": write_webgpu.write, "webgl": write_webgl.write}


def write_code(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    """Write the sources of `program` into `folder`."""
    sources = Sources(
        {name: kernels.from_json(data) for name, data in sorted(program["kernels"].items())},
        {name: procedures.from_json(data) for name, data in sorted(program["procedures"].items())},
        {name: written.from_json(data) for name, data in sorted(program["written"].items())},
    )
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[program["backend"]](program, sources, templates, folder)
