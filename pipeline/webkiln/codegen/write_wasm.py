"""The sources of the wasm backend: a C file for each kernel and procedure, one that calls them, and a small ES module."""

from pathlib import Path
from typing import Any

from webkiln.codegen import c
from webkiln.codegen.steps import Language, Sources, described, late, parameters, size, steps
from webkiln.codegen.templates import Templates


def write(program: dict[str, Any], sources: Sources, templates: Templates, folder: Path) -> None:
    (folder / "kernels").mkdir()
    texts = {
        **{name: c.print_kernel(kernel, templates) for name, kernel in sources.kernels.items()},
        **{name: c.print_procedure(procedure, templates) for name, procedure in sources.procedures.items()},
        **{name: c.print_written(kernel, templates) for name, kernel in sources.written.items()},
    }
    for name, text in texts.items():
        (folder / "kernels" / f"{name}.c").write_text(text)

    def call(name: str, entry: dict[str, Any]) -> str:
        operands = [f"m + {size(offset)}" for offset in entry["operands"]]
        return f"{name}({', '.join([*operands, *map(size, entry['args'])])})"

    declared = [
        {
            "name": name,
            "returns": "int" if name in sources.procedures else "void",
            "parameters": ["void *"] * len(sources.find(name).operands) + ["int"] * len(sources.find(name).arguments),
        }
        for name in texts
    ]
    language = Language(
        counter="int",
        launch=lambda entry: call(entry["kernel"], entry),
        copy="__builtin_memcpy(m + {target}, m + {source}, {bytes});",
        host=lambda entry: call(entry["host"], entry),
        flag="*(unsigned char *)(m + {place})",
    )
    main = steps(program["main"], language)
    main_text = templates.render(
        "main.c",
        kernels=declared,
        init=[call(entry["kernel"], entry) for entry in program["init"]],
        main=main,
        parameters=[f"int {name}" for name in parameters(program)],
        late=late(program),
        lines=main,
    )
    (folder / "main.c").write_text(main_text)
    about = described(program)
    (folder / "wasm.js").write_text(templates.render("program.wasm.js", program=about, late=len(program["late"]), lines=[about]))
