"""The sources of the wasm backend: a C file for each kernel and procedure, one that calls them, and a small ES module."""

from pathlib import Path
from typing import Any

from webkiln.codegen import c
from webkiln.codegen.steps import Language, described, late, parameters, size, steps
from webkiln.codegen.templates import Templates
from webkiln.nest.procedure import Procedure
from webkiln.plan.kernel import Kernel


def write(
    program: dict[str, Any], kernels: dict[str, Kernel], procedures: dict[str, Procedure], templates: Templates, folder: Path
) -> None:  # fmt: skip
    (folder / "kernels").mkdir()
    for name, kernel in kernels.items():
        (folder / "kernels" / f"{name}.c").write_text(c.print_kernel(kernel, templates))
    for name, procedure in procedures.items():
        (folder / "kernels" / f"{name}.c").write_text(c.print_procedure(procedure, templates))

    def call(name: str, entry: dict[str, Any]) -> str:
        operands = [f"m + {size(offset)}" for offset in entry["operands"]]
        return f"{name}({', '.join([*operands, *map(size, entry['args'])])})"

    declared = [
        {"name": name, "returns": returns, "parameters": ["void *"] * len(made.operands) + ["int"] * len(made.arguments)}
        for group, returns in ((kernels, "void"), (procedures, "int"))
        for name, made in group.items()
    ]
    language = Language(
        counter="int",
        launch=lambda entry: call(entry["kernel"], entry),
        copy="__builtin_memcpy(m + {target}, m + {source}, {bytes});",
        host=lambda entry: call(entry["host"], entry),
        flag="*(unsigned char *)(m + {place})",
    )
    main = steps(program["main"], language)
    text = templates.render(
        "main.c",
        kernels=declared,
        init=[call(entry["kernel"], entry) for entry in program["init"]],
        main=main,
        parameters=[f"int {name}" for name in parameters(program)],
        late=late(program),
        lines=main,
    )
    (folder / "main.c").write_text(text)
    about = described(program)
    (folder / "wasm.js").write_text(templates.render("program.wasm.js", program=about, late=len(program["late"]), lines=[about]))
