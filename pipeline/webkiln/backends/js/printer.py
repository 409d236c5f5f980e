"""The ES module of the js backend: every kernel and procedure as a function over one heap."""

from pathlib import Path
from typing import Any

from webkiln.codegen import js
from webkiln.codegen.sources import element_offsets, sources_of
from webkiln.codegen.steps import Language, data_dependent, parameters, runtime_literal, size, steps
from webkiln.codegen.templates import Templates

DATA = ("kernels/program.js.jinja", "kernels/intrinsics.js")


def write(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    sources = sources_of(program)

    def call(name: str, entry: dict[str, Any]) -> str:
        offsets = element_offsets(sources.find(name).operands, entry)
        return f"{name}({', '.join(map(size, [*offsets, *entry['args']]))})"

    language = Language(
        counter="let ",
        launch=lambda entry: call(entry["kernel"], entry),
        copy="U8.copyWithin({target}, {source}, {source} + {bytes});",
        host=lambda entry: call(entry["host"], entry),
        flag="U8[{place}]",
        mark="mark({site});",
    )
    main = steps(program["main"], language)
    metadata = runtime_literal(program)
    text = js.print_module(
        sources,
        templates,
        [metadata, *main],
        program=metadata,
        init=[call(entry["kernel"], entry) for entry in program["init"]],
        main=main,
        parameters=parameters(program),
        data_dependent=data_dependent(program),
    )
    (folder / "js.js").write_text(text)
