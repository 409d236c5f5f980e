"""The ES module of the webgl backend: fragment shaders as text, steps as calls of its engine,
procedures as functions over typed arrays.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

from webkiln.codegen import glsl, js
from webkiln.codegen.sources import sources_of
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
    engine, metadata = templates.engine("webgl"), runtime_literal(program)
    formats = [
        b["storage"] + ("x4" if b["lanes"] == VECTOR else "") + ("q" if b["quarters"] else "")
        for b in program["buffers"]
    ]
    sizes = [size_from_json(buffer["elements"]) for buffer in program["buffers"]]
    functions = js.print_procedures(list(sources.procedures.values()))
    text = templates.render(
        "program.webgl.js",
        program=metadata,
        engine=engine,
        buffers=literal(
            [
                [format_, 0 if dim.is_symbolic(elements) else elements]
                for format_, elements in zip(formats, sizes, strict=True)
            ]
        ),
        kernels=[
            {
                "name": name,
                "inputs": len(kernel.nest.inputs),
                "text": glsl.print_kernel(kernel, templates),
            }
            for name, kernel in sources.kernels.items()
        ]
        + [
            {
                "name": name,
                "inputs": len(kernel.inputs),
                "text": glsl.print_custom(kernel, templates),
            }
            for name, kernel in sources.custom_kernels.items()
        ],
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


def _staged(entry: dict[str, Any], operand: Any) -> Any:
    """An operand of an init entry. A part of the staging area also records the dtype of its bytes
    before they are narrowed.
    """
    return (
        {**operand, "narrow": entry["narrow"]}
        if "narrow" in entry and isinstance(operand, dict)
        else operand
    )
