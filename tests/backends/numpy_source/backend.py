"""A backend that starts from the graph: its program.json is the graph, and `printer.py` prints one
line of numpy for each node.
"""

from dataclasses import dataclass
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json
from webkiln.program_builder.backend import Options

EXPRESSIONS = {
    "Identity": "{0}",
    "Neg": "-{0}",
    "Abs": "np.abs({0})",
    "Exp": "np.exp({0})",
    "Tanh": "np.tanh({0})",
    "Relu": "np.maximum({0}, 0)",
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Max": "np.maximum({0}, {1})",
    "Min": "np.minimum({0}, {1})",
    "MatMul": "np.matmul({0}, {1})",
    "Reshape": "np.reshape({0}, {shape})",
    "Transpose": "np.transpose({0}, {perm})",
}
"""Operator -> its value, with inputs by position and attributes by name."""


@dataclass(frozen=True, slots=True)
class NumpyBackend:
    name: str = "numpy"

    def compile(self, graph: Graph, options: Options) -> dict[str, Any]:
        """Raises UnsupportedError with all nodes that have no expression."""
        items = [
            (node.layer, f"{node.op} has no numpy expression", "Build for another backend.")
            for node in graph.nodes
            if node.op not in EXPRESSIONS or node.attrs.non_default().keys() - {"shape", "perm"}
        ]
        if items:
            raise UnsupportedError(graph.name, items)
        return {
            "schema": "numpy/1",
            "backend": self.name,
            "inputs": list(graph.inputs),
            "outputs": dict(graph.outputs),
            "states": [],
            "graph": to_json(graph),
        }


BACKEND = NumpyBackend()
