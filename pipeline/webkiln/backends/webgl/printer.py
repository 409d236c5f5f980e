"""The ES module of the webgl backend: fragment shaders as text, steps as calls of its engine,
procedures as functions over typed arrays.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from webkiln.codegen import glsl, js
from webkiln.codegen.shader_text import shader_function
from webkiln.codegen.sources import Sources, sources_of
from webkiln.codegen.steps import (
    Language,
    data_dependent,
    is_dynamic,
    literal,
    parameters,
    runtime_literal,
    size,
    steps,
)
from webkiln.codegen.templates import Templates
from webkiln.ir import dim
from webkiln.ir.notation import size_from_json
from webkiln.plan.alignment import VECTOR

DATA = (
    "kernels/*.glsl",
    "kernels/*.glsl.jinja",
    "kernels/program.webgl.js.jinja",
    "kernels/intrinsics.js",
    "runtime/engines/webgl.js",
    "runtime/engines/webgl_*.js",
    "runtime/engines/narrowing.js",
    "runtime/engines/shader_text.js",
)


def write(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    sources = sources_of(program)

    def launch(entry: dict[str, Any]) -> str:
        operands, args = ", ".join(map(str, entry["operands"])), ", ".join(map(size, entry["args"]))
        return f"engine.launch('{entry['kernel']}', [{operands}], [{args}])"

    language = Language(
        counter="let ",
        launch=launch,
        copy="engine.move({source}, {target});",
        host=lambda entry: js.host_call("engine", sources.procedures[entry["host"]], entry),
        flag="engine.flag({place})",
        mark="engine.mark({site});",
    )
    main = steps(program["main"], language)
    engine, metadata = templates.engine("webgl", "shader_text"), runtime_literal(program)
    functions = js.print_procedures(list(sources.procedures.values()))
    text = templates.render(
        "program.webgl.js",
        program=metadata,
        engine=engine,
        buffers=literal(list(map(_buffer, program["buffers"]))),
        kernels=_kernels(sources, templates),
        functions=functions,
        entries=json.dumps(
            [
                [entry["kernel"], [*map(partial(_staged, entry), entry["operands"])], entry["args"]]
                for entry in program["init"]
            ]
        ),
        parameters=parameters(program),
        data_dependent=data_dependent(program),
        dynamic=is_dynamic(program["main"]),
        main=main,
        lines=[
            metadata,
            *main,
            engine,
            *(line for function in functions for line in function["lines"]),
        ],
    )
    (folder / "webgl.js").write_text(text)


def _buffer(buffer: dict[str, Any]) -> list[Any]:
    """The format of a texture, and its elements, or 0 if their number depends on placeholders."""
    texels = "x4" if buffer["lanes"] == VECTOR else ""
    elements = size_from_json(buffer["elements"])
    return [
        buffer["storage"] + texels + ("q" if buffer["quarters"] else ""),
        0 if dim.is_symbolic(elements) else elements,
    ]


def _kernels(sources: Sources, templates: Templates) -> list[dict[str, Any]]:
    printed = [
        *(
            (name, len(kernel.nest.inputs), glsl.print_kernel(kernel, templates))
            for name, kernel in sources.kernels.items()
        ),
        *(
            (name, len(kernel.inputs), glsl.print_custom(kernel, templates))
            for name, kernel in sources.custom_kernels.items()
        ),
    ]
    return [
        {"name": name, "inputs": count, "shader": shader_function(text)}
        for name, count, text in printed
    ]


def _staged(entry: dict[str, Any], operand: Any) -> Any:
    """An operand of an init entry. A part of the staging area also records the dtype of its bytes
    before they are narrowed.
    """
    return (
        {**operand, "narrow": entry["narrow"]}
        if "narrow" in entry and isinstance(operand, dict)
        else operand
    )
