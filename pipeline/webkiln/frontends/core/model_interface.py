"""The inputs and outputs that the callers of a bundle see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.ir import dim
from webkiln.ir.dim import Shape, Size
from webkiln.ir.graph import Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.notation import size_from_json
from webkiln.random_inputs import STRING


@dataclass(frozen=True)
class ModelInterface:
    """The inputs and outputs of a model: dtypes, and shapes that may contain symbolic sizes."""

    graph: Graph
    texts: Sequence[Mapping[str, Any]] = ()

    def of(self, role: str) -> dict[str, tuple[str, Shape]]:
        """Name -> (dtype, shape) of the inputs or outputs; tokenised text inputs are strings."""
        if role == "outputs":
            types = {
                name: self.graph.type(variable) for name, variable in self.graph.outputs.items()
            }
        else:
            types = {name: self.graph.type(name) for name in self.graph.inputs}
        signature = {name: (type_.dtype, type_.shape) for name, type_ in types.items()}
        if role == "inputs":
            for text in self.texts:
                signature.pop(text["tensor"], None)
            signature |= {
                text["input"]: (STRING, tuple(map(size_from_json, text["shape"])))
                for text in self.texts
            }
        return signature

    def shown(self, shape: Sequence[Size]) -> str:
        sizes = (expand_quotients(size, self.graph.constraints.divisibility) for size in shape)
        return f"[{', '.join(map(dim.abbreviate, sizes))}]"
