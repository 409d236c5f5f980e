"""The ES module of the js backend: every kernel and procedure as a function over one heap."""

from pathlib import Path
from typing import Any

from webkiln.codegen import js
from webkiln.codegen.steps import Language, described, elements, late, parameters, size, steps
from webkiln.codegen.templates import Templates
from webkiln.nest.procedure import Procedure
from webkiln.plan.kernel import Kernel


def write(
    program: dict[str, Any], kernels: dict[str, Kernel], procedures: dict[str, Procedure], templates: Templates, folder: Path
) -> None:  # fmt: skip
    def call(name: str, entry: dict[str, Any]) -> str:
        made = kernels[name] if name in kernels else procedures[name]
        return f"{name}({', '.join(map(size, [*elements(made.operands, entry), *entry['args']]))})"

    language = Language(
        counter="let",
        launch=lambda entry: call(entry["kernel"], entry),
        copy="U8.copyWithin({target}, {source}, {source} + {bytes});",
        host=lambda entry: call(entry["host"], entry),
        flag="U8[{place}]",
    )
    main = steps(program["main"], language)
    about = described(program)
    text = js.print_module(
        list(kernels.values()),
        list(procedures.values()),
        templates,
        [about, *main],
        program=about,
        init=[call(entry["kernel"], entry) for entry in program["init"]],
        main=main,
        parameters=parameters(program),
        late=late(program),
    )
    (folder / "js.js").write_text(text)
