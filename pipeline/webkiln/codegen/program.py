"""program.json -> the code of a backend (docs/formats.md, code/)."""

from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln.codegen.sources import Sources
from webkiln.codegen.templates import Templates
from webkiln.nest import custom_kernel
from webkiln.nest import procedure as procedures
from webkiln.plan import kernel as kernels


def write_code(program: dict[str, Any], templates: Templates, folder: Path, **options: Any) -> None:
    """Write the sources of `program` into `folder`. `options` are passed to the backend's writer,
    such as `thresholds` for wasm.

    The writer of a backend is imported by name. The action graph thus adds its module, and its
    templates, to the key of that backend alone.
    """
    sources = Sources(
        {name: kernels.from_json(data) for name, data in sorted(program["kernels"].items())},
        {name: procedures.from_json(data) for name, data in sorted(program["procedures"].items())},
        {
            name: custom_kernel.from_json(data)
            for name, data in sorted(program["custom_kernels"].items())
        },
    )
    folder.mkdir(parents=True, exist_ok=True)
    import_module(f"webkiln.codegen.write_{program['backend']}").write(
        program, sources, templates, folder, **options
    )
