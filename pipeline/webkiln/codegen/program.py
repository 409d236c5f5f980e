"""program.json -> the code of a backend (docs/formats.md, code/)."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from webkiln.codegen import c, glsl, js, wgsl
from webkiln.codegen.templates import Templates
from webkiln.ir import dim
from webkiln.ir.notation import parse_size, size_from_json, size_to_json
from webkiln.ir.types import itemsize
from webkiln.plan import kernel as kernels
from webkiln.plan.align import VECTOR
from webkiln.plan.kernel import Kernel

ARRAYS = (
    ("F32", "Float32Array"), ("I32", "Int32Array"), ("U32", "Uint32Array"), ("I16", "Int16Array"),
    ("U16", "Uint16Array"), ("I8", "Int8Array"), ("U8", "Uint8Array"), ("F64", "Float64Array"), ("I64", "BigInt64Array"), ("U64", "BigUint64Array"),
)  # fmt: skip


def write_code(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    """Write the sources of `program` into `folder`."""
    made = {name: kernels.from_json(data) for name, data in program["kernels"].items()}
    writers = {"wasm": _write_wasm, "js": _write_js, "webgpu": _write_webgpu, "webgl": _write_webgl}
    writers[program["backend"]](program, made, templates, folder)


PREFIX = "d_"
"""Sets placeholders and counters apart from all other names of generated code."""
FUNCTIONS = {"floordiv": "wk_floordiv", "max": "wk_greatest", "min": "wk_least"}


def _size(value: int | str) -> str:
    return dim.rendered(size_from_json(value), PREFIX, FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Language:
    """How the steps of a program are spelled: the type of a counter, a launch, a copy of bytes."""

    counter: str
    launch: Callable[[dict[str, Any]], str]
    copy: str


def _steps(steps: Iterable[dict[str, Any]], language: Language) -> list[str]:
    lines: list[str] = []
    for step in steps:
        if "kernel" in step:
            lines.append(f"{language.launch(step)};")
        elif "copy" in step:
            lines.append(language.copy.format(target=_size(step["to"]), source=_size(step["from"]), bytes=_size(step["copy"])))
        else:
            name = f"{PREFIX}{step['repeat']}"
            lines.append(f"for ({language.counter} {name} = 0; {name} < {_size(step['count'])}; {name}++) {{")
            lines += [f"  {line}" for line in _steps(step["steps"], language)]
            lines.append("}")
    return lines


def _described(program: dict[str, Any]) -> str:
    """The part of a program that the runtime reads, as JavaScript; what depends on placeholders is a function of them."""

    def tensors(items: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
        sized = [{**item, "shape": list(map(size_from_json, item["shape"])), "offset": size_from_json(item["offset"])} for item in items]
        return [{key: item[key] for key in (*keys, "dtype", "storage", "shape", "offset")} for item in sized]

    layout = {
        "memory": size_from_json(program["memory"]),
        "inputs": tensors(program["inputs"], "name"),
        "outputs": tensors(program["outputs"], "name"),
        "layers": tensors(program["layers"], "layer", "variable"),
        "guards": [{"layer": guard["layer"], "text": guard["size"], "size": parse_size(guard["size"])} for guard in program["guards"]],
    }
    if "buffers" in program:
        layout["buffers"] = [size_from_json(buffer["elements"]) for buffer in program["buffers"]]
    value = {
        "placeholders": program["placeholders"],
        "loaded": program["loaded"],
        "states": program["states"],
        "staging": program["staging"],
        "init": [
            [entry["shard"], entry["start"], entry["bytes"], *([entry["narrow"]] if "narrow" in entry else [])] for entry in program["init"]
        ],
    }
    parameters = ", ".join(f"{PREFIX}{name}" for name in program["placeholders"])
    return f"{_literal(value)[:-1]},layout:({parameters}) => ({_literal(layout)})}}"


def _literal(value: Any) -> str:
    """A JavaScript literal; symbolic sizes are expressions."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_literal(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_literal, value)) + "]"
    return dim.rendered(value, PREFIX, FUNCTIONS) if dim.is_symbolic(value) else json.dumps(value)


def _write_wasm(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    (folder / "kernels").mkdir(parents=True)
    for name, kernel in made.items():
        (folder / "kernels" / f"{name}.c").write_text(c.print_kernel(kernel, templates))

    def launch(entry: dict[str, Any]) -> str:
        operands = [f"m + {_size(offset)}" for offset in entry["operands"]]
        return f"{entry['kernel']}({', '.join([*operands, *map(_size, entry['args'])])})"

    declared = [
        {"name": name, "parameters": ["void *"] * len(kernel.operands) + ["int"] * len(kernel.arguments)}
        for name, kernel in sorted(made.items())
    ]
    main = _steps(program["main"], Language("int", launch, "__builtin_memcpy(m + {target}, m + {source}, {bytes});"))
    parameters = [f"int {PREFIX}{name}" for name in program["placeholders"]]
    init = [launch(entry) for entry in program["init"]]
    text = templates.render("main.c", kernels=declared, init=init, main=main, parameters=parameters, lines=main)
    (folder / "main.c").write_text(text)
    described = _described(program)
    (folder / "wasm.js").write_text(templates.render("program.wasm.js", program=described, lines=[described]))


def _places(kernel: Kernel, entry: dict[str, Any]) -> list[int | str]:
    """The offsets of a launch's operands, each in its own elements."""
    pairs = zip(kernel.operands, entry["operands"], strict=True)
    return [size_to_json(dim.floordiv(size_from_json(at), itemsize(operand.dtype))) for operand, at in pairs]


def _write_js(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    def launch(entry: dict[str, Any]) -> str:
        return f"{entry['kernel']}({', '.join(map(_size, [*_places(made[entry['kernel']], entry), *entry['args']]))})"

    main = _steps(program["main"], Language("let", launch, "U8.copyWithin({target}, {source}, {source} + {bytes});"))
    parameters = [f"{PREFIX}{name}" for name in program["placeholders"]]
    init = [launch(entry) for entry in program["init"]]
    folder.mkdir(parents=True, exist_ok=True)
    ordered = [kernel for _, kernel in sorted(made.items())]
    described = _described(program)
    text = js.print_module(
        ordered, templates, [described, *main], program=described, heaps=ARRAYS, init=init, main=main, parameters=parameters
    )
    (folder / "js.js").write_text(text)


ARGUMENT_BLOCK = 256
"""Bytes: where a dynamic offset of a uniform buffer may lie."""


def _write_webgpu(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    def launch(entry: dict[str, Any]) -> str:
        kernel = made[entry["kernel"]]
        words = map(_size, [*_places(kernel, entry), *entry["args"]])
        return f"step.launch('{entry['kernel']}', {_size(_invocations(kernel, entry))}, [{', '.join(words)}])"

    main = _steps(program["main"], Language("let", launch, "step.copy({target}, {source}, {bytes});"))
    init = [launch(entry) for entry in program["init"]]
    words = max((2 + len(kernel.operands) + len(kernel.arguments) for kernel in made.values()), default=2)
    engine = templates.script("engine.webgpu")
    described = _described(program)
    text = templates.render(
        "program.webgpu.js",
        program=described,
        engine=engine,
        shaders={name: _literal_text(wgsl.print_kernel(kernel, templates)) for name, kernel in sorted(made.items())},
        stride=-(-4 * words // ARGUMENT_BLOCK) * ARGUMENT_BLOCK,
        init=init,
        main=main,
        parameters=[f"{PREFIX}{name}" for name in program["placeholders"]],
        lines=[described, *main, engine],
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "webgpu.js").write_text(text)


def _literal_text(text: str) -> str:
    return f"`{text}`"


def _invocations(kernel: Kernel, entry: dict[str, Any]) -> int | str:
    """How many chunks of points a launch has, which is how many invocations compute them."""
    args = dict(zip(kernel.arguments, map(size_from_json, entry["args"]), strict=True))
    total = 1
    for loop in kernel.nest.axes:
        span = kernel.schedule.span(loop.axis)
        total = total * dim.floordiv(args[loop.extent.value] + (span - 1), span)
    return size_to_json(total)


def _staged(entry: dict[str, Any], operand: Any) -> Any:
    """An operand of an init entry; a part of staging says what its bytes are before they are narrowed."""
    return {**operand, "narrow": entry["narrow"]} if "narrow" in entry and isinstance(operand, dict) else operand


def _write_webgl(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    def launch(entry: dict[str, Any]) -> str:
        operands, args = ", ".join(map(str, entry["operands"])), ", ".join(map(_size, entry["args"]))
        return f"engine.launch('{entry['kernel']}', [{operands}], [{args}])"

    main = _steps(program["main"], Language("let", launch, "engine.move({source}, {target});"))
    engine = templates.script("engine.webgl")
    described = _described(program)
    formats = [buffer["storage"] + ("x4" if buffer["lanes"] == VECTOR else "") for buffer in program["buffers"]]
    sizes = [(format_, size_from_json(buffer["elements"])) for format_, buffer in zip(formats, program["buffers"], strict=True)]
    text = templates.render(
        "program.webgl.js",
        program=described,
        engine=engine,
        buffers=_literal([[format_, 0 if dim.is_symbolic(elements) else elements] for format_, elements in sizes]),
        kernels=[
            {"name": name, "inputs": len(kernel.nest.inputs), "text": glsl.print_kernel(kernel, templates)}
            for name, kernel in sorted(made.items())
        ],
        entries=json.dumps(
            [[entry["kernel"], [*map(partial(_staged, entry), entry["operands"])], entry["args"]] for entry in program["init"]]
        ),
        parameters=[f"{PREFIX}{name}" for name in program["placeholders"]],
        main=main,
        lines=[described, *main, engine],
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "webgl.js").write_text(text)
