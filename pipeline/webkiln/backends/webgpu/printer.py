"""The ES modules of the webgpu backend, of which a page loads one: shaders as text, steps as calls
of its engine, procedures as functions over typed arrays.
"""

from collections.abc import Collection, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from webkiln.codegen import js, wgsl, wgsl_workgroups
from webkiln.codegen.device_programs import kernel_limits, programs_of
from webkiln.codegen.shader_text import shader_function
from webkiln.codegen.sources import Sources, element_offsets, sources_of
from webkiln.codegen.steps import (
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
from webkiln.ir.dim import sum_sizes
from webkiln.ir.notation import size_from_json, size_to_json
from webkiln.nest.target import GPU_CLASSES
from webkiln.plan.kernel import Kernel
from webkiln.plan.launch_size import full_workgroups, workgroups

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
COPY = 4
"""Alignment of the arguments of each call of a parallel launch, in words."""


def write(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    for suffix, part in programs_of(program, GPU_CLASSES[0].multiprocessors).items():
        (folder / f"webgpu{suffix}.js").write_text(_module(part, templates))


def _module(program: dict[str, Any], templates: Templates) -> str:
    sources = sources_of(program)

    def launch(entry: dict[str, Any]) -> str:
        name = entry["kernel"]
        count = _launched(sources, entry)
        words = map(size, _arguments(sources, entry))
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
    shaders, by_feature = _shaders(sources, templates), _variants(sources, templates)
    texts = [text for item in (shaders, *by_feature.values()) for text in item.values()]
    extensions = _extensions(program, texts, by_feature)
    modules = (module for module, _ in extensions.values())
    engine, metadata = templates.engine("webgpu_open", *modules), runtime_literal(program)
    functions = js.print_procedures(list(sources.procedures.values()))
    return templates.render(
        "program.webgpu.js",
        program=metadata,
        engine=engine,
        extensions={key: name for key, (_, name) in extensions.items()},
        shaders=_functions(shaders),
        variants={feature: _functions(own) for feature, own in by_feature.items()},
        devices=_devices(program),
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


def _stride(sources: Sources) -> int:
    """The bytes between the argument blocks of launches."""
    names = (*sources.kernels, *sources.custom_kernels, *sources.group_kernels)
    kernels = map(sources.launched, names)
    words = [2 + len(kernel.operands) + len(kernel.arguments) for kernel in kernels]
    words += [
        COPY * (1 + item.copies * _copy_blocks(item.kernel))
        for item in sources.parallel_kernels.values()
    ]
    return -(-4 * max(words, default=2) // ARGUMENT_BLOCK) * ARGUMENT_BLOCK


def _copy_blocks(kernel: Kernel) -> int:
    """The arguments of a call in a parallel launch, in multiples of their alignment."""
    return -(-(2 + len(kernel.operands) + len(kernel.arguments)) // COPY)


def _arguments(sources: Sources, entry: dict[str, Any]) -> list[int | str]:
    """The argument block of a launch, after infinity and NaN."""
    name = entry["kernel"]
    if name not in sources.parallel_kernels:
        return [*element_offsets(sources.launched(name).operands, entry), *entry["args"]]
    kernel = sources.parallel_kernels[name].kernel
    words: list[int | str] = [0] * (COPY - 2)
    first: dim.Size = 0
    for call in entry["calls"]:
        count = _workgroups(kernel, call)
        offsets = element_offsets(kernel.operands, call)
        words += [size_to_json(first), *offsets, *call["args"], size_to_json(count)]
        words += [0] * (-(len(words) + 2) % COPY)
        first += count
    return words


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


def _devices(program: Mapping[str, Any]) -> str:
    """The kernels that only some devices launch, as a JavaScript array: the range of their
    multiprocessors, and their names.
    """
    names: dict[tuple[float, float], list[str]] = {}
    for name, limits in kernel_limits(program).items():
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
        **{
            name: wgsl.print_kernel(item.kernel, templates, copies=item.copies)
            for name, item in sources.parallel_kernels.items()
        },
    }


def _functions(shaders: Mapping[str, str]) -> dict[str, str]:
    """Shaders as functions of JavaScript."""
    return {name: shader_function(text) for name, text in shaders.items()}


def _variants(sources: Sources, templates: Templates) -> dict[str, dict[str, str]]:
    """Feature of a device -> name -> the shader that replaces the default one."""
    kernels = {name: (kernel, 0) for name, kernel in sources.kernels.items()}
    kernels |= {name: (it.kernel, it.copies) for name, it in sources.parallel_kernels.items()}
    shaders: dict[str, dict[str, str]] = {}
    for name, (kernel, copies) in kernels.items():
        for groups in wgsl_workgroups.variants(kernel):
            text = wgsl.print_kernel(kernel, templates, groups, copies)
            shaders.setdefault(groups.feature, {})[name] = text
    return shaders


def _launched(sources: Sources, entry: dict[str, Any]) -> int | str:
    """The number of workgroups of a launch."""
    name = entry["kernel"]
    if name in sources.custom_kernels:
        return size_to_json(full_workgroups(size_from_json(entry["args"][0])))
    if name in sources.group_kernels:
        first: int | str = entry["groups"]
        return first
    if name in sources.parallel_kernels:
        kernel = sources.parallel_kernels[name].kernel
        return size_to_json(sum_sizes(_workgroups(kernel, call) for call in entry["calls"]))
    return size_to_json(_workgroups(sources.kernels[name], entry))


def _workgroups(kernel: Kernel, entry: dict[str, Any]) -> dim.Size:
    """The number of workgroups that compute the points of a launch."""
    args = dict(zip(kernel.arguments, map(size_from_json, entry["args"]), strict=True))
    return workgroups(kernel.nest, kernel.schedule, args)
