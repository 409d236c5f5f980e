"""The ES module of the webgpu backend: shaders as text, steps as calls of its engine, procedures as
functions over typed arrays.
"""

from collections.abc import Collection, Mapping, Sequence
from math import inf, prod
from pathlib import Path
from typing import Any

from webkiln.codegen import js, wgsl, wgsl_workgroups
from webkiln.codegen.shader_text import shader_function
from webkiln.codegen.sources import Sources, element_offsets, sources_of
from webkiln.codegen.steps import (
    BLOCKS,
    Language,
    data_dependent,
    is_dynamic,
    parameters,
    runtime_literal,
    size,
    steps,
)
from webkiln.codegen.templates import Templates
from webkiln.codegen.wgsl_groups import print_group
from webkiln.ir import dim
from webkiln.ir.dim import known
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.nest.kernel_template import find_template
from webkiln.nest.schedule import InvocationSchedule, TemplateSchedule
from webkiln.plan.kernel import Kernel
from webkiln.plan.vector_products import MOST_GROUPS, VECTOR_PRODUCT

DATA = (
    "kernels/*.wgsl",
    "kernels/*.wgsl.jinja",
    "kernels/program.webgpu.js.jinja",
    "kernels/intrinsics.js",
    "runtime/engines/webgpu.js",
    "runtime/engines/webgpu_*.js",
    "runtime/engines/narrowing.js",
    "runtime/engines/shader_text.js",
)

DOT_PRODUCT = "wk_dot_int8("
"""Called in shaders that need `webgpu_dot_product.js`."""
ARGUMENT_BLOCK = 256
"""Alignment of dynamic offsets of uniform buffers, in bytes."""


def write(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    sources = sources_of(program)

    def launch(entry: dict[str, Any]) -> str:
        name = entry["kernel"]
        operands = sources.launched(name).operands
        words = map(size, [*element_offsets(operands, entry), *entry["args"]])
        count = _launched(sources, entry)
        segments = f", {entry['segments']}" if "segments" in entry else ""
        return f"step.launch('{name}', {size(count)}, [{', '.join(words)}]{segments})"

    language = Language(
        counter="let ",
        launch=launch,
        copy="step.copy({target}, {source}, {bytes});",
        host=lambda entry: js.host_call("step", sources.procedures[entry["host"]], entry),
        flag="await step.flag({place})",
        mark="step.mark({site});",
        device="step.gpu.multiprocessors >= {least}",
    )
    main = steps(program["main"], language)
    shaders, by_feature = _shaders(sources, templates), _variants(sources.kernels, templates)
    texts = [text for item in (shaders, *by_feature.values()) for text in item.values()]
    extensions = _extensions(program, texts, by_feature)
    modules = (module for module, _ in extensions.values())
    engine, metadata = templates.engine("webgpu_open", *modules), runtime_literal(program)
    functions = js.print_procedures(list(sources.procedures.values()))
    text = templates.render(
        "program.webgpu.js",
        program=metadata,
        engine=engine,
        extensions={key: name for key, (_, name) in extensions.items()},
        shaders=_functions(shaders),
        variants={feature: _functions(texts) for feature, texts in by_feature.items()},
        devices=_devices(program["init"], program["main"]),
        functions=functions,
        stride=_stride(sources),
        init=[_by_device(entry, language) for entry in program["init"]],
        main=main,
        dynamic=is_dynamic(program["main"]),
        parameters=parameters(program),
        data_dependent=data_dependent(program),
        lines=[
            metadata,
            *main,
            engine,
            *(line for function in functions for line in function["lines"]),
        ],
    )
    (folder / "webgpu.js").write_text(text)


def _stride(sources: Sources) -> int:
    """The bytes between the argument blocks of launches."""
    names = (*sources.kernels, *sources.custom_kernels, *sources.group_kernels)
    kernels = map(sources.launched, names)
    words = max((2 + len(kernel.operands) + len(kernel.arguments) for kernel in kernels), default=2)
    return -(-4 * words // ARGUMENT_BLOCK) * ARGUMENT_BLOCK


def _by_device(entry: dict[str, Any], language: Language) -> str:
    """The launch of an entry of `init`, or the one of `then` on devices that have it."""
    usual = language.launch(entry)
    if "then" not in entry:
        return usual
    condition = language.device.format(least=entry["multiprocessors"])
    return f"{condition} ? {language.launch(entry['then'])} : {usual}"


def _extensions(
    program: Mapping[str, Any], shaders: Sequence[str], features: Collection[str]
) -> dict[str, tuple[str, str]]:
    """What the engine needs beyond its usual modules, by its name in `GeneratedCode`: the module
    and what it exports.
    """
    found: dict[str, tuple[str, str]] = {}
    if is_dynamic(program["main"]):
        found["dynamic"] = ("webgpu_immediate", "LiveSteps")
    if "segments" in program:
        found["Engine"] = ("webgpu_segments", "SegmentedEngine")
    if any(DOT_PRODUCT in text for text in shaders):
        found["rewrite"] = ("webgpu_dot_product", "withDotProduct")
    if wgsl_workgroups.Float16Workgroup.feature in features:
        found["featuresOf"] = ("webgpu_float16_probe", "fastFeatures")
    if any(feature.startswith(wgsl_workgroups.MATRICES) for feature in features):
        found["featuresOf"] = ("webgpu_matrices", "matrixFeatures")
    return found


def _devices(init: list[dict[str, Any]], steps: list[dict[str, Any]]) -> str:
    """The kernels that only some devices launch, as a JavaScript array: the range of their
    multiprocessors, and their names.
    """
    found: dict[str, tuple[float, float]] = {entry["kernel"]: (0, inf) for entry in init}
    for entry in init:
        if "then" in entry:
            found.setdefault(entry["then"]["kernel"], (entry["multiprocessors"], inf))

    def visit(steps: list[dict[str, Any]], first: float, end: float) -> None:
        for step in steps:
            if "kernel" in step:
                low, high = found.get(step["kernel"], (first, end))
                found[step["kernel"]] = min(low, first), max(high, end)
            least = step.get("multiprocessors")
            for block in BLOCKS:
                low = max(first, least) if least is not None and block == "then" else first
                high = min(end, least) if least is not None and block == "else" else end
                visit(step.get(block, []), low, high)

    visit(steps, 0, inf)
    names: dict[tuple[float, float], list[str]] = {}
    for name, limits in found.items():
        if limits != (0, inf):
            names.setdefault(limits, []).append(name)
    parts = (
        f"[{low}, {'1 / 0' if high == inf else high}, '{' '.join(each)}']"
        for (low, high), each in names.items()
    )
    return f"[{', '.join(parts)}]"


def _shaders(sources: Sources, templates: Templates) -> dict[str, str]:
    """The shader of each kernel."""
    return {
        **{name: wgsl.print_kernel(kernel, templates) for name, kernel in sources.kernels.items()},
        **{name: wgsl.print_custom(it, templates) for name, it in sources.custom_kernels.items()},
        **{name: print_group(kernel, templates) for name, kernel in sources.group_kernels.items()},
    }


def _functions(shaders: Mapping[str, str]) -> dict[str, str]:
    """Shaders as functions of JavaScript."""
    return {name: shader_function(text) for name, text in shaders.items()}


def _variants(kernels: Mapping[str, Kernel], templates: Templates) -> dict[str, dict[str, str]]:
    """Feature of a device -> name -> the shader that replaces the default one."""
    shaders: dict[str, dict[str, str]] = {}
    for name, kernel in kernels.items():
        for groups in wgsl_workgroups.variants(kernel):
            text = wgsl.print_kernel(kernel, templates, groups)
            shaders.setdefault(groups.feature, {})[name] = text
    return shaders


def _launched(sources: Sources, entry: dict[str, Any]) -> int | str:
    """The number of workgroups of a launch."""
    name = entry["kernel"]
    if name in sources.custom_kernels:
        return _groups(size_from_json(entry["args"][0]))
    if name in sources.group_kernels:
        first: int | str = entry["groups"]
        return first
    return _workgroups(sources.kernels[name], entry)


def _workgroups(kernel: Kernel, entry: dict[str, Any]) -> int | str:
    """The number of workgroups that compute the points of a launch."""
    args = dict(zip(kernel.arguments, map(size_from_json, entry["args"]), strict=True))
    schedule = kernel.schedule
    extents = {loop.axis: args[loop.extent.value] for loop in kernel.nest.axes}
    if isinstance(schedule, TemplateSchedule):
        template = find_template(schedule.template)
        rows, columns = template.block
        count = prod(extents[name] for name in schedule.split)
        others = prod(extents[name] for name in extents if name not in schedule.split)
        groups = _chunks(count, rows) * _chunks(others, columns)
        if template.step == VECTOR_PRODUCT:
            groups = min(known(groups, kernel.name), MOST_GROUPS)
        return size_to_json(groups)
    assert isinstance(schedule, InvocationSchedule)
    tiles = {name: _chunks(extent, schedule.span(name)) for name, extent in extents.items()}
    if schedule.window:
        assert schedule.workgroup is not None
        image = _chunks(prod(tiles[name] for name in schedule.image), schedule.workgroup.rows)
        return size_to_json(image * tiles[schedule.order[-1]])
    total: dim.Size = prod(tiles.values())
    return size_to_json(total) if schedule.workgroup else _groups(total)


def _groups(invocations: dim.Size) -> int | str:
    """The number of workgroups of the usual size."""
    return size_to_json(_chunks(invocations, wgsl_workgroups.WORKGROUP))


def _chunks(size: dim.Size, span: int) -> dim.Size:
    return dim.floordiv(size + (span - 1), span)
