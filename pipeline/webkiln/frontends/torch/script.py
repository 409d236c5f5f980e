"""TorchScript: interpret its graph, operator by operator, in a module that torch.export traces.

Computations on Python numbers are evaluated immediately. Branches and loops that depend only on
numbers and shapes are resolved and unrolled; those that depend on data become torch.cond and
torch.while_loop. Assigned attributes are buffers.
"""

from typing import Any

import torch

from webkiln.frontends.torch.script_attributes import AttributePath, ScriptAttributes
from webkiln.frontends.torch.script_run import Run


def _defaults(script: torch.jit.ScriptModule) -> list[Any]:
    return [argument.default_value for argument in script.forward.schema.arguments[1:]]


class ScriptProgram(ScriptAttributes):
    """A loaded TorchScript module as a module that torch.export traces."""

    @property
    def inputs(self) -> list[str]:
        """The names of the tensor arguments, and of other arguments without a value."""
        return [
            value.debugName().rpartition(".")[0] or value.debugName()
            for value in list(self.graph[0].inputs())[1:]
        ]

    def forward(self, *args: Any) -> Any:
        graph = self.graph[0]
        first, *rest = graph.inputs()
        values: dict[str, Any] = {first.debugName(): AttributePath()}
        defaults = _defaults(self.script[0])
        for position, value in enumerate(rest):
            values[value.debugName()] = (
                args[position] if position < len(args) else defaults[position]
            )
        results = Run(self).block(graph, values)
        return results[0] if len(results) == 1 else tuple(results)
