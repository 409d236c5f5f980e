"""TorchScript: interpret its graph, operator by operator, in a module that torch.export traces.

Computations on Python numbers are evaluated immediately. Branches and loops that depend only on
numbers and shapes are resolved and unrolled; those that depend on data become torch.cond and
torch.while_loop. Assigned attributes are buffers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from webkiln.frontends.torch.script_arguments import Arguments
from webkiln.frontends.torch.script_attributes import AttributePath, ScriptAttributes
from webkiln.frontends.torch.script_run import Run


class ScriptProgram(ScriptAttributes):
    """A loaded TorchScript module as a module that torch.export traces. Its inputs are the tensors
    among `arguments`.
    """

    def __init__(
        self, script: torch.jit.ScriptModule, arguments: Arguments, *, dated: bool = True
    ) -> None:
        super().__init__(script, dated=dated)
        self.arguments = (arguments,)

    def forward(self, *tensors: Any) -> Any:
        return self.run(tensors, self.settled).results

    def run(
        self, tensors: Sequence[Any], attributes: Mapping[str, Any], *, recording: bool = False
    ) -> Run:
        """A run that starts with some attributes. If it is `recording`, buffers keep their values
        when they are assigned.
        """
        graph = self.graph[0]
        values: dict[str, Any] = dict(
            zip(
                (value.debugName() for value in graph.inputs()),
                (AttributePath(), *self.arguments[0].bound(tensors)),
                strict=True,
            )
        )
        run = Run(self, attributes, recording=recording)
        results = run.block(graph, values)
        run.results = results[0] if len(results) == 1 else tuple(results)
        return run
