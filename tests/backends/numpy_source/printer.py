"""program.json of the numpy backend -> a Python module with `run(inputs, weights)`."""

from pathlib import Path
from typing import Any

from tests.backends.numpy_source.backend import EXPRESSIONS
from webkiln.codegen.templates import Templates
from webkiln.ops.table import from_json


def write(program: dict[str, Any], templates: Templates, folder: Path) -> None:
    graph = from_json(program["graph"])
    lines = ["import numpy as np", "", "", "def run(inputs, weights):", "    v = {**inputs}"]
    lines += (f"    v[{name!r}] = weights[{name!r}]" for name in sorted(graph.slots))
    for name, constant in graph.constants.items():
        value = constant.value(graph.type(name))
        lines.append(f"    v[{name!r}] = np.array({value.tolist()}, {str(value.dtype)!r})")
    for node in graph.nodes:
        operands = [f"v[{name!r}]" for name in node.inputs]
        value = EXPRESSIONS[node.op].format(*operands, **node.attrs.non_default())
        lines.append(f"    v[{node.outputs[0]!r}] = {value}")
    results = ", ".join(f"{name!r}: v[{source!r}]" for name, source in graph.outputs.items())
    lines.append(f"    return {{{results}}}")
    (folder / "numpy.py").write_text("\n".join(lines) + "\n")
