"""program.json -> the code of a backend (docs/formats.md, code/)."""

import json
from pathlib import Path
from typing import Any

from webkiln.codegen import c, js
from webkiln.codegen.templates import Templates
from webkiln.ir.types import itemsize
from webkiln.plan import kernel as kernels
from webkiln.plan.kernel import Kernel

ARRAYS = (
    ("F32", "Float32Array"), ("I32", "Int32Array"), ("U32", "Uint32Array"), ("I16", "Int16Array"),
    ("U16", "Uint16Array"), ("I8", "Int8Array"), ("U8", "Uint8Array"),
)  # fmt: skip


def write_code(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    """Write the sources of `program` into `folder`."""
    made = {name: kernels.from_json(data) for name, data in program["kernels"].items()}
    {"wasm": _write_wasm, "js": _write_js}[program["backend"]](program, made, templates, folder)


def _described(program: dict[str, Any]) -> str:
    """The part of a program that the runtime reads, as a JavaScript literal."""

    def tensors(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{key: item[key] for key in ("name", "dtype", "shape", "offset")} for item in items]

    value = {
        "memory": program["memory"],
        "inputs": tensors(program["inputs"]),
        "outputs": tensors(program["outputs"]),
        "states": program["states"],
        "staging": program["staging"],
        "layers": program["layers"],
        "init": [[entry["shard"], entry["start"], entry["bytes"]] for entry in program["init"]],
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _write_wasm(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    (folder / "kernels").mkdir(parents=True)
    for name, kernel in made.items():
        (folder / "kernels" / f"{name}.c").write_text(c.print_kernel(kernel, templates))

    def launch(entry: dict[str, Any]) -> str:
        operands = [f"m + {offset}" for offset in entry["operands"]]
        return f"{entry['kernel']}({', '.join([*operands, *map(str, entry['args'])])})"

    declared = [
        {"name": name, "parameters": ["void *"] * len(kernel.operands) + ["int"] * len(kernel.arguments)}
        for name, kernel in sorted(made.items())
    ]
    init, main = [launch(entry) for entry in program["init"]], [launch(entry) for entry in program["main"]]
    (folder / "main.c").write_text(templates.render("main.c", kernels=declared, init=init, main=main, lines=[]))
    (folder / "wasm.js").write_text(templates.render("program.wasm.js", program=_described(program), lines=[]))


def _write_js(program: dict[str, Any], made: dict[str, Kernel], templates: Templates, folder: Path) -> None:
    def launch(entry: dict[str, Any]) -> str:
        operands = made[entry["kernel"]].operands
        places = [offset // itemsize(operand.dtype) for operand, offset in zip(operands, entry["operands"], strict=True)]
        return f"{entry['kernel']}({', '.join(map(str, [*places, *entry['args']]))})"

    init, main = [launch(entry) for entry in program["init"]], [launch(entry) for entry in program["main"]]
    folder.mkdir(parents=True, exist_ok=True)
    ordered = [kernel for _, kernel in sorted(made.items())]
    text = js.print_module(ordered, templates, program=_described(program), heaps=ARRAYS, init=init, main=main)
    (folder / "js.js").write_text(text)
