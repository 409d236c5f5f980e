"""The ES module of the webgpu backend: shaders as text, the steps as calls of its engine, procedures as functions over typed arrays."""

from pathlib import Path
from typing import Any

from webkiln.codegen import js, wgsl
from webkiln.codegen.steps import Language, described, elements, is_dynamic, late, parameters, size, steps
from webkiln.codegen.templates import Templates
from webkiln.ir import dim
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.nest.procedure import Procedure
from webkiln.plan.kernel import Kernel

ARGUMENT_BLOCK = 256
"""Bytes: where a dynamic offset of a uniform buffer may lie."""


def write(
    program: dict[str, Any], kernels: dict[str, Kernel], procedures: dict[str, Procedure], templates: Templates, folder: Path
) -> None:  # fmt: skip
    def launch(entry: dict[str, Any]) -> str:
        kernel = kernels[entry["kernel"]]
        words = map(size, [*elements(kernel.operands, entry), *entry["args"]])
        return f"step.launch('{entry['kernel']}', {size(_invocations(kernel, entry))}, [{', '.join(words)}])"

    language = Language(
        counter="let",
        launch=launch,
        copy="step.copy({target}, {source}, {bytes});",
        host=lambda entry: js.host_call("step", procedures[entry["host"]], entry),
        flag="await step.flag({place})",
    )
    main = steps(program["main"], language)
    words = max((2 + len(kernel.operands) + len(kernel.arguments) for kernel in kernels.values()), default=2)
    engine, about = templates.script("engine.webgpu"), described(program)
    functions = js.print_procedures(list(procedures.values()))
    text = templates.render(
        "program.webgpu.js",
        program=about,
        engine=engine,
        shaders={name: f"`{wgsl.print_kernel(kernel, templates)}`" for name, kernel in kernels.items()},
        subgroups={
            name: f"`{wgsl.print_kernel(kernel, templates, subgroups=True)}`"
            for name, kernel in kernels.items()
            if wgsl.sums_by_subgroups(kernel)
        },
        functions=functions,
        stride=-(-4 * words // ARGUMENT_BLOCK) * ARGUMENT_BLOCK,
        init=[launch(entry) for entry in program["init"]],
        main=main,
        dynamic=is_dynamic(program["main"]),
        parameters=parameters(program),
        late=late(program),
        lines=[about, *main, engine, *(line for function in functions for line in function["lines"])],
    )
    (folder / "webgpu.js").write_text(text)


def _invocations(kernel: Kernel, entry: dict[str, Any]) -> int | str:
    """How many invocations compute the chunks of points of a launch."""
    args = dict(zip(kernel.arguments, map(size_from_json, entry["args"]), strict=True))
    total = kernel.schedule.group
    for loop in kernel.nest.axes:
        span = kernel.schedule.span(loop.axis)
        total = total * dim.floordiv(args[loop.extent.value] + (span - 1), span)
    return size_to_json(total)
